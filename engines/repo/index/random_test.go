package index_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"savant/engines/repo/index"
	"savant/fault"
)

// TestAnyHistoryAnswersAsAFreshIndex: after any writes, removals and renames
// an index that lived through them answers as one built afterwards, whether it
// looks at every file or hears from the kernel.
func TestAnyHistoryAnswersAsAFreshIndex(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		folder := must(os.MkdirTemp("", "index"))
		defer os.RemoveAll(folder)
		old := opened(t, folder, filepath.Join(folder, ".savant", "old"))
		defer old.Close()
		watched := rapid.Bool().Draw(t, "watched")
		if !watched {
			index.Unwatch(old)
		}
		name := rapid.SampledFrom([]string{"a.go", "b.md", "sub/c.py", "sub/deep/alpha.txt", "d_test.go", ".gitignore"})
		folders := rapid.SampledFrom([]string{"sub", "sub/deep", "other"})
		content := rapid.SampledFrom([]string{"", "alpha beta\n", "beta alphaBeta\n", "func alpha() {}\n", "gamma\nalpha\ngamma\n", "\x00", "*.md\n"})
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			path := filepath.Join(folder, name.Draw(t, "name"))
			switch rapid.SampledFrom([]string{"write", "write", "remove", "rename", "rename folder", "refresh", "refresh"}).Draw(t, "step") {
			case "write":
				require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
				require.NoError(t, os.WriteFile(path, []byte(content.Draw(t, "content")), 0o644))
			case "remove":
				_ = os.Remove(path) // it may not be there
			case "rename":
				to := filepath.Join(folder, name.Draw(t, "to"))
				require.NoError(t, os.MkdirAll(filepath.Dir(to), 0o755))
				_ = os.Rename(path, to) // it may not be there
			case "rename folder":
				_ = os.Rename(filepath.Join(folder, folders.Draw(t, "folder")), filepath.Join(folder, folders.Draw(t, "new"))) // as above
			case "refresh":
				_, err := old.Refresh(context.Background(), nil)
				require.NoError(t, err)
				if watched {
					index.Trust(old)
				}
			}
		}
		fresh := opened(t, folder, filepath.Join(folder, ".savant", "fresh"))
		defer fresh.Close()
		for _, query := range []index.Query{words("alpha"), words("where is alpha beta?"), expression("alpha NOT gamma"), expression(`"alpha beta"`), words("gam*")} {
			require.Equal(t, answer(t, fresh, query), answer(t, old, query), query.Text)
		}
	})
}

func opened(t require.TestingT, folder, cache string) *index.Index {
	ix, err := index.Open(context.Background(), index.Options{Folder: folder, CacheFolder: cache})
	require.NoError(t, err)
	return ix
}

func answer(t require.TestingT, ix *index.Index, query index.Query) []index.Row {
	_, err := ix.Refresh(context.Background(), nil)
	require.NoError(t, err)
	rows, err := ix.Search(context.Background(), query)
	require.NoError(t, err)
	return rows
}

func must(folder string, err error) string {
	if err != nil {
		panic(err)
	}
	return folder
}

// FuzzQuery: whatever is asked is answered or refused with a code.
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
		rows, err := ix.Search(context.Background(), index.Query{Text: text, Literal: literal})
		if err != nil {
			code := fault.From(err).Code
			require.Contains(t, []fault.Code{fault.InvalidParams, fault.LimitExceeded}, code, "%v", err)
		}
		for _, row := range rows {
			require.Positive(t, row.Line)
		}
	})
}
