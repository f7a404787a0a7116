package clientsetup_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"savant/fault"
	"savant/internal/clientsetup"
)

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

func target(t *testing.T) clientsetup.Target {
	home := t.TempDir()
	return clientsetup.Target{Program: "/opt/my tools/savant", Service: "think,git", Home: home, OS: "linux", Folder: "/project",
		Variable: func(string) (string, bool) { return "", false }}
}

// people are files as people have them.
var people = map[string]string{
	"empty":                "",
	"empty object":         "{}",
	"one line":             `{"theme":"dark"}`,
	"comments":             "// mine\n{\n  // servers\n  \"mcpServers\": {\n    \"other\": {\"command\": \"x\"} // keep\n  },\n  /* block */ \"theme\": \"dark\"\n}\n",
	"trailing commas":      "{\n\t\"mcpServers\": {\n\t\t\"other\": {\"command\": \"x\",},\n\t},\n}\n",
	"CRLF":                 "{\r\n    \"theme\": \"dark\",\r\n    \"n\": [1,\r\n 2]\r\n}\r\n",
	"byte order mark":      "\xef\xbb\xbf{\n  \"theme\": \"dark\"\n}\n",
	"hooks of others":      "{\n  \"hooks\": {\n    \"PreToolUse\": [\n      {\"matcher\": \"Bash\", \"hooks\": [{\"type\": \"command\", \"command\": \"guard\"}]}\n    ]\n  }\n}\n",
	"empty servers":        "{\n  \"mcpServers\": {},\n  \"servers\": {},\n  \"mcp\": {},\n  \"hooks\": {\"PreToolUse\": [], \"Stop\": []}\n}\n",
	"no end of line":       "{\n  \"theme\": \"dark\"\n}",
	"keys twice, apart":    "{\"a\": {\"x\": 1, \"x\": 2}, \"theme\": \"dark\"}",
	"numbers":              "{\"n\": 1.50, \"big\": 12345678901234567890}\n",
	"deep":                 "{\"projects\": {\"/a\": {\"mcpServers\": {\"savant\": {}}}}}\n",
	"tabs and comments":    "{\n\t// a\n\t\"theme\": \"dark\" // b\n}\n",
	"only a comment":       "{\n  // nothing yet\n}\n",
	"nothing but comments": "// nothing yet\r\n/* or later */",
	"comment at the end":   "{\"theme\": \"dark\"} // end",
}

var refusedOnes = map[string]string{
	"broken":       `{"mcpServers": `,
	"an array":     `[1]`,
	"not UTF-8":    "{\"a\": \"\xff\"}",
	"two values":   "{} {}",
	"TOML":         "a = 1\n",
	"single quote": "{'a': 1}",
}

// levels are a client's own files and those of a project.
func levels(t *testing.T, c clientsetup.Client) []clientsetup.Target {
	own := target(t)
	list := []clientsetup.Target{own}
	project := target(t)
	project.Project = t.TempDir()
	if _, err := c.Setup(project); err == nil {
		list = append(list, project)
	}
	return list
}

func TestWhatWasThereComesBackByteByByte(t *testing.T) {
	t.Parallel()
	for _, client := range clientsetup.All() {
		t.Run(client.Name, func(t *testing.T) {
			t.Parallel()
			comesBack(t, client)
		})
	}
}

func comesBack(t *testing.T, client clientsetup.Client) {
	for name, text := range people {
		for _, target := range levels(t, client) {
			changes, err := client.Setup(target)
			require.NoError(t, err)
			for _, change := range changes {
				if strings.HasSuffix(change.Path, ".json") && !strings.Contains(string(change.After), "savant.js") {
					write(t, change.Path, text, 0o640)
				}
			}
			changes, err = client.Setup(target)
			if err != nil && strings.Contains(err.Error(), "did not write this file") {
				continue // a file that is Savant's as a whole
			}
			require.NoError(t, err, "%s: %s", client.Name, name)
			before := snapshot(t, changes)
			require.NoError(t, clientsetup.Apply(changes, noon))
			for _, change := range changes {
				made, err := os.ReadFile(change.Path)
				require.NoError(t, err)
				require.Contains(t, string(made), "savant")
				if change.Existed {
					require.Equal(t, fs.FileMode(0o640), mode(t, change.Path))
					require.FileExists(t, change.Path+".savant-20261122T120000.000Z.bak")
				}
			}
			again, err := client.Setup(target)
			require.NoError(t, err)
			for _, change := range again {
				require.False(t, change.Changed(), "%s: %s: the same twice changes nothing", client.Name, name)
			}
			undone, err := client.Undo(target)
			require.NoError(t, err, "%s: %s", client.Name, name)
			require.NoError(t, clientsetup.Apply(undone, noon.Add(time.Hour)))
			require.Equal(t, before, snapshot(t, changes), "%s: %s", client.Name, name)
		}
	}
}

// After an edit of the person, undo takes out Savant's entries only.
func TestUndoKeepsWhatThePersonChangedSince(t *testing.T) {
	t.Parallel()
	client, target := found(t, "claude-code"), target(t)
	settings := filepath.Join(target.Home, ".claude", "settings.json")
	write(t, settings, people["hooks of others"], 0o600)
	apply(t, client, target)
	text, err := os.ReadFile(settings)
	require.NoError(t, err)
	write(t, settings, strings.Replace(string(text), "{", "{\n  \"theme\": \"light\", // new", 1), 0o600)
	undone, err := client.Undo(target)
	require.NoError(t, err)
	require.NoError(t, clientsetup.Apply(undone, noon.Add(time.Hour)))
	text, err = os.ReadFile(settings)
	require.NoError(t, err)
	require.Equal(t, strings.Replace(people["hooks of others"], "{", "{\n  \"theme\": \"light\", // new", 1), string(text))
}

func TestAnotherPathOfTheProgramReplacesTheEntries(t *testing.T) {
	t.Parallel()
	for _, client := range clientsetup.All() {
		target := target(t)
		apply(t, client, target)
		target.Program = "/usr/bin/savant"
		changes, err := client.Setup(target)
		require.NoError(t, err)
		for _, change := range changes {
			require.NotContains(t, string(change.After), "my tools", client.Name)
		}
	}
}

func TestWhatCannotBeReadIsRefusedUntouched(t *testing.T) {
	t.Parallel()
	for _, client := range clientsetup.All() {
		for name, text := range refusedOnes {
			target := target(t)
			changes, err := client.Setup(target)
			require.NoError(t, err)
			if strings.HasSuffix(changes[0].Path, ".toml") {
				text = "a = \n"
			}
			write(t, changes[0].Path, text, 0o600)
			_, err = client.Setup(target)
			require.ErrorIs(t, err, fault.InvalidParams, "%s: %s", client.Name, name)
			require.ErrorContains(t, err, changes[0].Path)
		}
	}
}

func TestFilesThatAreNoOrdinaryOnes(t *testing.T) {
	t.Parallel()
	client := found(t, "gemini-cli")
	t.Run("a link stays one", func(t *testing.T) {
		target := target(t)
		settings, real := filepath.Join(target.Home, ".gemini", "settings.json"), filepath.Join(t.TempDir(), "real.json")
		write(t, real, "{}\n", 0o644)
		require.NoError(t, os.MkdirAll(filepath.Dir(settings), 0o700))
		require.NoError(t, os.Symlink(real, settings))
		apply(t, client, target)
		info, err := os.Lstat(settings)
		require.NoError(t, err)
		require.Equal(t, fs.ModeSymlink, info.Mode()&fs.ModeSymlink)
		text, err := os.ReadFile(real)
		require.NoError(t, err)
		require.Contains(t, string(text), "savant")
		undone, err := client.Undo(target)
		require.NoError(t, err)
		require.NoError(t, clientsetup.Apply(undone, noon.Add(time.Hour)))
		text, err = os.ReadFile(real)
		require.NoError(t, err)
		require.Equal(t, "{}\n", string(text))
	})
	for name, make := range map[string]func(t *testing.T, path string){
		"read-only":            func(t *testing.T, path string) { write(t, path, "{}", 0o444) },
		"a link to nowhere":    func(t *testing.T, path string) { require.NoError(t, os.Symlink("nowhere", path)) },
		"a folder":             func(t *testing.T, path string) { require.NoError(t, os.Mkdir(path, 0o700)) },
		"somebody else's hook": nil,
	} {
		t.Run(name, func(t *testing.T) {
			target, client := target(t), client
			path := filepath.Join(target.Home, ".gemini", "settings.json")
			require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
			if make == nil {
				client = found(t, "kiro")
				write(t, filepath.Join(target.Home, ".kiro", "hooks", "savant.json"), `{"hooks": []}`, 0o600)
			} else {
				make(t, path)
			}
			_, err := client.Setup(target)
			require.ErrorIs(t, err, fault.InvalidParams)
		})
	}
}

func TestAFileThatChangesMeanwhileIsNotOverwritten(t *testing.T) {
	t.Parallel()
	client, target := found(t, "gemini-cli"), target(t)
	changes, err := client.Setup(target)
	require.NoError(t, err)
	write(t, changes[0].Path, `{"mine": true}`, 0o600)
	require.ErrorIs(t, clientsetup.Apply(changes, noon), fault.StateConflict)
	text, err := os.ReadFile(changes[0].Path)
	require.NoError(t, err)
	require.Equal(t, `{"mine": true}`, string(text))
}

// TestNoHalfOfASetupStays: where one file cannot be written, those before it are as they were.
func TestNoHalfOfASetupStays(t *testing.T) {
	t.Parallel()
	for _, before := range []string{"", "{\"theme\": 1} // mine"} {
		client, target := found(t, "claude-code"), target(t)
		path := filepath.Join(target.Home, ".claude.json")
		if before != "" {
			write(t, path, before, 0o640)
		}
		changes, err := client.Setup(target)
		require.NoError(t, err)
		require.Equal(t, path, changes[0].Path)
		write(t, filepath.Join(target.Home, ".claude"), "", 0o600) // where the folder of the second file would be
		require.Error(t, clientsetup.Apply(changes, noon))
		text, err := os.ReadFile(path)
		if before == "" {
			require.ErrorIs(t, err, fs.ErrNotExist)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, before, string(text))
		info, err := os.Stat(path)
		require.NoError(t, err)
		require.Equal(t, fs.FileMode(0o640), info.Mode())
	}
}

func TestAnUnknownClientSuggestsTheNearest(t *testing.T) {
	t.Parallel()
	_, err := clientsetup.Find("claude-cod")
	require.ErrorIs(t, err, fault.InvalidParams)
	require.Contains(t, fault.From(err).Hint.Text, "claude-code")
}

func found(t *testing.T, name string) clientsetup.Client {
	t.Helper()
	client, err := clientsetup.Find(name)
	require.NoError(t, err)
	return client
}

func apply(t *testing.T, client clientsetup.Client, target clientsetup.Target) {
	t.Helper()
	changes, err := client.Setup(target)
	require.NoError(t, err)
	require.NoError(t, clientsetup.Apply(changes, noon))
}

func write(t *testing.T, path, text string, mode fs.FileMode) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, []byte(text), mode))
	require.NoError(t, os.Chmod(path, mode))
}

func mode(t *testing.T, path string) fs.FileMode {
	t.Helper()
	info, err := os.Stat(path)
	require.NoError(t, err)
	return info.Mode().Perm()
}

// snapshot is the content of each file; a file that is not there has none.
func snapshot(t *testing.T, changes []clientsetup.Change) map[string]string {
	t.Helper()
	made := map[string]string{}
	for _, change := range changes {
		if text, err := os.ReadFile(change.Path); err == nil {
			made[change.Path] = "=" + string(text)
		}
	}
	return made
}

// What the client or a person added to Savant's server stays at the next set-up, also that of a
// program that moved, and undo never brings an entry of Savant's back.
func TestASetUpAfterTheProgramMoved(t *testing.T) {
	t.Parallel()
	for _, client := range clientsetup.All() {
		for _, earlier := range []string{"", "{\"theme\": \"dark\"}\n"} {
			target := target(t)
			changes, err := client.Setup(target)
			require.NoError(t, err)
			server := changes[0].Path
			if strings.HasSuffix(server, ".toml") && earlier != "" {
				earlier = "theme = \"dark\"\n"
			}
			if earlier != "" {
				write(t, server, earlier, 0o600)
			}
			apply(t, client, target)
			target.Program = "/elsewhere/savant"
			moved, err := client.Setup(target)
			require.NoError(t, err)
			require.NoError(t, clientsetup.Apply(moved, noon.Add(time.Minute)))
			undone, err := client.Undo(target)
			require.NoError(t, err)
			for _, change := range undone {
				if change.Path == server && earlier != "" {
					require.Equal(t, earlier, string(change.After), client.Name)
				} else {
					require.True(t, change.Gone, "%s: %s", client.Name, change.Path)
				}
			}

			text, err := os.ReadFile(server)
			require.NoError(t, err)
			with := strings.NewReplacer(`"MCP_SERVICE"`, `"MINE": "1", "MCP_SERVICE"`, "MCP_SERVICE =", `MINE = "1", MCP_SERVICE =`).Replace(string(text))
			require.NotEqual(t, string(text), with, client.Name)
			write(t, server, with, 0o600)
			target.Program = "/third/savant"
			again, err := client.Setup(target)
			require.NoError(t, err)
			require.Contains(t, string(again[0].After), "MINE", client.Name)
			require.Contains(t, string(again[0].After), "/third/savant", client.Name)
			require.NotContains(t, string(again[0].After), "/elsewhere", client.Name)
			require.NoError(t, clientsetup.Apply(again, noon.Add(time.Hour)))
			undone, err = client.Undo(target)
			require.NoError(t, err)
			require.NotContains(t, string(undone[0].After), "savant", client.Name)
		}
	}
}
