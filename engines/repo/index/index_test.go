package index_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/engines/repo/files"
	"savant/engines/repo/index"
	"savant/fault"
	"savant/internal/withheld"
)

func open(t testing.TB, folder, cache string) *index.Index {
	t.Helper()
	ix, err := index.Open(context.Background(), index.Options{Folder: folder, CacheFolder: cache})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, ix.Close()) })
	return ix
}

func refresh(t testing.TB, ix *index.Index) index.Changes {
	t.Helper()
	changes, err := ix.Refresh(context.Background(), nil)
	require.NoError(t, err)
	return changes
}

func write(t testing.TB, folder, name, text string) {
	t.Helper()
	full := filepath.Join(folder, filepath.FromSlash(name))
	require.NoError(t, os.MkdirAll(filepath.Dir(full), 0o755))
	require.NoError(t, os.WriteFile(full, []byte(text), 0o644))
}

func search(t testing.TB, ix *index.Index, query index.Query) []index.Row {
	t.Helper()
	refresh(t, ix)
	rows, err := ask(ix, query)
	require.NoError(t, err)
	return rows
}

// ask parses a query and searches an index without bringing it up to date.
func ask(ix *index.Index, query index.Query) ([]index.Row, error) {
	parsed, err := index.Parse(query)
	if err != nil {
		return nil, err
	}
	return index.Search(context.Background(), ix, parsed)
}

// find brings the index up to date and then searches.
func find(t require.TestingT, ix *index.Index, query index.Query) []index.Row {
	parsed, err := index.Parse(query)
	require.NoError(t, err)
	found, err := ix.Find(context.Background(), parsed, nil)
	require.NoError(t, err)
	return found.Rows
}

func paths(rows []index.Row) []string {
	found := []string{}
	for _, row := range rows {
		found = append(found, row.Path)
	}
	return found
}

func words(text string) index.Query { return index.Query{Text: text} }

func expression(text string) index.Query { return index.Query{Text: text, Literal: true} }

func TestWhatIsFound(t *testing.T) {
	folder := t.TempDir()
	write(t, folder, "a.go", "package a\n\n// readFile reads.\nfunc readFile() {}\r\n")
	write(t, folder, "b.py", "def read_file():\r\n    return größenWahn\r\n")
	write(t, folder, "docs/c.md", "# Ein Café\n\nwe read a\nfile, then 検索する\n")
	ix := open(t, folder, t.TempDir())
	for query, expected := range map[string][]string{
		"readFile":              {"a.go", "b.py", "docs/c.md"},
		"read_file":             {"b.py", "a.go", "docs/c.md"},
		`"read file"`:           {"a.go", "b.py"},
		`"read a file"`:         {"docs/c.md"},
		"READFILE":              {"a.go"},
		"größen":                {"b.py"},
		"GRÖSSENwahn OR café":   {"docs/c.md"},
		"検索":                    {"docs/c.md"},
		"read NOT package":      {"b.py", "docs/c.md"},
		"(package OR def) file": {"a.go", "b.py"},
		"rea*":                  {"a.go", "b.py", "docs/c.md"},
		"nothingOfThis":         {},
	} {
		found := paths(search(t, ix, expression(query)))
		if query == "readFile" || query == "read_file" {
			require.NotContains(t, found[2:], expected[0], query)
			expected = expected[:2]
			found = found[:2]
		}
		require.ElementsMatch(t, expected, found, query)
	}
	rows := search(t, ix, expression("readFile"))
	require.Equal(t, "a.go", rows[0].Path)
	require.Equal(t, 4, rows[0].Line)
	require.Equal(t, "func readFile() {}", rows[0].Snippet)
}

// A question finds other forms of its verbs, also of irregular ones.
func TestFormsOfAWordAreFound(t *testing.T) {
	folder := t.TempDir()
	write(t, folder, "a.go", "// A hidden command is listed nowhere.\n")
	write(t, folder, "b.go", "// begin to parse by parsing\n")
	write(t, folder, "c.go", "// cancellation of a task that is installed\n")
	ix := open(t, folder, t.TempDir())
	for query, expected := range map[string][]string{"cancel": {"c.go"}, "cancelled": {"c.go"}, "install": {"c.go"}, "installing": {"c.go"}, "hide": {"a.go"}, "hid": {"a.go"}, "parse": {"b.go"}, "began": {"b.go"}, "hits": {}} {
		require.Equal(t, expected, paths(search(t, ix, index.Query{Text: query})), query)
	}
}

func TestQueriesThatAreNone(t *testing.T) {
	ix := open(t, t.TempDir(), t.TempDir())
	for _, query := range []index.Query{words(""), words("  \n"), words("--"), expression(`"open`), expression("(a"), expression("a)"),
		expression("NOT a"), expression("AND"), expression("a OR"), words("\xff"), {Text: "a", Paths: []string{"["}}} {
		_, err := ask(ix, query)
		require.ErrorIs(t, err, fault.InvalidParams, "%q", query.Text)
	}
	_, err := ask(ix, words(strings.Repeat("word ", 300)))
	require.ErrorIs(t, err, fault.LimitExceeded)
}

func TestFilters(t *testing.T) {
	folder := t.TempDir()
	for _, name := range []string{"a.go", "src/b.go", "src/deep/c.py", "docs/d.md"} {
		write(t, folder, name, "needle\n")
	}
	ix := open(t, folder, t.TempDir())
	for pattern, expected := range map[string][]string{"src": {"src/b.go", "src/deep/c.py"}, "*.go": {"a.go", "src/b.go"},
		"src/**/*.py": {"src/deep/c.py"}, "./docs/": {"docs/d.md"}, "**": {"a.go", "src/b.go", "src/deep/c.py", "docs/d.md"}} {
		require.ElementsMatch(t, expected, paths(search(t, ix, index.Query{Text: "needle", Paths: []string{pattern}})), pattern)
	}
	require.Equal(t, []string{"src/deep/c.py"}, paths(search(t, ix, index.Query{Text: "needle", Languages: []string{"py"}})))
}

// TestWhatIsNotIndexed checks that binary, large and ignored files, and links out of
// the folder, are not indexed.
func TestWhatIsNotIndexed(t *testing.T) {
	for _, git := range []bool{true, false} {
		folder, outside := t.TempDir(), t.TempDir()
		write(t, outside, "secret.txt", "needle\n")
		require.NoError(t, os.Symlink(outside, filepath.Join(folder, "link")))
		require.NoError(t, os.Symlink(filepath.Join(outside, "secret.txt"), filepath.Join(folder, "link.txt")))
		write(t, folder, ".gitignore", "*.tmp\n/build/\n!keep.tmp\n")
		write(t, folder, "sub/.gitignore", "local.txt\n")
		for _, name := range []string{"seen.txt", "a.tmp", "keep.tmp", "build/x.txt", "sub/local.txt", "sub/build/y.txt", "sub/b.tmp",
			"node_modules/m/i.js", ".savant/state/s.json", "logs/agent.log"} {
			write(t, folder, name, "needle\n")
		}
		write(t, folder, "binary.bin", "needle\x00")
		write(t, folder, "large.txt", strings.Repeat("needle\n", 200_000))
		if git {
			require.NoError(t, exec.Command("git", "init", "-q", folder).Run())
			require.NoError(t, os.RemoveAll(filepath.Join(folder, "node_modules")))
		}
		ix := open(t, folder, t.TempDir())
		require.ElementsMatch(t, []string{"seen.txt", "keep.tmp", "sub/build/y.txt"}, paths(search(t, ix, words("needle"))), "git %v", git)
		status, err := ix.Status(context.Background())
		require.NoError(t, err)
		require.Equal(t, map[string]int{"binary": 1, "too_large": 1}, status.Skipped)
		require.Equal(t, 5, status.Files)
	}
}

// TestARepositoryCannotRunPrograms checks that programs named in a repository's git
// configuration are not run.
func TestARepositoryCannotRunPrograms(t *testing.T) {
	folder := t.TempDir()
	require.NoError(t, exec.Command("git", "init", "-q", folder).Run())
	trap := filepath.Join(t.TempDir(), "trap")
	for _, key := range []string{"core.fsmonitor", "core.pager", "core.sshCommand", "filter.x.clean", "diff.external", "core.editor"} {
		require.NoError(t, exec.Command("git", "-C", folder, "config", key, "touch "+trap).Run())
	}
	write(t, folder, ".gitattributes", "* filter=x\n")
	write(t, folder, "a.txt", "needle\n")
	ix := open(t, folder, t.TempDir())
	require.Equal(t, []string{"a.txt"}, paths(search(t, ix, words("needle"))))
	require.NoFileExists(t, trap)
}

// TestARepositoryCannotLeadElsewhere checks that core.worktree, which git follows, does
// not make Savant list another folder.
func TestARepositoryCannotLeadElsewhere(t *testing.T) {
	folder, outside := t.TempDir(), t.TempDir()
	write(t, outside, "names/of/others.txt", "needle\n")
	write(t, folder, "a.txt", "needle\n")
	write(t, folder, "ignored.txt", "needle\n")
	write(t, folder, ".gitignore", "ignored.txt\n")
	require.NoError(t, exec.Command("git", "init", "-q", folder).Run())
	require.NoError(t, exec.Command("git", "-C", folder, "config", "core.worktree", outside).Run())
	listing, err := files.List(t.Context(), folder, withheld.Files{})
	require.NoError(t, err)
	require.Equal(t, []string{".gitignore", "a.txt"}, listing.Files)
	require.False(t, listing.Git)
}

func TestADamagedIndexIsBuiltAnew(t *testing.T) {
	folder, cache := t.TempDir(), t.TempDir()
	write(t, folder, "a.txt", "needle\n")
	ix, err := index.Open(context.Background(), index.Options{Folder: folder, CacheFolder: cache})
	require.NoError(t, err)
	refresh(t, ix)
	require.NoError(t, ix.Close())
	files, err := filepath.Glob(filepath.Join(cache, "*.sqlite"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	for _, damage := range []string{"not a database at all, but long enough to be read as one", ""} {
		require.NoError(t, os.WriteFile(files[0], []byte(damage), 0o600))
		ix, err := index.Open(context.Background(), index.Options{Folder: folder, CacheFolder: cache})
		require.NoError(t, err)
		require.Equal(t, []string{"a.txt"}, paths(search(t, ix, words("needle"))))
		require.NoError(t, ix.Close())
	}
}

func TestACancelledBuildGoesOn(t *testing.T) {
	folder, cache := t.TempDir(), t.TempDir()
	for i := range 1050 {
		write(t, folder, filepath.Join("d", string(rune('a'+i%26)), strings.Repeat("x", i/26+1)+".txt"), "needle\n")
	}
	ix := open(t, folder, cache)
	ctx, cancel := context.WithCancel(context.Background())
	_, err := ix.Refresh(ctx, func(int, int) { cancel() })
	require.ErrorIs(t, err, context.Canceled)
	status, err := ix.Status(context.Background())
	require.NoError(t, err)
	require.Greater(t, status.Files, 0)
	require.Less(t, status.Files, 1050)
	require.Equal(t, 1050-status.Files, refresh(t, open(t, folder, cache)).Updated)
}

// TestManyAtOnce uses several indexes of one folder at once, as several processes do.
func TestManyAtOnce(t *testing.T) {
	folder, cache := t.TempDir(), t.TempDir()
	for _, name := range []string{"a", "b", "c", "d"} {
		write(t, folder, name, "needle\n")
	}
	var group sync.WaitGroup
	for range 4 {
		ix := open(t, folder, cache)
		group.Go(func() {
			for range 5 {
				_, err := ix.Refresh(context.Background(), nil)
				require.NoError(t, err)
				rows, err := ask(ix, words("needle"))
				require.NoError(t, err)
				require.Len(t, rows, 4)
			}
		})
	}
	group.Wait()
}
