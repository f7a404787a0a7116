package flow_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"savant/think/flow"
)

// A quote may break its lines elsewhere, and is of a document below the project.
func TestQuotes(t *testing.T) {
	parse := func(source string) (*flow.Workflow, error) {
		return flow.Parse("w.yaml", []byte("name: w\nversion: '1'\nsteps:\n  - {id: a, call: llm.generate, input_template: {task: x}, source: "+source+"}\n"), nil)
	}
	w, err := parse(`{file: docs/a.md, line: 3, quote: "Do this, then that."}`)
	require.NoError(t, err)
	require.True(t, w.Steps[0].Source.Stands("# A\n\nDo this,\n  then that. And more."))
	require.True(t, w.Steps[0].Source.Stands("Note:\n>Do this,\n>then that.\n"), "marks of a quotation without a space")
	require.False(t, w.Steps[0].Source.Stands("Do that, then this."))
	for _, wrong := range []string{`{file: ../a.md, quote: x}`, `{file: /a.md, quote: x}`, `{file: .env, quote: x}`, `{file: a.pem, quote: x}`, `{file: a.md}`, `{quote: x}`, `{file: a.md, quote: " "}`, `{file: a.md, quote: x, line: 0}`, `text`, `{file: a/../../b.md, quote: x}`} {
		_, err := parse(wrong)
		require.ErrorContains(t, err, "source", wrong)
	}
}
