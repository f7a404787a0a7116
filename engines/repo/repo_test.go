package repo_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/engines"
	"savant/engines/repo"
	"savant/fault"
	"savant/test/golden"
)

var update = flag.Bool("update", false, "write golden files anew")

// project makes a folder of files, by path, and a registry that serves it.
func project(t testing.TB, files map[string]string, past ...repo.PastRun) (string, *engines.Registry) {
	t.Helper()
	folder := t.TempDir()
	for name, text := range files {
		full := filepath.Join(folder, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(full), 0o755))
		require.NoError(t, os.WriteFile(full, []byte(text), 0o644))
	}
	registry := engines.NewRegistry(engines.Options{})
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	search := repo.NewSearch(repo.SearchOptions{Path: folder})
	t.Cleanup(func() { require.NoError(t, search.Close()) })
	engine, tools := repo.Engine(repo.Options{Path: folder, Past: func(context.Context) ([]repo.PastRun, error) { return past, nil }}, search)
	require.NoError(t, registry.AddEngine(engine, tools...))
	return folder, registry
}

func call(t testing.TB, registry *engines.Registry, tool string, args map[string]any) (map[string]any, error) {
	t.Helper()
	raw, err := json.Marshal(args)
	require.NoError(t, err)
	result, err := registry.Invoke(t.Context(), engines.Call{}, tool, raw)
	if err != nil {
		return nil, err
	}
	var out map[string]any
	require.NoError(t, json.Unmarshal(result.JSON, &out))
	return out, nil
}

// TestOutlines compares the outline of a source in each language with a golden file.
func TestOutlines(t *testing.T) {
	names, err := filepath.Glob("testdata/outline/*")
	require.NoError(t, err)
	for _, name := range names {
		if strings.HasSuffix(name, ".golden") {
			continue
		}
		t.Run(filepath.Base(name), func(t *testing.T) {
			source, err := os.ReadFile(name)
			require.NoError(t, err)
			file := strings.TrimSuffix(filepath.Base(name), ".txt")
			_, registry := project(t, map[string]string{file: string(source)})
			out, err := call(t, registry, "context.outline", map[string]any{"path": file})
			require.NoError(t, err)
			var got strings.Builder
			for _, each := range out["definitions"].([]any) {
				d := each.(map[string]any)
				fmt.Fprintf(&got, "%v-%v %v %v | %v\n", d["line"], d["end_line"], d["kind"], d["name"], d["signature"])
			}
			fmt.Fprintln(&got, "note:", out["note"])
			golden.Compare(t, *update, name+".golden", got.String())
		})
	}
}

// TestSearchCountsWordsAndGivesSeveralPlaces checks per_file and counts.
func TestSearchCountsWordsAndGivesSeveralPlaces(t *testing.T) {
	far := strings.Repeat("nothing\n", 20)
	_, registry := project(t, map[string]string{"a.txt": "a zebra\n" + far + "the zebra and its stripes\n" + far + "zebras\n", "b.txt": "stripes\n", "c.txt": "c\n"})
	places := func(args map[string]any) (found []string, counts any) {
		out, err := call(t, registry, "context.search", args)
		require.NoError(t, err)
		for _, each := range out["rows"].([]any) {
			row := each.(map[string]any)
			found = append(found, fmt.Sprintf("%v:%v", row["path"], row["line"]))
		}
		return found, out["counts"]
	}
	found, counts := places(map[string]any{"query": "zebra stripes unicorn"})
	require.Equal(t, []string{"a.txt:22", "b.txt:1"}, found)
	require.Nil(t, counts)
	found, counts = places(map[string]any{"query": "zebra stripes unicorn", "per_file": 2, "counts": true})
	require.Equal(t, []string{"a.txt:22", "a.txt:1", "b.txt:1"}, found)
	require.Equal(t, map[string]any{"files": 3.0, "words": map[string]any{"zebra": 1.0, "stripes": 2.0, "unicorn": 0.0}}, counts)
	found, _ = places(map[string]any{"query": "zebra", "per_file": 5, "limit": 2})
	require.Len(t, found, 2)
}

func TestReadIsBounded(t *testing.T) {
	_, registry := project(t, map[string]string{
		"crlf.txt": "a\r\nb\r\nc", "empty": "", "long": strings.Repeat("x\n", 1000), "wide": strings.Repeat("é", 100_000) + "\nb\n",
		"binary": "a\x00b", "fat": strings.Repeat(strings.Repeat("y", 999)+"\n", 100),
	})
	for _, c := range []struct {
		args                   map[string]any
		start, end, total, len int
		truncated              bool
	}{
		{map[string]any{"path": "crlf.txt"}, 1, 3, 3, 7, false},
		{map[string]any{"path": "./crlf.txt", "start_line": 2, "end_line": 2}, 2, 2, 3, 3, false},
		{map[string]any{"path": "empty"}, 1, 0, 0, 0, false},
		{map[string]any{"path": "long"}, 1, 400, 1000, 800, true},
		{map[string]any{"path": "long", "start_line": 990, "end_line": 5000}, 990, 1000, 1000, 22, false},
		{map[string]any{"path": "wide"}, 1, 1, 2, 64 << 10, true},
		{map[string]any{"path": "fat"}, 1, 65, 100, 65000, true},
	} {
		out, err := call(t, registry, "context.read", c.args)
		require.NoError(t, err)
		require.Equal(t, []any{float64(c.start), float64(c.end), float64(c.total), c.truncated},
			[]any{out["start_line"], out["end_line"], out["total_lines"], out["truncated"]}, "%v", c.args)
		require.Len(t, out["text"], c.len, "%v", c.args)
	}
	for _, args := range []map[string]any{{"path": "binary"}, {"path": "."}, {"path": "long", "start_line": 5, "end_line": 4}, {"path": "long", "repo": "x"}} {
		_, err := call(t, registry, "context.read", args)
		require.ErrorIs(t, err, fault.InvalidParams, "%v", args)
	}
}

func TestWhatIsSecretOrOutsideIsNotRead(t *testing.T) {
	folder, registry := project(t, map[string]string{".git/config": "x", ".savant/session.json": "x", "a/.env.local": "x", "id_rsa": "x",
		"tls/server.KEY": "x", ".env.example": "A=", "good.txt": "x"})
	outside := filepath.Join(t.TempDir(), "outside.txt")
	require.NoError(t, os.WriteFile(outside, []byte("x"), 0o644))
	require.NoError(t, os.Symlink(outside, filepath.Join(folder, "away")))
	require.NoError(t, os.Symlink(filepath.Dir(outside), filepath.Join(folder, "awaydir")))
	require.NoError(t, os.Symlink(".git", filepath.Join(folder, "data")))
	require.NoError(t, os.Symlink("good.txt", filepath.Join(folder, "near")))
	for _, name := range []string{".git/config", ".savant/session.json", "a/.env.local", "id_rsa", "tls/server.KEY", "away", "awaydir/outside.txt",
		"data/config", "../x", "a/../../x", outside, "x\x00y", "a/../.git/config"} {
		_, err := call(t, registry, "context.read", map[string]any{"path": name})
		require.ErrorIs(t, err, fault.ToolDenied, name)
		_, err = call(t, registry, "context.outline", map[string]any{"path": name})
		require.ErrorIs(t, err, fault.ToolDenied, name)
	}
	for _, name := range []string{".env.example", "near", filepath.Join(folder, "good.txt")} {
		_, err := call(t, registry, "context.read", map[string]any{"path": name})
		require.NoError(t, err, name)
	}
}

func TestTreeCountsWhatItCuts(t *testing.T) {
	_, registry := project(t, map[string]string{".gitignore": "*.log\n", "a/b/c/d.txt": "", "a/b/e.txt": "", "a/f.txt": "", "g.txt": "", "h.log": ""})
	out, err := call(t, registry, "context.tree", map[string]any{"depth": 2})
	require.NoError(t, err)
	require.Equal(t, []any{
		map[string]any{"path": ".gitignore"}, map[string]any{"path": "a/", "files": 3.0}, map[string]any{"path": "a/b/", "files": 2.0, "cut": true},
		map[string]any{"path": "a/f.txt"}, map[string]any{"path": "g.txt"},
	}, out["entries"])
	require.Equal(t, 5.0, out["files"])
	require.Equal(t, false, out["truncated"])

	out, err = call(t, registry, "context.tree", map[string]any{"path": "a", "depth": 5, "limit": 2})
	require.NoError(t, err)
	require.Equal(t, []any{map[string]any{"path": "a/b/", "files": 2.0, "cut": true}, map[string]any{"path": "a/f.txt"}}, out["entries"])
	require.Equal(t, true, out["truncated"])
	_, err = call(t, registry, "context.tree", map[string]any{"path": "g.txt"})
	require.ErrorIs(t, err, fault.InvalidParams)
}

func TestMemoryIsBoundedAndFound(t *testing.T) {
	folder, registry := project(t, nil, repo.PastRun{Workflow: "adr", Run: "r1", Summary: "Chose zebra stripes", Time: "2026-01-02T03:04:05Z"})
	write := func(args map[string]any) error {
		_, err := call(t, registry, "context.memory_write", args)
		return err
	}
	require.NoError(t, write(map[string]any{"name": "notes", "text": "# Notes\nzebra"}))
	require.NoError(t, write(map[string]any{"name": "notes", "text": "more"}))
	data, err := os.ReadFile(filepath.Join(folder, ".savant/memory/notes.md"))
	require.NoError(t, err)
	require.Equal(t, "# Notes\nzebra\n\nmore\n", string(data))
	out, err := call(t, registry, "context.memory_search", map[string]any{"query": "zebra stripes"})
	require.NoError(t, err)
	rows := out["rows"].([]any)
	require.Len(t, rows, 2)
	require.Equal(t, "adr/r1", rows[0].(map[string]any)["name"])
	require.NoError(t, write(map[string]any{"name": "notes", "text": "new", "mode": "replace"}))
	data, err = os.ReadFile(filepath.Join(folder, ".savant/memory/notes.md"))
	require.NoError(t, err)
	require.Equal(t, "new\n", string(data))
	require.ErrorIs(t, write(map[string]any{"name": "notes", "text": strings.Repeat("x", 65<<10)}), fault.LimitExceeded)
	for _, name := range []string{"", "..", "A", "a/b", "a.md", strings.Repeat("a", 65)} {
		require.ErrorIs(t, write(map[string]any{"name": name, "text": "x"}), fault.InvalidParams, name)
	}
	require.ErrorIs(t, write(map[string]any{"name": "a", "text": " \n"}), fault.InvalidParams)
}

// FuzzPaths checks that no path leads outside the project, to a secret, or to an
// INTERNAL error.
func FuzzPaths(f *testing.F) {
	folder, registry := project(f, map[string]string{"in/a.go": "package a", ".git/config": "forbidden", ".env": "forbidden"})
	require.NoError(f, os.WriteFile(filepath.Join(filepath.Dir(folder), "forbidden.txt"), []byte("forbidden"), 0o644))
	require.NoError(f, os.Symlink("../forbidden.txt", filepath.Join(folder, "in", "up")))
	for _, seed := range []string{"in/a.go", "../forbidden.txt", "in/up", ".git/config", ".GIT/config", "in/../.env", "/etc/passwd", "in\\..\\.env", ".env/", "./.git//config", "\x00"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		for _, tool := range []string{"context.read", "context.outline", "context.tree"} {
			out, err := call(t, registry, tool, map[string]any{"path": name})
			require.NotErrorIs(t, err, fault.Internal, "%s %q", tool, name)
			require.NotContains(t, fmt.Sprint(out["text"]), "forbidden")
		}
	})
}
