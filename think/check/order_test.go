package check_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const ordered = `name: w
version: "1"
params: {on: {type: boolean, default: true}, off: {type: boolean, default: false}}
steps:
  - {id: a, call: flow.set, when: params.on, input_template: {value: 1}, capture_as: a}
  - {id: shaky, call: llm.generate, input_template: {task: x}, on_failure: continue, capture_as: shaky}
  - {id: below, call: flow.set, input_template: {value: "{{ state.a + 1 }}"}, capture_as: below}
  - {id: loop, call: flow.set, foreach: [1, 2], when: item > 1, input_template: {value: 1}, capture_as: loop}
  - {id: strict, call: flow.set, deps: [shaky], join: success, input_template: {value: 1}, capture_as: strict}
  - {id: either, call: flow.set, deps: [a, shaky], join: any, input_template: {value: 1}, capture_as: either}
  - {id: always, call: flow.set, when: true, input_template: {value: 1}, capture_as: always}
  - id: probe
    call: llm.generate
    input_template: {task: "%s"}
    %s
outputs: {all: "{{ [state.a ?? 0, state.shaky ?? 0, state.below ?? 0, loop, state.strict ?? 0, state.either ?? 0, always] }}"}
`

func orderOf(t *testing.T, task, keys string) []string {
	t.Helper()
	source := strings.Replace(strings.Replace(ordered, "%s", task, 1), "%s", keys, 1)
	return slices.DeleteFunc(lines(report(t, source)), func(line string) bool {
		return strings.Contains(line, "may be skipped") // of reads, not of the order
	})
}

// TestDependencyThatMayBeSkipped warns of a step that runs although what it comes after
// was skipped, for whatever reason.
func TestDependencyThatMayBeSkipped(t *testing.T) {
	for keys, why := range map[string]string{
		"deps: [a]":                          "a can be skipped (when params.on)",
		"deps: a":                            "a can be skipped (when params.on)",
		"deps: [loop, a, shaky]":             "a can be skipped (when params.on)",
		"deps: [below]":                      "below can be skipped (a: when params.on)",
		"deps: [strict]":                     "strict can be skipped (shaky: on_failure: continue)",
		"deps: [either]":                     "either can be skipped (",
		"deps: [a]\n    when: params.off":    "a can be skipped (when params.on)",
		"deps: [a]\n    when: not params.on": "a can be skipped (when params.on)",
	} {
		found := orderOf(t, "x", keys)
		require.Len(t, found, 1, keys)
		require.True(t, strings.HasPrefix(found[0], "warning: "+why), "%s: %s", keys, found[0])
	}
}

// TestDependencyOfWhichTheStepTakesAccount says nothing where the author wrote what is
// meant, or where the step notices the skip.
func TestDependencyOfWhichTheStepTakesAccount(t *testing.T) {
	for _, c := range []struct{ task, keys string }{
		{"x", "deps: [a]\n    join: all"},
		{"x", "deps: [a]\n    join: success"},
		{"x", "deps: [a]\n    join: any"},
		{"x", "deps: [a]\n    join: done"},
		{"x", "deps: [a]\n    when: params.on"},
		{"x", "deps: [a, below]\n    when: params.off and params.on"},
		{"x", "deps: [a]\n    when: steps.a.status == 'done'"},
		{"{{ a }}", "deps: [a]"},
		{"{{ state.a ?? 0 }}", "deps: [a]"},
		{"{{ below }}", "deps: [a]"},
		{"x", "deps: [loop]"},
		{"x", "deps: [shaky]"},
		{"x", "deps: [always]"},
	} {
		require.Empty(t, orderOf(t, c.task, c.keys), c)
	}
}

// TestReadOfAStepSkippedForAFailure checks a hard read of a step that join: success
// skips because a step without a condition failed.
func TestReadOfAStepSkippedForAFailure(t *testing.T) {
	for read, warned := range map[string]bool{
		"{{ strict }}": true,
		"{{ steps.strict.status == 'done' ? strict : 0 }}":    false,
		"{{ steps.strict.status == 'skipped' ? 0 : strict }}": false,
		"{{ state.strict ?? 0 }}":                             false,
	} {
		found := lines(report(t, strings.Replace(strings.Replace(ordered, "%s", read, 1), "%s", "timeout: 1m", 1)))
		require.Equal(t, warned, strings.Contains(strings.Join(found, "\n"), `"strict" may be skipped (shaky: on_failure: continue)`), "%s: %s", read, found)
	}
}
