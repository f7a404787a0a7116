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

// questions are what a person might ask about a public module, each with the
// file that answers.
type questions struct {
	Module, Version string
	Questions       []struct{ Question, Path string }
}

// TestQuestionsFindTheirFile: the right file is in the first five for at least
// 25 of 30 questions.
func TestQuestionsFindTheirFile(t *testing.T) {
	data, err := os.ReadFile("testdata/questions.json")
	require.NoError(t, err)
	var asked questions
	require.NoError(t, json.Unmarshal(data, &asked))
	require.Len(t, asked.Questions, 30)
	folder, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", asked.Module+"@"+asked.Version).Output()
	require.NoError(t, err, "the module is in this project's go.mod")
	ix := open(t, strings.TrimSpace(string(folder)), t.TempDir())
	refresh(t, ix)
	good := 0
	for _, each := range asked.Questions {
		rows, err := ix.Search(t.Context(), index.Query{Text: each.Question, Limit: 5})
		require.NoError(t, err)
		if slices.ContainsFunc(rows, func(row index.Row) bool { return row.Path == each.Path }) {
			good++
			continue
		}
		t.Logf("%s\n\twanted %s, found %v", each.Question, each.Path, paths(rows))
	}
	t.Logf("%d of %d in the first five", good, len(asked.Questions))
	require.GreaterOrEqual(t, good, 25)
}
