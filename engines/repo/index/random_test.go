package index_test

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"savant/engines/repo/index"
	"savant/fault"
)

// TestAnyHistoryAnswersAsAFreshIndex checks that after any writes, removals and renames
// an updated index gives the same answers as a new one, whether it checks every file or
// relies on the kernel's events.
func TestAnyHistoryAnswersAsAFreshIndex(t *testing.T) {
	if os.Getenv("CI") == "" { // each history takes a third of a second
		checks := flag.Lookup("rapid.checks").Value
		usual := checks.String()
		require.NoError(t, checks.Set("8"))
		defer func() { require.NoError(t, checks.Set(usual)) }()
	}
	rapid.Check(t, func(t *rapid.T) {
		h := history{folder: must(os.MkdirTemp("", "index")), watched: rapid.Bool().Draw(t, "watched") && runtime.GOOS == "linux"}
		defer os.RemoveAll(h.folder)
		h.open(t)
		defer func() { require.NoError(t, h.old.Close()) }()
		for _, name := range someNames[1:] {
			require.NoError(t, os.WriteFile(h.place(t, name), []byte("gamma\n"), 0o644))
		}
		h.settle(t)
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			h.step(t)
		}
		fresh := opened(t, h.folder, filepath.Join(h.folder, ".savant", "fresh"))
		defer fresh.Close()
		for _, query := range []index.Query{words("alpha"), words("where is alpha beta?"), expression("alpha NOT gamma"), expression(`"alpha beta"`), words("gam*")} {
			require.Equal(t, find(t, fresh, query), find(t, h.old, query), query.Text)
		}
	})
}

// history is a folder that changes, and an index that is kept up to date with it.
type history struct {
	folder  string
	old     *index.Index
	watched bool
}

var (
	someNames    = []string{".gitignore", "a.go", "b.md", "sub/c.py", "sub/deep/alpha.txt", "d_test.go"}
	someFolders  = []string{"sub", "sub/deep", "other"}
	someContents = []string{"", "alpha beta\n", "beta alphaBeta\n", "func alpha() {}\n", "gamma\nalpha\ngamma\n", "\x00", "*.md\n"}
	someSteps    = []string{"write", "overwrite", "overwrite", "overwrite", "remove", "rename", "rename folder", "refresh", "settle", "reopen"}
)

func (h *history) step(t *rapid.T) {
	draw := func(from []string) string { return rapid.SampledFrom(from).Draw(t, "drawn") }
	switch draw(someSteps) {
	case "write":
		path := h.place(t, draw(someNames))
		require.NoError(t, os.WriteFile(path, []byte(draw(someContents)), 0o644))
	case "overwrite": // what exists, which its folder does not show
		if path := h.place(t, draw(someNames)); exists(path) {
			require.NoError(t, os.WriteFile(path, []byte(draw(someContents)), 0o644))
		}
	case "remove":
		_ = os.Remove(h.place(t, draw(someNames))) // it may not be there
	case "rename":
		_ = os.Rename(h.place(t, draw(someNames)), h.place(t, draw(someNames))) // as above
	case "rename folder":
		_ = os.Rename(filepath.Join(h.folder, draw(someFolders)), filepath.Join(h.folder, draw(someFolders))) // as above
	case "refresh":
		h.refresh(t)
	case "settle":
		h.settle(t)
	case "reopen": // the next process begins with what this one knew
		require.NoError(t, h.old.Close())
		h.open(t)
	}
}

func (h *history) open(t *rapid.T) {
	h.old = opened(t, h.folder, filepath.Join(h.folder, ".savant", "old"))
	if !h.watched {
		require.NoError(t, index.Tree(h.old).StopWatching())
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func (h *history) place(t *rapid.T, name string) string {
	path := filepath.Join(h.folder, name)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	return path
}

func (h *history) refresh(t *rapid.T) {
	_, err := h.old.Refresh(context.Background(), nil)
	require.NoError(t, err)
}

func opened(t require.TestingT, folder, cache string) *index.Index {
	ix, err := index.Open(context.Background(), index.Options{Folder: folder, CacheFolder: cache})
	require.NoError(t, err)
	return ix
}

// settle refreshes until stamps are trusted and, where possible, the kernel's events.
func (h *history) settle(t *rapid.T) {
	h.refresh(t) // the second look begins to watch
	for h.refresh(t); !index.Current(h.old); h.refresh(t) {
		time.Sleep(10 * time.Millisecond)
	}
}

func must(folder string, err error) string {
	if err != nil {
		panic(err)
	}
	return folder
}

// FuzzQuery checks that every query gets an answer or an error with a code.
func FuzzQuery(f *testing.F) {
	for _, seed := range []string{"alpha", `"alpha beta"*`, "a AND (b OR NOT c)", "NOT", "((((", "readFile*", "検索 größe", "\"", "a'b:c/d+e"} {
		f.Add(seed, true)
		f.Add(seed, false)
	}
	folder := f.TempDir()
	write(f, folder, "a.go", "package alpha\n\nfunc readFile() {}\n\n// 検索 größe a'b:c/d+e\n")
	ix := open(f, folder, f.TempDir())
	refresh(f, ix)
	f.Fuzz(func(t *testing.T, text string, literal bool) {
		rows, err := ask(ix, index.Query{Text: text, Literal: literal})
		if err != nil {
			code := fault.From(err).Code
			require.Contains(t, []fault.Code{fault.InvalidParams, fault.LimitExceeded}, code, "%v", err)
		}
		for _, row := range rows {
			require.Positive(t, row.Line)
		}
	})
}
