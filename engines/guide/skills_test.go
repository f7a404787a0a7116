package guide_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"

	"savant/engines/guide"
	"savant/think/library"
)

// Each valid workflow is a skill, whose file says the same as its entry.
func TestSkillsSayWhenToUseAWorkflow(t *testing.T) {
	files := fstest.MapFS{}
	for name, about := range map[string]string{"fix_pr": "Fix: a \"pull\" request #1\n  <b>now</b>", "fix-pr": "", "z__z": strings.Repeat("long ", 600), "true": "~", "a" + strings.Repeat("b", 63): "x."} {
		said, err := yaml.Marshal(map[string]any{"name": name, "version": "1", "description": about, "params": map[string]any{"pr": map[string]any{"type": "integer", "required": true, "description": "Its number"}},
			"steps": []any{map[string]any{"id": "a", "call": "llm.generate", "input_template": map[string]any{"task": "SECRET STEP"}}}})
		require.NoError(t, err)
		files["workflows/"+name+".yml"] = &fstest.MapFile{Data: said}
	}
	files["workflows/broken.yml"] = &fstest.MapFile{Data: []byte("name: broken")}
	skills, err := guide.Skills(library.New(library.Layer{Files: files}))
	require.NoError(t, err)
	names := map[string]string{}
	for _, each := range skills {
		require.Regexp(t, `^[a-z0-9]+(-[a-z0-9]+)*$`, each.Name)
		require.LessOrEqual(t, len(each.Name), 64)
		front, body, found := strings.Cut(strings.TrimPrefix(each.Text, "---\n"), "\n---\n")
		require.True(t, found)
		var read map[string]any
		require.NoError(t, yaml.Unmarshal([]byte(front), &read))
		require.Equal(t, each.Frontmatter, read)
		about, _ := read["description"].(string)
		require.LessOrEqual(t, len([]rune(about)), 1024)
		require.NotContains(t, about, "<")
		require.Contains(t, body, "think.plan")
		require.Contains(t, body, "- pr (required): Its number")
		require.NotContains(t, each.Text, "SECRET STEP", "the steps are Savant's to issue")
		metadata, _ := read["metadata"].(map[string]any)
		workflow, _ := metadata[guide.SkillMark].(string)
		names[workflow] = each.Name
	}
	require.Equal(t, map[string]string{"fix-pr": "savant-fix-pr-93b2c667083e", "fix_pr": "savant-fix-pr-da5955547d27", "z__z": "savant-z-z", "true": "savant-true",
		"a" + strings.Repeat("b", 63): "savant-a" + strings.Repeat("b", 56)}, names)
}

// A name of a skill does not come to mean another workflow when others come beside its own.
func TestANameOfASkillKeepsItsMeaning(t *testing.T) {
	long := "a" + strings.Repeat("b", 62)
	meant := map[string]string{}
	for _, folder := range [][]string{{"fix_pr"}, {"fix-pr", "fix_pr"}, {"fix_pr", "fix__pr", "fix-pr"}, {"fix_pr_da5955547d27", "fix_pr"}, {long, long + "c"}, {long + "c", long + "d", long}, {"fix_pr"}} {
		files := fstest.MapFS{}
		for _, name := range folder {
			files["workflows/"+name+".yaml"] = &fstest.MapFile{Data: []byte("name: " + name + "\nversion: \"1\"\nsteps: [{id: a, call: llm.generate, input_template: {task: x}}]\n")}
		}
		skills, err := guide.Skills(library.New(library.Layer{Files: files}))
		require.NoError(t, err)
		require.Len(t, skills, len(folder))
		for _, each := range skills {
			metadata, _ := each.Frontmatter["metadata"].(map[string]any)
			workflow, _ := metadata[guide.SkillMark].(string)
			known, there := meant[each.Name]
			require.True(t, !there || known == workflow, "%s means %s and %s", each.Name, known, workflow)
			require.LessOrEqual(t, len(each.Name), 64)
			meant[each.Name] = workflow
		}
	}
}
