package check_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"savant"
	"savant/fault"
	"savant/think/check"
	"savant/think/flow"
	"savant/think/library"
)

// Whichever expression is broken, the rest of the file is checked, and what reads the
// broken step is not blamed for it.
func TestChecksGoOnPastABrokenExpression(t *testing.T) {
	const rest = `
  - {id: sure, call: llm.generate, input_template: {task: x}, success_schema: {type: object, required: [x], properties: {x: {type: string}}, additionalProperties: false}, capture_as: sure}
  - {id: wrong, call: flow.set, input_template: {value: "{{ sure.y }}"}}
  - {id: below, deps: [p], when: steps.p.status == "done", foreach: "p ?? []", call: flow.set, input_template: {value: "{{ item.whatever + p.z }}"}}
`
	for _, c := range []struct{ step, end string }{
		{`{id: p, when: "a b", call: far.open, capture_as: p}`, ""},
		{`{id: p, foreach: "nobody.list", as: each, when: each.x, call: far.open, input_template: {x: "{{ each.y }}"}, capture_as: p}`, ""},
		{`{id: p, call: far.open, extract: "result +", success_schema: {type: object, properties: {q: {}}, additionalProperties: false}, capture_as: p}`, ""},
		{`{id: p, call: far.open, input_template: {x: "{{ 1 + }} and {{ nobody }}"}, capture_as: p}`, ""},
		{`{id: p, call: flow.run, input_template: {workflow: hello, params: {name: "{{ nobody }}"}}, repeat: {until: "result.", max: 2}, capture_as: p}`, ""},
		{`{id: p, call: flow.assert, input_template: {that: "{{ nobody }}"}, capture_as: p}`, ""},
		{`{id: p, call: human.ask, input_template: {message: "{{ nobody }}", schema: "{{ nobody }}"}, capture_as: p}`, ""},
		{`{id: p, call: far.open, capture_as: p}`, "outputs: {x: \"{{ nobody }}\"}\nsummary: \"{{ nobody }}\"\nartifacts: [{name: a, from: nobody}]\n"},
	} {
		files := library.New(library.Layer{Files: savant.Files})
		_, err := files.Parse("", []byte("name: w\nversion: '1'\nparams: {x: {}}\nsteps:\n  - "+c.step+rest+c.end))
		var unfinished *flow.Unfinished
		require.True(t, errors.As(err, &unfinished), "%s: %v", c.step, err)
		require.NotEmpty(t, fault.From(err).Diagnostics)
		if strings.Contains(c.step, " and ") {
			require.Len(t, fault.From(err).Diagnostics, 2, "each expression of a text is told")
		}
		graph, err := files.Compile(unfinished.Draft)
		require.NoError(t, err, c.step)
		found := check.Graph(graph, tools, nil)
		require.Len(t, found.Errors, 1, c.step)
		require.Contains(t, found.Errors[0].Message, `sure has no field "y"`, c.step)
	}
	_, err := library.New(library.Layer{Files: savant.Files}).Parse("", []byte("name: w\nversion: '1'\nsteps:\n  - {id: p, call: far.open, when: nobody, nope: 1}\n"))
	var unfinished *flow.Unfinished
	require.False(t, errors.As(err, &unfinished), "what is wrong with the form of a file leaves no draft")
}
