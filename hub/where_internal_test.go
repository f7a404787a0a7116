package hub

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/internal/redact"
)

// TestAPageOpensWhereTheRunStands checks that the page shows the failed or waiting
// step.
func TestAPageOpensWhereTheRunStands(t *testing.T) {
	const panel = `aria-label="Step"><p class="hint">`
	s := newSite(t, "ship", "steps:\n  - {id: first, call: llm.generate, input_template: {task: x}, capture_as: first}\n"+
		"  - {id: check, call: flow.assert, input_template: {that: \"{{ state.first.good }}\", message: \"It is not good.\"}}\noutputs: {kept: \"{{ state.first }}\"}\nsummary: \"It has <ended>\"\n")
	s.plan("ship", "r1", nil)
	require.Contains(t, s.page("/runs/ship/r1"), panel+"The run is at this step.")
	s.answer("ship", "r1", "first", `{"good": false}`)
	failed := s.page("/runs/ship/r1")
	require.Contains(t, failed, panel+"This step failed.")
	require.Contains(t, failed, "It is not good.")
	require.Contains(t, failed, `<div class="result failed">`)
	require.NotContains(t, s.page("/runs/ship/r1?step=first"), panel)
	require.Contains(t, s.page("/runs/ship/r1?version=1"), panel+"The run is at this step.")

	s.plan("ship", "r2", nil)
	s.answer("ship", "r2", "first", `{"good": true, "text": "<b>done</b>"}`)
	done := s.page("/runs/ship/r2")
	require.Contains(t, done, `<div class="result done"><p class="text">It has &lt;ended&gt;`)
	require.Contains(t, done, "&lt;b&gt;done&lt;/b&gt;")
	require.Contains(t, done, "Choose a step")

	require.NotContains(t, done, "no such workflow here")
	require.NoError(t, os.Remove(filepath.Join(s.hub.options.Folder, "workflows", "ship.yaml")))
	gone := s.page("/runs/ship/r2")
	require.Contains(t, gone, "there is no such workflow here")
	require.NotContains(t, gone, "its file has changed")
	require.NotContains(t, gone, `href="/workflows/ship"`)
}

// TestOutputsAreTakenApart checks that texts of tools are shown unchanged except for
// their secrets.
func TestOutputsAreTakenApart(t *testing.T) {
	h := &Hub{options: Options{Redactor: redact.Shapes()}}
	parts := func(text string) []outputPart { return clean(h.options.Redactor, h.outputOf(text)) }
	require.Nil(t, parts(""))
	require.Equal(t, []outputPart{{"path", "a.go"}, {"text", "one\n\ttwo"}, {"lines", "[\n  1\n]"}}, parts(`{"path":"a.go","text":"one\n\ttwo","lines":[1]}`))
	require.Equal(t, []outputPart{{"", `{"path":"a.g…`}}, parts(`{"path":"a.g…`), "what is cut")
	require.Equal(t, []outputPart{{"", "[\n  1\n]"}}, parts(`[1]`))
	require.Equal(t, []outputPart{{"", "{}"}}, parts(`{}`))
	for _, text := range []string{token, `{"a":{"password":"` + token + `"}}`, `{"password":"hunter22"}`, `["` + token + `"]`} {
		shown, err := json.Marshal(parts(text))
		require.NoError(t, err)
		require.NotContains(t, string(shown), token)
		require.NotContains(t, string(shown), "hunter22")
	}
}
