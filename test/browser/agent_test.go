package browser

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCancelInThePage ends a run of another process with the button of its page.
func TestCancelInThePage(t *testing.T) {
	t.Parallel()
	wanted(t)
	folder := t.TempDir()
	_, ended := goingOn(t, folder, "going")
	h := serve(t, folder, "127.0.0.1:0")
	p := h.enter()
	p.open(h.base + "/diagnostics/agents/going")
	p.says(".facts .status", "running")
	p.follow(`form[action$="/cancel"] button`)
	ended()
	p.open(h.base + "/diagnostics/agents/going")
	p.says(".facts .status", "canceled")
}

// TestDownloads takes both files of a run.
func TestDownloads(t *testing.T) {
	t.Parallel()
	wanted(t)
	folder := t.TempDir()
	savantIn(t, folder, "run", "--quiet", "--name", "known", "--force-tool", "git.status", "--force-finish")
	h := serve(t, folder, "127.0.0.1:0")
	p := h.enter()
	into := p.downloads()
	p.open(h.base + "/diagnostics/agents/known")
	p.click(`a[href$="/trace.ndjson"]`)
	trace := string(p.downloaded(filepath.Join(into, "trace-known.ndjson")))
	require.Equal(t, 1, strings.Count(trace, `"type":"run_finished"`), trace)
	p.click(`a[href$="/session.json"]`)
	require.JSONEq(t, savantIn(t, folder, "runs", "show", "known", "--json"), string(p.downloaded(filepath.Join(into, "session-known.json"))))
}
