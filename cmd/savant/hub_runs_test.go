package main

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// manyRuns plans runs in one process.
func manyRuns(t testing.TB, folder, workflow string, count int) {
	t.Helper()
	lines := []string{`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`, `{"jsonrpc":"2.0","method":"notifications/initialized"}`}
	for i := range count {
		lines = append(lines, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"think.plan","arguments":{"workflow":%q,"run_id":"m%d"}}}`, i+1, workflow, i))
	}
	command := exec.CommandContext(t.Context(), "savant", "mcp")
	command.Env = append(os.Environ(), "SAVANT_PATH="+folder, "LOG_LEVEL=error", "MCP_SERVICE=think")
	command.Stdin = strings.NewReader(strings.Join(lines, "\n") + "\n")
	out, err := command.Output()
	require.NoError(t, err)
	require.Equal(t, count, strings.Count(string(out), `"run_id":"m`)/strings.Count(string(out), `"run_id":"m0"`), "each is planned")
}

// TestTheOldestRunIsFiltered: who began a run, and which run took its place, is known of all
// runs of a list, however old they are.
func TestTheOldestRunIsFiltered(t *testing.T) {
	t.Parallel()
	skipInShort(t)
	folder := shipsIn(t)
	h := serveHub(t, folder)
	status, body := h.send("/workflows/ships/start", h.formOf(h.page("/workflows/ships"), "/workflows/ships/start"), "run_id", "first", "how", "guided")
	require.Equal(t, http.StatusOK, status, body)
	savantIn(t, folder, "state", "cancel", "first")
	savantIn(t, folder, "state", "fork", "first", "--name", "second")
	manyRuns(t, folder, "ships", 510)
	page := h.page("/runs?by=hub")
	require.Contains(t, page, `href="/runs/ships/first"`)
	require.Contains(t, page, `superseded by <a href="/runs/ships/second"`)
	require.NotContains(t, page, `href="/runs/ships/m0"`)
	require.Contains(t, page, `<datalist id="who"><option value="hub"><option value="local"></datalist>`)
	require.Contains(t, h.page("/runs/ships/first"), `<dt>Superseded by</dt>`)
}
