package program

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/reasoning"
	"savant/telemetry"
)

// TestEachModelCallOfARunIsInTheTrace: a run with a small and a large model leaves
// one event for each call, with the reason for the switch, and the lines of the
// runtime log.
func TestEachModelCallOfARunIsInTheTrace(t *testing.T) {
	t.Parallel()
	o := newOllama(t, map[string][]string{
		"small": {`{"action":"tool","tool_name":"git.log","args":{"limit":1},"reasoning":"look first"}`, "I do not know", "really not"},
		"large": {`{"action":"finish","final":"the answer"}`}})
	folder := t.TempDir()
	var stdout, stderr strings.Builder
	code := run(t.Context(), []string{"run", "What changed?"}, []string{"SAVANT_PATH=" + folder, "OLLAMA_HOST=" + o.URL, "SLM_MODEL=small", "LLM_MODEL=large"},
		strings.NewReader(""), &stdout, &stderr)
	require.Equal(t, exitOK, code, stderr.String())
	require.Equal(t, "the answer\n", stdout.String())
	require.Equal(t, []string{"small", "small", "small", "large"}, o.models())

	calls := ofType(traceOf(t, folder), telemetry.LLMCall)
	require.Len(t, calls, 4)
	for i, each := range calls {
		require.Equal(t, []string{"ollama:small", "ollama:small", "ollama:small", "ollama:large"}[i], each.Model)
		require.Equal(t, []int{1, 2, 2, 2}[i], each.Step)
		require.Equal(t, 100, each.PromptTokens)
		require.Equal(t, 10, each.OutputTokens)
		require.Positive(t, each.DurationMS)
		require.NotEmpty(t, each.RunID)
		require.Equal(t, "ollama", each.Metadata["provider"])
		require.Equal(t, "decide", each.Metadata["purpose"])
		require.Equal(t, false, each.Metadata["cache"])
		require.InDelta(t, []int{0, 0, 1, 2}[i], each.Metadata["retry"], 0)
	}
	require.Nil(t, calls[2].Metadata["switch"])
	require.Contains(t, calls[3].Metadata["switch"], "ollama:small", "the model that was asked before")
	require.Contains(t, stderr.String(), "2 llm_call(ollama:large)")

	for _, each := range ofType(traceOf(t, folder), telemetry.MemorySnapshot) {
		require.InDelta(t, each.Step, each.Metadata["steps"], 0, "a snapshot has the steps up to its own")
	}

	log := runtimeLog(t, folder)
	for _, line := range []string{`(?m)^Session started: "What changed\?", decided by .*, \d+ tools$`, `(?m)^1 build_prompt → \d+ tokens$`,
		`(?m)^1 llm_call\(ollama:small\) → [\d.]+m?s, 100\+10 tokens$`, `(?m)^1 parse_output → tool git\.log: look first \([\d.]+m?s\)$`,
		`(?m)^1 tool_call\(git\.log\) → [\d.]+m?s `, `(?m)^2 update_memory → 2 steps, \d+ bytes$`,
		`(?m)^2 llm_call\(ollama:large\) → [\d.]+m?s, 100\+10 tokens, retry 2, switched to it: ollama:small gave no usable answer$`,
		`(?m)^Session complete: 2 steps, 1 tool, 1 finish; 400\+40 tokens, `} {
		require.Regexp(t, line, log)
	}
	inOrder := []string{"1 build_prompt", "1 llm_call", "1 parse_output", "1 tool_call", "2 build_prompt", "2 parse_output", "Session complete"}
	for i := 1; i < len(inOrder); i++ {
		require.Less(t, strings.Index(log, inOrder[i-1]), strings.Index(log, inOrder[i]), inOrder[i])
	}
}

// TestADrivenRunLeavesItsModelCalls: the events of a workflow that is run without a
// client name its run, workflow and step, and say what a model was shown.
func TestADrivenRunLeavesItsModelCalls(t *testing.T) {
	t.Parallel()
	o := newOllama(t, map[string][]string{"small": {`{"action":"finish","final":"{\"text\":\"Hello!\"}"}`}})
	folder := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(folder, "workflows"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "workflows", "look.yaml"), []byte(`name: look
version: "1.0"
description: Looks and says.
steps:
  - {id: tell, call: llm.generate, input_template: {task: "Say hello."}, capture_as: said}
  - {id: find, call: context.list, capture_as: found}
`), 0o600))
	var stdout, stderr strings.Builder
	run(t.Context(), []string{"workflows", "run", "look", "--name", "l1"}, []string{"SAVANT_PATH=" + folder, "OLLAMA_HOST=" + o.URL, "SLM_MODEL=small"},
		strings.NewReader(""), &stdout, &stderr)
	require.Contains(t, stderr.String(), `writing tell: {"action":"finish","final":"{\"text\":\"Hello!\"}"}`+"\n"+`done    tell llm.generate`)
	require.True(t, o.asked[0].Stream, "what a model writes is shown as it comes")
	events := traceOf(t, folder)
	kinds := map[telemetry.Type]int{}
	for _, each := range events {
		require.Equal(t, "l1", each.RunID, "%+v", each)
		require.Equal(t, "look", each.Workflow)
		require.NotEmpty(t, each.StepID)
		kinds[each.Type]++
		if each.Type == telemetry.LLMCall {
			require.Equal(t, "answer", each.Metadata["purpose"])
			require.Equal(t, "tell", each.StepID)
		}
	}
	require.Positive(t, kinds[telemetry.LLMCall], stderr.String())
	require.Positive(t, kinds[telemetry.PromptSnapshot])
	require.Positive(t, kinds[telemetry.ToolCallCompleted])
	stdout.Reset()
	require.Equal(t, exitOK, run(t.Context(), []string{"runs", "trace", "l1"}, []string{"SAVANT_PATH=" + folder}, strings.NewReader(""), &stdout, &stderr))
	require.Contains(t, stdout.String(), "look/tell llm_call(ollama:small) → ")
	require.Regexp(t, `(?m)^look/tell llm_call\(ollama:small\) → `, runtimeLog(t, folder))
	stderr.Reset()
	run(t.Context(), []string{"run", "Follow the workflow look", "--workflow", "look"}, []string{"SAVANT_PATH=" + folder, "OLLAMA_HOST=" + o.URL, "SLM_MODEL=small"},
		strings.NewReader(""), &stdout, &stderr)
	require.Regexp(t, `(?m)^\{"action":"finish","final":"\{\\"text\\":\\"Hello!\\"\}"\}$`, stderr.String())
}

// TestAnOutsideServiceLeavesPromptAndCall: who decides outside of the program is
// in the trace like a model, and what it was shown, with the same hash for the
// same question.
func TestAnOutsideServiceLeavesPromptAndCall(t *testing.T) {
	t.Parallel()
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(reasoning.Intent{Action: reasoning.ActionFinish, Final: "so", Model: "house:model", PromptTokens: 5, OutputTokens: 2})
	}))
	defer api.Close()
	hashes := map[any]bool{}
	folder := t.TempDir()
	for range 2 {
		var stdout, stderr strings.Builder
		code := run(t.Context(), []string{"run", "--skip-git", "What now?"}, []string{"SAVANT_PATH=" + folder, "REASONING_API_URL=" + api.URL},
			strings.NewReader(""), &stdout, &stderr)
		require.Equal(t, exitOK, code, stderr.String())
	}
	events := traceOf(t, folder)
	for _, each := range ofType(events, telemetry.PromptSnapshot) {
		hashes[each.Metadata["hash"]] = true
		require.Positive(t, each.PromptTokens)
		require.NotEmpty(t, each.Metadata["sections"])
	}
	require.Len(t, hashes, 1)
	calls := ofType(events, telemetry.LLMCall)
	require.Len(t, calls, 2)
	require.Equal(t, "house:model", calls[0].Model)
	require.Equal(t, "reasoning_api", calls[0].Metadata["provider"])
	require.Equal(t, 5, calls[0].PromptTokens)
}
