package savant_test

import (
	"flag"
	"fmt"
	"go/doc"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/test/golden"
)

var update = flag.Bool("update", false, "write docs/architecture.md anew")

// TestTheArchitectureListsEveryPackage writes the table of docs/architecture.md: each
// package of the rules of imports, with the first sentence of its comment.
func TestTheArchitectureListsEveryPackage(t *testing.T) {
	var page strings.Builder
	page.WriteString("| package | does |\n| --- | --- |\n")
	for _, folder := range slices.Sorted(maps.Keys(rules)) {
		if folder == "." {
			continue
		}
		synopsis := synopsisOf(t, folder)
		require.NotEmpty(t, synopsis, "%s has no comment", folder)
		_, said, _ := strings.Cut(synopsis, " ") // Package or Command
		_, said, _ = strings.Cut(said, " ")      // its name
		fmt.Fprintf(&page, "| `%s` | %s |\n", folder, strings.ReplaceAll(strings.TrimSuffix(said, "."), "|", `\|`))
	}
	golden.Section(t, *update, "docs/architecture.md", "packages", page.String())
}

// synopsisOf is the first sentence of a package's comment, of a test file if no other has
// one.
func synopsisOf(t *testing.T, folder string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	require.NoError(t, err)
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments|parser.PackageClauseOnly)
		require.NoError(t, err)
		if parsed.Doc != nil {
			return new(doc.Package).Synopsis(parsed.Doc.Text())
		}
	}
	return ""
}
