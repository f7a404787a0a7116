package program

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A server that is written into the file while clients are served comes with
// its tools: they are notified, and a call need not wait for that.
func TestAServerComesWhileClientsAreServed(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(folder, ".savant"), 0o700))
	s := serveIn(t, folder, "MCP_SERVICE=all")
	said := func(line string) {
		_, err := s.stdin.Write([]byte(line + "\n"))
		require.NoError(t, err)
	}
	said(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`)
	said(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	require.True(t, s.lines.Scan())
	config := `{"mcpServers": {"inner": {"command": "savant", "args": ["mcp"], "env": {"MCP_SERVICE": "think"}}}}`
	require.NoError(t, os.WriteFile(filepath.Join(folder, ".savant/mcp.json"), []byte(config), 0o600))
	trusts(t, folder)
	said(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"inner_think_workflows_list","arguments":{}}}`)
	notified, answered := false, false
	for !notified || !answered {
		require.True(t, s.lines.Scan(), "the client was never notified")
		notified = notified || strings.Contains(s.lines.Text(), "notifications/tools/list_changed")
		if strings.Contains(s.lines.Text(), `"id":2`) {
			require.Contains(t, s.lines.Text(), "repo_tour")
			answered = true
		}
	}
	require.NoError(t, s.stdin.Close())
	require.NoError(t, s.wait(t))
}

// A client that is there before a server was ever seen is notified when its tools
// have come.
func TestClientsAreNotifiedOfAServerSeenFirst(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(folder, ".savant"), 0o700))
	config := `{"mcpServers": {"inner": {"command": "savant", "args": ["mcp"], "env": {"MCP_SERVICE": "git"}}}}`
	require.NoError(t, os.WriteFile(filepath.Join(folder, ".savant/mcp.json"), []byte(config), 0o600))
	trusts(t, folder)
	s := serveIn(t, folder)
	said := func(line string) {
		_, err := s.stdin.Write([]byte(line + "\n"))
		require.NoError(t, err)
	}
	said(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`)
	said(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	said(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`)
	for s.lines.Scan() {
		line := s.lines.Text()
		if strings.Contains(line, "notifications/tools/list_changed") {
			said(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`)
		}
		if strings.Contains(line, "inner_git_status") {
			require.NoError(t, s.stdin.Close())
			require.NoError(t, s.wait(t))
			return
		}
	}
	require.Fail(t, "the client was never notified")
}

// TestTheHubListsAServerSeenFirst: a hub without a client beside it starts a new server, and
// its pages have the tools.
func TestTheHubListsAServerSeenFirst(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(folder, ".savant"), 0o700))
	h := serveHub(t, folder)
	config := `{"mcpServers": {"inner": {"command": "savant", "args": ["mcp"], "env": {"MCP_SERVICE": "git"}}}}`
	require.NoError(t, os.WriteFile(filepath.Join(folder, ".savant/mcp.json"), []byte(config), 0o600))
	trusts(t, folder)
	require.Eventually(t, func() bool { return strings.Contains(h.page("/tools?q=inner"), "inner.git_status") }, time.Minute, 50*time.Millisecond)
}
