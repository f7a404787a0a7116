package savant_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/test/golden"
)

// recipe says which files one more of a kind takes, as those show that name an example of
// the kind.
type recipe struct {
	kind, example string
	// named matches what names the example in a file of Go.
	named string
	// files do so, with what each has of it.
	files [][2]string
}

// recipes are the kinds that Savant has many of.
var recipes = []recipe{
	{"tool", "`git.show`", `"git\.show"`, [][2]string{{"engines/git/git.go", "its row"}}},
	{"engine", "`git`", `git\.Engine\(`, [][2]string{{"cmd/savant/app/engines.go", "its line; also `engines/git`, and its row in `imports_test.go`"}}},
	{"setting", "`llm.think`", `&s\.Reasoning\.Think`, [][2]string{{"internal/settings/reasoning.go", "its row and its field"}}},
	{"model provider", "`anthropic`", `"anthropic"|anthropicRow`, [][2]string{
		{"internal/settings/reasoning.go", "its settings"},
		{"reasoning/models/anthropic.go", "its client"},
		{"reasoning/models/model.go", "its row"},
		{"telemetry/otel/spans.go", "its name"}}},
	{"client", "`cline`", `"cline"`, [][2]string{
		{"internal/clientsetup/table.go", "its files"},
		{"think/gate/clients/table.go", "its hooks"},
		{"think/gate/reading.go", "its tools that read"}}},
	{"step that Savant does", "`flow.set`", `\bCallSet\b`, [][2]string{
		{"hub/draw.go", "its looks"},
		{"think/check/check.go", "its result"},
		{"think/flow/advance.go", "its work"},
		{"think/flow/parse_steps.go", "its input"},
		{"think/flow/workflow.go", "its name"}}},
	{"step that a person answers", "`human.ask`", `\bCallAsk\b|"human\.ask"`, [][2]string{
		{"adopt/adopt.go", "its name, for drafts"},
		{"think/check/check.go", "its result"},
		{"think/check/names.go", "its inputs that are mistaken"},
		{"think/flow/parse_steps.go", "its input"},
		{"think/flow/workflow.go", "its name, and how a person answers"},
		{"think/gate/gate.go", "its name, for hooks"}}},
}

// TestTheRecipesNameEveryFile follows each recipe of docs/engines.md with an example: no
// file but those of the recipe names it.
func TestTheRecipesNameEveryFile(t *testing.T) {
	sources := map[string]string{}
	require.NoError(t, fs.WalkDir(os.DirFS("."), ".", func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(file) != ".go" || strings.HasSuffix(file, "_test.go") || strings.HasPrefix(file, "test/") {
			return err
		}
		text, err := os.ReadFile(file)
		sources[file] = string(text)
		return err
	}))
	var page strings.Builder
	page.WriteString("| one more | as shown by | files |\n| --- | --- | --- |\n")
	for _, each := range recipes {
		named := regexp.MustCompile(each.named)
		var found, expected, cells []string
		for file, text := range sources {
			if named.MatchString(text) {
				found = append(found, file)
			}
		}
		for _, file := range each.files {
			expected = append(expected, file[0])
			cells = append(cells, fmt.Sprintf("`%s`: %s", file[0], file[1]))
		}
		slices.Sort(found)
		require.Equal(t, expected, found, each.kind)
		fmt.Fprintf(&page, "| %s | %s | %s |\n", each.kind, each.example, strings.Join(cells, "; "))
	}
	golden.Section(t, *update, "docs/engines.md", "recipes", page.String())
}
