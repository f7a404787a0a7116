package program

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// branching has what a build could get wrong: maps, loops, conditions, numbers,
// failures and steps that run side by side.
const branching = `name: branching
version: "1.0"
params:
  names: {type: array, items: {type: string}}
  rates: {type: object}
limits: {parallel: 3}
steps:
  - {id: each, call: llm.generate, foreach: params.names, as: name, input_template: {task: "Greet {{ name }}", rates: "{{ params.rates }}"}, capture_as: greetings}
  - {id: count, call: llm.generate, input_template: {task: "Count"}, success_schema: {type: integer}, on_failure: continue, capture_as: count}
  - {id: large, call: llm.generate, when: "(state.count ?? 0) > 2", input_template: {task: "{{ state.greetings }}"}, capture_as: large}
  - {id: small, call: llm.generate, when: "(state.count ?? 0) <= 2", input_template: {task: "{{ params.rates.a + 0.1 }}"}, capture_as: small}
outputs:
  all: "{{ state.greetings }}"
  count: "{{ state.count }}"
`

// TestTwoBuildsAgree: the same answers get the same replies from two builds of
// the program, and what one recorded the other verifies.
func TestTwoBuildsAgree(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("builds the program")
	}
	other := filepath.Join(t.TempDir(), "savant")
	out, err := exec.Command("go", "build", "-ldflags", "-s -w -X main.version=other", "-o", other, "../../cmd/savant").CombinedOutput()
	require.NoError(t, err, string(out))

	first, second := branchingFolder(t), branchingFolder(t)
	require.Equal(t, driveBranching(t, exec.Command("savant", "mcp"), first), driveBranching(t, exec.Command(other, "mcp"), second))
	verify := func(program, folder string) {
		command := exec.Command(program, "verify", "r")
		command.Env = append(os.Environ(), "SAVANT_PATH="+folder)
		out, err := command.CombinedOutput()
		require.NoError(t, err, string(out))
	}
	verify(other, first)
	verify("savant", second)
}

func branchingFolder(t *testing.T) string {
	folder := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(folder, "workflows"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "workflows", "branching.yaml"), []byte(branching), 0o644))
	return folder
}

// driveBranching takes a run to its end and returns every reply as it came.
func driveBranching(t *testing.T, command *exec.Cmd, folder string) []string {
	s := startServer(t, command, folder)
	rates := map[string]any{}
	for i := range 20 {
		rates[fmt.Sprintf("r%d", i)] = float64(i) / 3
	}
	rates["a"] = 0.2
	s.send(t, 1, "think.plan", map[string]any{"workflow": "branching", "run_id": "r",
		"params": map[string]any{"names": []string{"ä", "b", "c\u2028", "d"}, "rates": rates}})
	var replies []string
	for {
		require.True(t, s.lines.Scan(), "the server has ended")
		line := s.lines.Text()
		replies = append(replies, line)
		var got answer
		require.NoError(t, json.Unmarshal([]byte(line), &got))
		require.Less(t, len(replies), 30)
		if got.Result.StructuredContent.Done {
			break
		}
		step := stepOf(t, line)
		result := any("said by " + step)
		if step == "count" && !strings.Contains(line, `"attempt":2`) {
			result = 3
		}
		s.send(t, len(replies)+1, "think.next", map[string]any{"run_id": "r", "step_id": step, "result_snapshot": result})
	}
	require.NoError(t, s.stdin.Close())
	require.NoError(t, s.wait(t))
	return replies
}

// stepOf returns a step that waits after a reply: the first it hands out, else
// the first that was issued before.
func stepOf(t *testing.T, line string) string {
	type instruction struct {
		StepID string `json:"step_id"`
	}
	var got struct {
		Result struct {
			StructuredContent struct {
				Instruction  *instruction
				Instructions []instruction
				Outstanding  []string
			}
		}
	}
	require.NoError(t, json.Unmarshal([]byte(line), &got))
	reply := got.Result.StructuredContent
	switch {
	case reply.Instruction != nil:
		return reply.Instruction.StepID
	case len(reply.Instructions) > 0:
		return reply.Instructions[0].StepID
	}
	require.NotEmpty(t, reply.Outstanding, line)
	return reply.Outstanding[0]
}
