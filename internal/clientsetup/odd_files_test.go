package clientsetup_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"savant/fault"
	"savant/internal/clientsetup"
)

// oddJSON are files as they are found in the wild, and as they should not be. KEY stands
// for the client's word for its servers.
var oddJSON = map[string]string{
	"empty": "", "white space": " \n\t \r\n", "null": "null", "space in braces": "{   }", "a mark alone": "\xef\xbb\xbf",
	"comments everywhere": "// top\n{ // a\n  /* b */ \"x\" /* c */ : /* d */ 1, // e\n  // before\n  \"KEY\": { // in\n    /* f */ \"other\": {\"command\": \"o\" /* g */}, // h\n    // last\n  }, /* i */\n  // end\n}\n// tail\n",
	"mixed ends of lines": "{\r\n  \"x\": 1,\n  \"KEY\": {\n    \"o\": {}\r\n  }\n}",
	"a mark and CRLF":     "\xef\xbb\xbf{\r\n\t\"KEY\": {}\r\n}\r\n",
	"trailing commas":     `{"a": [1,2,], "KEY": {"o": {},},}`,
	"servers twice":       `{"KEY": {"a": {}}, "KEY": {"b": {}}}`,
	"hooks twice":         `{"hooks": {"PreToolUse": []}, "hooks": {}}`,
	"a key twice, deep":   `{"x": {"a": 1, "a": 2}}`,
	"eight spaces":        "{\n        \"KEY\": {\n                \"o\": {}\n        }\n}",
	"a list":              "[]", "a text": `"x"`, "a number": "5",
	"servers in a list": `{"KEY": []}`, "servers are null": `{"KEY": null}`, "servers are a text": `{"KEY": "x"}`,
	"hooks in a list": `{"hooks": []}`, "hooks are null": `{"hooks": null}`,
	"events are objects": `{"hooks": {"PreToolUse": {}, "BeforeTool": {}, "preToolUse": {}, "pre_run_command": {}}}`,
	"deep":               `{"x": ` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + `}`,
	"Latin-1":            "{\"x\": \"caf\xe9\"}", "UTF-16": "\xff\xfe{\x00}\x00", "a NUL": "{\"x\": \"a\x00b\"}",
	"other scripts": `{"ключ": "値😀", "x\u0000": 1}`, "minified": `{"z":1,"KEY":{"o":{"command":"o"}},"a":2}`,
	"blank lines":        "\n\n{\n\n  \"a\": 1,\n\n\n  \"KEY\": {\n\n    \"o\": {}\n\n  }\n\n}\n\n\n",
	"an empty entry":     `{"KEY": {"savant": {}}}`,
	"another entry":      `{"KEY": {"savant": {"command": "/old/savant", "args": ["x"], "env": {"K": "V"}, "disabled": true}}}`,
	"CR alone":           "{\r\"x\": 1,\r\"KEY\": {}\r}\r",
	"numbers":            `{"n": 123456789012345678901234567890.10, "e": 1E400}`,
	"unclosed":           `{"x": `,
	"unclosed comment":   "{} /* x",
	"case of keys":       `{"MCPSERVERS": {}, "Hooks": {}}`,
	"an escaped key":     `{"\u006dcpServers": {"o": {}}, "\u0068ooks": {}}`,
	"a comment at last":  "{\"KEY\": {\"o\": {} // c\n}}",
	"comma and comment":  "{\"KEY\": {\"o\": {}, // c\n}, // d\n}",
	"a form feed":        "{\f\"x\": 1}",
	"a space of another": "{\u00a0\"x\": 1}",
	"large":              `{"x": ["` + strings.Repeat("y", 100) + `"` + strings.Repeat(",\n \""+strings.Repeat("z", 100)+`"`, 2_000) + `], "KEY": {"o": {}}}`,
}

// oddTOML are the same for Codex.
var oddTOML = map[string]string{
	"empty": "", "white space": " \n\t\n", "comments": "# a\nx = 1 # b\n# c\n[mcp_servers.o] # d\ncommand = \"o\" # e\n# tail\n",
	"CRLF": "x = 1\r\n[mcp_servers.o]\r\ncommand = \"o\"\r\n", "a mark": "\xef\xbb\xbfx = 1\n",
	"inline": "mcp_servers = {o = {command = \"o\"}}\n", "own inline": "mcp_servers = {savant = {command = \"o\"}}\n",
	"dotted": "mcp_servers.o.command = \"o\"\n", "own dotted": "mcp_servers.savant.command = \"o\"\n",
	"a list": "mcp_servers = []\n", "a text": "mcp_servers = \"x\"\n", "a table twice": "[a]\n[a]\n", "a key twice": "a = 1\na = 2\n", "no end of line": "x = 1",
	"own": "[mcp_servers.savant]\ncommand = \"old\"\n[mcp_servers.savant.env]\nK = \"v\"\n[z]\n", "own quoted": "[mcp_servers.\"savant\"]\ncommand = \"old\"\n",
	"own with spaces": "[ 'mcp_servers' . 'savant' ]\ncommand = \"old\"\n", "a table in a text": "x = \"\"\"\n[mcp_servers.savant]\ncommand = \"no\"\n\"\"\"\n",
	"lists of tables": "[[a]]\nx=1\n[[a]]\nx=2\n", "servers as list of tables": "[[mcp_servers]]\nx=1\n", "Latin-1": "x = \"caf\xe9\"\n", "broken": "x = \n",
	"a table of servers": "[mcp_servers]\n[mcp_servers.o]\ncommand=\"o\"\n", "own inline in a table": "[mcp_servers]\nsavant = {command=\"x\"}\nz = {}\n",
	"tabs": "\t[mcp_servers.o]\n\tcommand = \"o\"\n", "a NUL": "x = \"\x00\"\n", "JSON": `{"a":1}`, "CR alone": "x = 1\ry = 2\r",
	"large": strings.Repeat("# "+strings.Repeat("v", 100)+"\n", 2_000) + "x = 1\n",
}

// servers are the clients' words for their servers, where it is not mcpServers.
var servers = map[string]string{"vscode": "servers", "opencode": "mcp"}

// TestOddFiles: each comes back byte by byte, or is refused and not touched.
func TestOddFiles(t *testing.T) {
	t.Parallel()
	for _, client := range clientsetup.All() {
		t.Run(client.Name, func(t *testing.T) {
			t.Parallel()
			fresh, err := client.Setup(target(t))
			require.NoError(t, err)
			taken, refused := 0, 0
			for at := range fresh {
				files := oddJSON
				switch path := fresh[at].Path; {
				case strings.HasSuffix(path, ".js"), strings.HasSuffix(path, "hooks/savant.json"):
					continue // a file that is Savant's as a whole
				case strings.HasSuffix(path, ".toml"):
					files = oddTOML
				}
				for name, text := range files {
					key := servers[client.Name]
					if key == "" {
						key = "mcpServers"
					}
					if odd(t, client, at, name, strings.ReplaceAll(text, "KEY", key)) {
						taken++
					} else {
						refused++
					}
				}
			}
			t.Logf("%d taken, %d refused", taken, refused)
			require.Greater(t, taken, 10)
			require.Greater(t, refused, 5)
		})
	}
}

// odd reports whether a file was taken.
func odd(t *testing.T, client clientsetup.Client, at int, name, text string) bool {
	t.Helper()
	target := target(t)
	changes, err := client.Setup(target)
	require.NoError(t, err)
	path := changes[at].Path
	write(t, path, text, 0o640)
	content := func() string {
		read, err := os.ReadFile(path)
		require.NoError(t, err)
		return string(read)
	}
	changes, err = client.Setup(target)
	require.Equal(t, text, content(), "%s: %s: nothing is written before Apply", client.Name, name)
	if err != nil {
		require.ErrorContains(t, err, path, name)
		refusals := []fault.Code{fault.InvalidParams, fault.Internal} // internal: an edit would change too much
		require.Contains(t, refusals, fault.From(err).Code, name)
		_, err := client.Undo(target)
		if err != nil {
			require.Contains(t, refusals, fault.From(err).Code, name)
		}
		require.Equal(t, text, content(), "%s: %s: a refusal changes nothing", client.Name, name)
		return false
	}
	require.NoError(t, clientsetup.Apply(changes, noon))
	again, err := client.Setup(target)
	require.NoError(t, err, "%s: %s", client.Name, name)
	for _, change := range again {
		require.False(t, change.Changed(), "%s: %s: the same twice changes nothing", client.Name, name)
	}
	found, err := client.Configured(target)
	require.NoError(t, err, "%s: %s", client.Name, name)
	require.Empty(t, found.Missing, "%s: %s", client.Name, name)
	undone, err := client.Undo(target)
	require.NoError(t, err, "%s: %s", client.Name, name)
	require.NoError(t, clientsetup.Apply(undone, noon.Add(time.Hour)))
	if got := content(); got != text {
		require.Equal(t, head(text), head(got), "%s: %s", client.Name, name)
		t.Fatalf("%s: %s: not the same", client.Name, name)
	}
	return true
}

func head(text string) string { return text[:min(len(text), 2000)] }
