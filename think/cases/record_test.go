package cases_test

import (
	"maps"
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"savant"
	"savant/fault"
	"savant/think/cases"
	"savant/think/library"
)

// The cases of the bundled workflows hold, and reach all that is not excused.
func TestBundledWorkflows(t *testing.T) {
	bundled := library.New(library.Layer{Files: savant.Files})
	files := library.CasesFiles(savant.Files)
	require.NotEmpty(t, files)
	for _, name := range files {
		t.Run(path.Base(name), func(t *testing.T) {
			graph, err := bundled.Graph(library.CasesOf(name))
			require.NoError(t, err)
			src, err := savant.Files.ReadFile(name)
			require.NoError(t, err)
			file, err := cases.Parse(name, src)
			require.NoError(t, err)
			require.NoError(t, cases.Check(file, graph))
			reached := cases.Points{}
			for _, c := range file.Cases {
				result := cases.Run(file, c, graph)
				require.Empty(t, result.Differences, c.Name)
				maps.Copy(reached, result.Reached)
			}
			require.Empty(t, cases.Cover(graph, reached, file.Excuses).Missing)
		})
	}
}

// A recorded case holds, whatever its values look like, and is added where the file's list
// of cases ends.
func TestRecord(t *testing.T) {
	graph := graphOf(t, map[string]string{"main": release})
	odd := map[string]any{"yes": "no", "a: b": "{{ x }}", "#": "# c", "": []any{"/x/", nil, 1.5, true, "01"}, "ключ": "\u2028\n\t\"'\\", "value": map[string]any{"value": "on"},
		"\x7f": "\u0085 \u009b \ufeff \ufffe \U0001f600 \U0001fffe"}
	answers := []cases.Recorded{{Step: "status", Result: map[string]any{"clean": true, "odd": odd}}, {Step: "tests", Result: []any{"a"}},
		{Step: "approve", Result: map[string]any{"approved": true}}, {Step: "tag", Result: map[string]any{"attempts": []any{}, "long": strings.Repeat("y: #", 200), "odd": odd}}}
	made, err := cases.Record(new(cases.File), "null", map[string]any{"version": "1.10"}, answers, graph)
	require.NoError(t, err)
	for name, text := range map[string]string{
		"empty":       "",
		"behind":      "workflow: main\ncases:\n- name: a\n  expect: {outcome: done}",
		"indented":    "# why\nworkflow: main\ncases:\n    - name: a\n      expect: {outcome: done} # so\n\n",
		"a wide dash": "workflow: main\ncases:\n      -   name: a\n          expect: {outcome: done}\n",
		"a lone dash": "workflow: main\ncases:\n   -\n     name: a\n     expect: {outcome: done}\n",
		"none":        "workflow: main\ncases: [] # none yet\ncoverage: {ignore: []} # none\n",
		"none first":  "cases:\n  []\nworkflow: main",
		"windows":     "\ufeffworkflow: main\r\ncases:\r\n  - name: a # so\r\n    expect: {outcome: done}\r\n",
		"before":      "cases:\n  - name: a\n    expect: {outcome: done}\ncoverage:\n  ignore: []\nworkflow: main\n",
	} {
		added, err := cases.Append("main.cases.yaml", []byte(text), "main", made)
		require.NoError(t, err, name)
		file, err := cases.Parse("main.cases.yaml", added)
		require.NoError(t, err, name)
		require.NoError(t, cases.Check(file, graph), name)
		last := file.Cases[len(file.Cases)-1]
		require.Equal(t, "null", last.Name)
		require.Empty(t, cases.Run(file, last, graph).Differences, string(added))
		require.Equal(t, strings.Count(string(added), "\n")*strings.Count(text, "\r")/max(1, strings.Count(text, "\n")), strings.Count(string(added), "\r\n"), "lines end as before")
		require.Equal(t, strings.Count(text, "#"), strings.Count(strings.ReplaceAll(text, "\n", ""), "#"), "comments stay")
	}
	_, err = cases.Record(new(cases.File), "short", nil, answers[:1], graph)
	require.ErrorIs(t, err, fault.StateConflict)
	_, err = cases.Append("main.cases.yaml", []byte("{workflow: main, cases: []}"), "main", made)
	require.ErrorContains(t, err, "cannot be added")
	_, err = cases.Append("main.cases.yaml", []byte("workflow: other\ncases: []"), "main", made)
	require.ErrorContains(t, err, `tests the workflow "other"`)
	_, err = cases.Append("main.cases.yaml", []byte("workflow: main\ncases:\n- {name: 'null', expect: {outcome: done}}"), "main", made)
	require.ErrorContains(t, err, "choose another name")
}
