package savant_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/internal/redact"
)

// TestTroubleshootingHasARowForEveryCode checks that docs/troubleshooting.md has exactly
// one row for each code of package fault, and none for others.
func TestTroubleshootingHasARowForEveryCode(t *testing.T) {
	source, err := os.ReadFile("fault/fault.go")
	require.NoError(t, err)
	page, err := os.ReadFile("docs/troubleshooting.md")
	require.NoError(t, err)
	codes, rows := map[string]int{}, map[string]int{}
	for _, each := range regexp.MustCompile(`(?m)^\t\w+ +Code = "([A-Z_]+)"$`).FindAllStringSubmatch(string(source), -1) {
		codes[each[1]]++
	}
	for _, each := range regexp.MustCompile(`(?m)^\| ([A-Z]+[A-Z_]*) \|.+\|.+\|$`).FindAllStringSubmatch(string(page), -1) {
		rows[each[1]]++
	}
	require.Greater(t, len(codes), 40)
	require.Equal(t, codes, rows)
}

// TestOwnWordsAreNoSecrets: what Savant itself says reads as it is written in a log, which
// is redacted. A colon after the word for a secret makes one of the next word.
func TestOwnWordsAreNoSecrets(t *testing.T) {
	shapes, seen := redact.Shapes(), 0
	require.NoError(t, fs.WalkDir(os.DirFS("."), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") || strings.Contains(name, "testdata/") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		ast.Inspect(file, func(node ast.Node) bool {
			if text, is := node.(*ast.BasicLit); is && text.Kind == token.STRING {
				said, err := strconv.Unquote(text.Value)
				require.NoError(t, err)
				require.Equal(t, said, shapes.Text(said), name)
				seen++
			}
			return true
		})
		return nil
	}))
	require.Greater(t, seen, 10000)
}
