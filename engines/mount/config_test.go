package mount_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/engines"
)

func TestAFileThatIsNoneMountsNothing(t *testing.T) {
	for text, expected := range map[string]string{
		`{"mcpServers": {}`:     "unexpected end of JSON input (.savant/mcp.json:1:18)",
		"{\n \"mcpServers\" 1}": "not JSON: invalid character '1' after object name (expecting ':') (.savant/mcp.json:2:15)",
		`[]`:                    "expected an object",
		`{"mcpServer": {}}`:     `did you mean "mcpServers"?`,
		`{"mcpServers": []}`:    "expected an object of servers",
		`{} {}`:                 "after top-level value",
		`{"mcpServers": {"a": {"command": "x"}, "a": {"command": "y"}}}`: `"a" appears twice`,
	} {
		w := newWorld(t, text).open()
		require.Len(t, w.mounts.Problems(), 1, text)
		found := w.mounts.Problems()[0]
		where := ""
		if len(found.Diagnostics) > 0 {
			d := found.Diagnostics[0]
			where = fmt.Sprintf(" (%s:%d:%d)", d.File, d.Line, d.Column)
		}
		require.Contains(t, found.Details+where, expected, text)
		require.Equal(t, []string{"git"}, w.registry.Engines(), text)
	}
}

// A bad entry takes its own engine offline and no other.
func TestABadEntryIsOneEngineOffline(t *testing.T) {
	for text, expected := range map[string]string{
		`{"comand": "x"}`:                                  `unknown key "comand", did you mean "command"? (.savant/mcp.json:2:10)`,
		`{}`:                                               "expected command or url",
		`{"command": "x", "url": "http://h/"}`:             "not both",
		`{"command": 1}`:                                   "expected a non-empty text (.savant/mcp.json:2:21)",
		`{"command": "x", "args": "y"}`:                    "expected a list of texts",
		`{"command": "x", "env": {"A": 1}}`:                "expected an object of names and texts",
		`{"command": "x", "headers": {}}`:                  "headers are for servers with a url",
		`{"url": "http://h/", "headers": {"X-Key:": "x"}}`: "expected names of headers, without spaces or colons, and texts of one line (.savant/mcp.json:2:",
		`{"url": "http://h/", "headers": {"X-Key": "a\u0007${API_TOKEN}"}}`: "headers: the value of X-Key has a line break or another control character",
		`{"command": "x", "timeout": -1}`:                                   "expected seconds",
		`{"command": "x", "allow": ["["]}`:                                  "expected patterns",
		`{"command": "x", "type": "sse"}`:                                   "is not supported",
		`{"command": "x", "command": "y"}`:                                  "twice",
		`{"url": "ftp://host/"}`:                                            "expected http:// or https:// and a host",
		`{"url": "https://h/${NO_SUCH}"}`:                                   "the variable NO_SUCH is not set",
		`{"command": "x", "env": {"A": "${}"}}`:                             "expected the name of a variable",
	} {
		w := newWorld(t, "{\"mcpServers\": {\n \"bad\": "+text+",\n \"good\": "+fakeEntry(t, "good", "")+"}}").open()
		require.Equal(t, engines.Offline, w.status("bad").State, text)
		require.Contains(t, w.status("bad").Reason, expected, text)
		require.Equal(t, engines.Idle, w.status("good").State, text)
		_, err := w.call("bad.tool", "")
		require.Error(t, err)
	}
}

func TestFormsOfOtherClients(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	w := newWorld(t, fmt.Sprintf(`{"inputs": [], "servers": {
		"vs": {"type": "stdio", "command": %q, "args": ["-test.run=^$"], "env": {"FAKE_MODE": "${NO_SUCH:-good}", "X": "${env:API_TOKEN}"}, "autoApprove": []},
		"off": {"command": "x", "disabled": true, "timeout": "90s"}}}`, self)).open().discover()
	require.Empty(t, w.mounts.Problems())
	require.Equal(t, []string{"vs.echo"}, w.status("vs").Tools)
	require.Equal(t, engines.Disabled, w.status("off").State)
}

func TestAFileMayBeginWithAByteOrderMark(t *testing.T) {
	w := newWorld(t, "\ufeff"+`{"mcpServers": {"fake": `+fakeEntry(t, "good", "")+`, "bad": {"comand": "x"}}}`).open().discover()
	require.JSONEq(t, `{"text":"done"}`, w.called("fake.echo", ""))
	require.Contains(t, w.status("bad").Reason, `"command"`, "the key that was meant")
	require.Contains(t, w.status("bad").Reason, ".savant/mcp.json:1:")
}

func TestNoFileNoServers(t *testing.T) {
	w := newWorld(t, "{}")
	require.NoError(t, os.Remove(w.path+"/.savant/mcp.json"))
	require.Empty(t, w.open().discover().mounts.Problems())
}
