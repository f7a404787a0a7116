package program

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"savant"
	"savant/engines"
	"savant/test/golden"
	"savant/think/library"
)

// TestTheDocumentDescribesEveryTool writes the part of docs/tools.md about each tool from
// the registry, and checks that the examples are accepted: the arguments by the tool's
// schema, the step by the language.
func TestTheDocumentDescribesEveryTool(t *testing.T) {
	a := openApp(t, t.TempDir())
	workflows := library.New(library.Layer{Files: savant.Files})
	var page strings.Builder
	for _, tool := range a.Tools.Tools() {
		described, err := tool.Describe()
		require.NoError(t, err)
		_, err = a.Tools.InputDigest(tool.Name, described.Example)
		require.NoError(t, err, "%s: the example", tool.Name)
		first, _, _ := strings.Cut(tool.Description, ". ")
		fmt.Fprintf(&page, "### %s\n\n%s.\n\n", tool.Name, strings.TrimSuffix(first, "."))
		if len(described.Arguments) > 0 {
			writeArguments(&page, described.Arguments)
		}
		writeResult(&page, described.Result)
		step := engines.Step(tool.Name, described.Example)
		if step == "" {
			fmt.Fprintf(&page, "```json\n%s\n```\n\n", described.Example)
			continue
		}
		fmt.Fprintf(&page, "```yaml\n%s```\n\n", step)
		_, err = workflows.Parse("", []byte("name: example\nversion: \"1.0\"\nsteps:\n"+step))
		require.NoError(t, err, step)
	}
	golden.Section(t, *update, "../../docs/tools.md", "tools", page.String())
}

func writeArguments(page *strings.Builder, fields []engines.Field) {
	page.WriteString("| argument | is | means |\n| --- | --- | --- |\n")
	for _, each := range fields {
		meaning := each.Doc
		if each.Required {
			meaning = strings.TrimSuffix("required; "+meaning, "; ")
		}
		fmt.Fprintf(page, "| `%s` | %s | %s |\n", each.Name, each.Type, strings.ReplaceAll(meaning, "|", `\|`))
	}
	page.WriteString("\n")
}

// writeResult writes a row for each member of a result, with what is in it.
func writeResult(page *strings.Builder, fields []engines.Field) {
	if len(fields) == 0 {
		return
	}
	page.WriteString("| result | is | holds |\n| --- | --- | --- |\n")
	for i, each := range fields {
		if strings.Contains(each.Name, ".") {
			continue
		}
		var members []string
		for _, below := range fields[i+1:] {
			_, name, found := strings.Cut(below.Name, ".")
			if !found {
				break
			}
			members = append(members, "`"+name+"`")
		}
		meaning := strings.TrimSpace(each.Doc + " " + strings.Join(members, ", "))
		fmt.Fprintf(page, "| `%s` | %s | %s |\n", each.Name, each.Type, strings.ReplaceAll(meaning, "|", `\|`))
	}
	page.WriteString("\n")
}
