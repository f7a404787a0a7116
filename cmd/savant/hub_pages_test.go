package main

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAPageThatIsNotThere says so, and where to go; it is no fault of a parameter.
func TestAPageThatIsNotThere(t *testing.T) {
	t.Parallel()
	h := serveHub(t, t.TempDir())
	status, body, _ := h.ask(h.client, http.MethodGet, "/nowhere", nil)
	require.Equal(t, http.StatusNotFound, status)
	require.Contains(t, body, "<h1>Not found</h1>")
	require.Contains(t, body, "There is no page")
	require.NotContains(t, body, "INVALID_PARAMS")
	status, body, _ = h.ask(h.client, http.MethodGet, "/static/", nil)
	require.Equal(t, http.StatusNotFound, status, body)
	status, body, _ = h.ask(h.client, http.MethodGet, "/compare?left=release&right=x%2Fy", nil)
	require.Equal(t, http.StatusBadRequest, status)
	require.Contains(t, body, "WORKFLOW/RUN")
}

// TestAStepKeepsItsDecisionAboveIt, also where the filter leaves the event of it out.
func TestAStepKeepsItsDecisionAboveIt(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	savantIn(t, folder, "run", "--quiet", "--run-id", "known", "--force-tool", "git.status", "--force-finish")
	h := serveHub(t, folder)
	heading := func(query string) string {
		page := h.page("/diagnostics/agents/known?view=grouped" + query)
		_, after, found := strings.Cut(page, "Step #1 ")
		require.True(t, found, page)
		before, _, _ := strings.Cut(after, ", events=")
		return before
	}
	require.Contains(t, heading(""), "git.status")
	require.Equal(t, heading(""), heading("&type=tool_call_completed"))
}

// TestACancelledRunSaysOnceByWhom, and offers no file that is not there for its fork.
func TestACancelledRunSaysOnceByWhom(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	file := filepath.Join(folder, "workflows", "asks.yaml")
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
	require.NoError(t, os.WriteFile(file, []byte("name: asks\nversion: \"1\"\nsteps:\n  - {id: ask, call: human.approve, input_template: {message: \"Sure?\"}}\n"), 0o600))
	savantIn(t, folder, "workflows", "run", "asks", "--run-id", "r1")
	savantIn(t, folder, "state", "cancel", "r1", "--reason", "the branch is gone")
	h := serveHub(t, folder)
	page := h.page("/runs/asks/r1")
	require.Equal(t, 1, strings.Count(page, "the branch is gone"), page)
	require.Contains(t, page, `name="adopt"`)
	require.NoError(t, os.Remove(file))
	page = h.page("/runs/asks/r1")
	require.Contains(t, page, "there is no such workflow here")
	require.NotContains(t, page, `name="adopt"`)
}
