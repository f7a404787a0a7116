package program

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/agent"
	"savant/telemetry"
)

// modelAnswers are what the model of TestAPromptLeavesItsSizes says.
var modelAnswers = []string{
	`{"action":"tool","tool_name":"test.read","args":{"text":"a"},"reasoning":"look first"}`,
	`{"action":"finish","final":"the answer"}`,
}

// TestAPromptLeavesItsSizes asks a model through the built-in service: what it was
// shown is in the trace, by its hash and the sizes of its sections, and the
// same questions give the same bytes.
func TestAPromptLeavesItsSizes(t *testing.T) {
	t.Parallel()
	asked := 0
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		answer, err := json.Marshal(modelAnswers[asked%len(modelAnswers)])
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		asked++
		fmt.Fprintf(w, `{"choices":[{"message":{"content":%s}}],"usage":{"prompt_tokens":7,"completion_tokens":3}}`, answer)
	}))
	defer model.Close()
	s := setStage(t, "../../agent/testdata/scenarios/finish.txtar")
	s.environment = append(s.environment, "REASONING_API_URL=", "SLM_MODEL=openai:small", "OPENAI_BASE_URL="+model.URL)
	var first []byte
	for range 2 {
		got := byCommand(t, s)
		require.Equal(t, agent.StatusOK, got.report.Status)
		require.Equal(t, "the answer", got.report.Final)
		var shown []any
		for _, each := range got.events {
			if each.Type == telemetry.PromptSnapshot {
				shown = append(shown, map[string]any{"step": each.Step, "model": each.Model, "prompt": each.Metadata})
			}
		}
		require.Len(t, shown, len(modelAnswers))
		text, err := json.MarshalIndent(shown, "", "  ")
		require.NoError(t, err)
		if first == nil {
			first = text
		}
		require.Equal(t, string(first), string(text), "the same questions give the same bytes")
	}
	golden := filepath.Join("testdata", "prompt_snapshot.json")
	if *update {
		require.NoError(t, os.WriteFile(golden, append(first, '\n'), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), string(first)+"\n", "run go test ./test/program -run Prompt -update if this is meant")
}

// TestOutputsHaveTheirShapes: --output json is one report; stream-json is a line
// for each event, the first run_started and the last run_finished, and then
// {"type":"report","report":{…}} with the same report.
func TestOutputsHaveTheirShapes(t *testing.T) {
	t.Parallel()
	s := setStage(t, "../../agent/testdata/scenarios/tool_then_finish.txtar")
	got := byCommand(t, s)
	require.Equal(t, telemetry.RunStarted, got.events[0].Type)
	require.Equal(t, telemetry.RunFinished, got.events[len(got.events)-1].Type)
	for i, each := range got.events {
		require.Equal(t, got.report.RunID, each.RunID)
		require.Equal(t, uint64(i+1), each.Sequence, "no event is left out")
	}
	command := exec.Command("savant-in-scenario", "run", "--resume", got.report.RunID, "--quiet", "--output", "json")
	command.Env = s.environment
	out, err := command.Output()
	require.NoError(t, err)
	var again agent.Report
	require.NoError(t, json.Unmarshal(out, &again))
	require.Equal(t, got.report.Final, again.Final)
	require.Equal(t, got.report.Steps, again.Steps)
	require.Len(t, again.Transcript, len(got.report.Transcript))
}
