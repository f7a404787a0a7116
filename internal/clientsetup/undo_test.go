package clientsetup_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tailscale/hujson"

	"savant/internal/clientsetup"
)

// edits are what people do to a file between a set-up and its undo. KEY is the client's word
// for its servers.
var edits = map[string]func(text, key string) string{
	"a key": func(text, _ string) string {
		return strings.Replace(text, "{", "{\"added\": true,", 1)
	},
	"a server": func(text, key string) string {
		if with := strings.Replace(text, `"`+key+`": {`, `"`+key+`": {"mine": {"command": "m"},`, 1); with != text {
			return with
		}
		return strings.Replace(text, "{", `{"`+key+`": {"mine": {"command": "m"}},`, 1)
	},
	"a format": func(text, _ string) string { return strings.ReplaceAll(text, "  ", "\t") + "\n\n" },
}

// TestUndoAfterAnEdit: the file has what the same edit makes of the one from before the set-up.
func TestUndoAfterAnEdit(t *testing.T) {
	t.Parallel()
	before := map[string]string{"empty object": "{}", "servers": `{"KEY": {}}`, "hooks": `{"hooks": {"PreToolUse": [], "BeforeTool": [], "preToolUse": []}}`, "version": `{"version": 1}`,
		"another server": "{\n  // mine\n  \"KEY\": {\n    \"other\": {\"command\": \"o\"}, // c\n  },\n}\n", "CRLF": "{\r\n  \"a\": 1,\r\n  \"KEY\": {\r\n  }\r\n}\r\n",
		"a mark": "\xef\xbb\xbf{\"a\": [1, 2]}", "switched off": `{"KEY": {"savant": {"command": "/x/savant", "disabled": true}}}`, "none": ""}
	for _, client := range clientsetup.All() {
		t.Run(client.Name, func(t *testing.T) {
			t.Parallel()
			key := servers[client.Name]
			if key == "" {
				key = "mcpServers"
			}
			for name, text := range before {
				text = strings.ReplaceAll(text, "KEY", key)
				for what, edit := range edits {
					undoAfter(t, client, name+", "+what, text, func(text string) string { return edit(text, key) })
				}
			}
		})
	}
}

func undoAfter(t *testing.T, client clientsetup.Client, name, text string, edit func(string) string) {
	t.Helper()
	target := target(t)
	plain := func(text string) (value any) {
		standard, err := hujson.Standardize([]byte(strings.TrimPrefix(text, "\xef\xbb\xbf")))
		require.NoError(t, err, "%s: %s", name, text)
		require.NoError(t, json.Unmarshal(standard, &value))
		return value
	}
	shared := func(path string) bool {
		return strings.HasSuffix(path, ".json") && !strings.Contains(path, "hooks/savant")
	}
	changes, err := client.Setup(target)
	require.NoError(t, err)
	for _, change := range changes {
		if text != "" && shared(change.Path) {
			write(t, change.Path, text, 0o640)
		}
	}
	apply(t, client, target)
	for _, change := range changes {
		if shared(change.Path) {
			made, err := os.ReadFile(change.Path)
			require.NoError(t, err)
			write(t, change.Path, edit(string(made)), 0o640)
		}
	}
	undone, err := client.Undo(target)
	require.NoError(t, err)
	require.NoError(t, clientsetup.Apply(undone, noon.Add(time.Hour)))
	for _, change := range changes {
		if !shared(change.Path) {
			require.NoFileExists(t, change.Path)
			continue
		}
		wanted := edit(text)
		if text == "" {
			wanted = edit("{}")
		}
		left, err := os.ReadFile(change.Path)
		if os.IsNotExist(err) {
			require.Empty(t, text, "%s: %s", name, change.Path)
			require.Empty(t, plain(wanted), "%s: %s", name, change.Path)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, plain(wanted), plain(string(left)), "%s: %s", name, change.Path)
		require.Equal(t, strings.HasPrefix(text, "\xef\xbb\xbf"), strings.HasPrefix(string(left), "\xef\xbb\xbf"))
		require.Equal(t, strings.Count(text, "//"), strings.Count(string(left), "//"), "%s: %s", name, change.Path)
	}
}
