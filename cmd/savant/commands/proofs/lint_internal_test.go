package proofs

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/agent"
	"savant/agent/memory"
	"savant/fault"
	"savant/proof"
)

// TestAnAnswerIsLookedForInItsRun judges the answer of a run of the agent by its calls.
func TestAnAnswerIsLookedForInItsRun(t *testing.T) {
	tests := func(status string, err *fault.Error) memory.Step {
		return memory.Step{Index: 1, Calls: []memory.Call{{Tool: "ci.run_tests", Output: json.RawMessage(`{"status": "` + status + `"}`), Error: err}}}
	}
	edit := memory.Step{Index: 2, Calls: []memory.Call{{Tool: "fs_write_file", Args: json.RawMessage(`{"path": "a"}`)}}}
	answer := memory.Step{Index: 3, Final: "All tests pass."}
	for want, steps := range map[proof.Verdict][][]memory.Step{
		proof.Witnessed:   {{tests("passed", nil), answer}, {edit, tests("passed", nil), answer}},
		proof.Outdated:    {{tests("passed", nil), edit, answer}},
		proof.Unwitnessed: {{answer}, {edit, answer}, {tests("failed", nil), answer}, {tests("", fault.New(fault.ToolDenied, "no")), answer}},
	} {
		for _, each := range steps {
			found := proof.Lint(eventsOf(agent.Report{Transcript: each}))
			require.Len(t, found, 1)
			require.Equal(t, want, found[0].Verdict, each)
			require.Equal(t, 3, found[0].Line)
		}
	}
}
