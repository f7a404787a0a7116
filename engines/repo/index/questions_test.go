package index_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/engines/repo/index"
)

// questions are questions about a public module, each with the file that answers it.
type questions struct {
	Module, Version string
	Questions       []struct{ Question, Path string }
}

// TestQuestionsFindTheirFile checks that the right file is among the first five for at
// least 25 of the 30 questions that the ranking was tuned with, and for nearly all
// questions about another module, which were written afterwards.
func TestQuestionsFindTheirFile(t *testing.T) {
	if testing.Short() {
		t.Skip("one call after the other: the race detector finds nothing in it, and slows it tenfold")
	}
	for file, bar := range map[string]int{"questions.json": 25, "questions_unseen.json": 13} {
		t.Run(file, func(t *testing.T) {
			data, err := os.ReadFile("testdata/" + file)
			require.NoError(t, err)
			var asked questions
			require.NoError(t, json.Unmarshal(data, &asked))
			good := answered(t, asked)
			t.Logf("%d of %d in the first five", good, len(asked.Questions))
			require.GreaterOrEqual(t, good, bar)
		})
	}
}

// answered counts the questions whose file is among the first five.
func answered(t *testing.T, asked questions) (good int) {
	folder, err := exec.Command("go", "list", "-m", "-f", "{{.Version}} {{.Dir}}", asked.Module).Output()
	require.NoError(t, err, "the module is in this project's go.mod")
	version, path, _ := strings.Cut(strings.TrimSpace(string(folder)), " ")
	require.Equal(t, asked.Version, version, "the questions are about another version")
	ix := open(t, path, t.TempDir())
	for _, each := range asked.Questions {
		rows := search(t, ix, index.Query{Text: each.Question, Limit: 5})
		if slices.ContainsFunc(rows, func(row index.Row) bool { return row.Path == each.Path }) {
			good++
			continue
		}
		t.Logf("%s\n\twanted %s, found %v", each.Question, each.Path, paths(rows))
	}
	return good
}
