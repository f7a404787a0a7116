package program

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/agent"
	"savant/engines/workflow"
)

const twoQuestions = `name: look
version: "1.0"
description: Looks and says.
steps:
  - {id: small, call: llm.generate, input_template: {task: Say hello.}, capture_as: first}
  - {id: weighed, call: llm.generate, complex: true, input_template: {task: Say more.}, deps: [small], capture_as: second}
outputs: {text: "{{ state.first }} {{ state.second }}"}
`

// What models took is summed over a workflow, however it was begun, and a step that is
// flagged complex goes to the large model.
func TestWhatAWorkflowTook(t *testing.T) {
	t.Parallel()
	o := newOllama(t, map[string][]string{"small": {"Hello", "Hello", "Hello"}, "large": {"and more", "and more", "and more"}})
	folder := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(folder, "workflows"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "workflows", "look.yaml"), []byte(twoQuestions), 0o600))
	environment := []string{"SAVANT_PATH=" + folder, "OLLAMA_HOST=" + o.URL, "SLM_MODEL=small", "LLM_MODEL=large",
		`LLM_PRICES={"small": {"input": 10, "output": 0}, "large": {"input": 1000, "output": 20000}}`}
	savant := func(args ...string) (stdout, stderr string) {
		var out, errors strings.Builder
		require.Equal(t, exitOK, run(t.Context(), args, environment, strings.NewReader(""), &out, &errors), errors.String())
		return out.String(), errors.String()
	}
	const cost = 100*10e-6 + 100*1000e-6 + 10*20000e-6
	stdout, stderr := savant("workflows", "run", "look")
	require.Contains(t, stdout, "Hello and more")
	require.Contains(t, stderr, "tokens 200+20, cost 0.30")
	stdout, _ = savant("workflows", "run", "look", "--json")
	var outcome workflow.Outcome
	require.NoError(t, json.Unmarshal([]byte(stdout), &outcome))
	require.Equal(t, [2]int{200, 20}, [2]int{outcome.PromptTokens, outcome.OutputTokens})
	require.InDelta(t, cost, *outcome.Cost, 1e-9)
	stdout, _ = savant("run", "--skip-git", "--output", "json", "--workflow", "look", "look")
	var report agent.Report
	require.NoError(t, json.Unmarshal([]byte(stdout), &report))
	require.Equal(t, [2]int{200, 20}, [2]int{report.PromptTokens, report.OutputTokens})
	require.InDelta(t, cost, *report.Cost, 1e-9)
	stdout, _ = savant("runs", "show", report.RunID)
	require.Contains(t, stdout, "\ntokens  200+20\ncost    0.30\n")
	require.Equal(t, []string{"small", "large", "small", "large", "small", "large"}, o.models())
}

// What models took before a run was continued counts, with the answers that were refused.
func TestWhatAContinuedWorkflowTook(t *testing.T) {
	t.Parallel()
	const asks = "name: look\nversion: \"1.0\"\nsteps:\n" +
		"  - {id: small, call: llm.generate, input_template: {task: Say hello.}, extract: \"result.text\", success_schema: {type: string}, capture_as: first}\n" +
		"  - {id: person, call: elsewhere.look, deps: [small]}\n" +
		"  - {id: weighed, call: llm.generate, input_template: {task: Say more.}, deps: [person], capture_as: second}\n"
	o := newOllama(t, map[string][]string{"small": {`{"other": 1}`, `{"text": "Hello"}`, "and more"}})
	folder := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(folder, "workflows"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "workflows", "look.yaml"), []byte(asks), 0o600))
	environment := []string{"SAVANT_PATH=" + folder, "OLLAMA_HOST=" + o.URL, "SLM_MODEL=small", `LLM_PRICES={"small": {"input": 1000, "output": 0}}`}
	savant := func(code int, args ...string) (stdout, stderr string) {
		var out, errors strings.Builder
		require.Equal(t, code, run(t.Context(), args, environment, strings.NewReader(""), &out, &errors), errors.String())
		return out.String(), errors.String()
	}
	_, stderr := savant(8, "workflows", "run", "look", "--name", "r1")
	require.Contains(t, stderr, "tokens 200+20, cost 0.20")
	_, stderr = savant(exitOK, "workflows", "answer", "r1", "person", "--result", `{"answer": "yes"}`)
	require.NotContains(t, stderr, "tokens")
	_, stderr = savant(exitOK, "workflows", "run", "look", "--run-id", "r1")
	require.Contains(t, stderr, "tokens 300+30, cost 0.30")
	stdout, _ := savant(exitOK, "verify", "r1")
	require.Contains(t, stdout, "r1")
	_, stderr = savant(exitOK, "workflows", "run", "look", "--run-id", "r1")
	require.Contains(t, stderr, "tokens 300+30", "it is not counted twice")

	// So it is in a run of the agent that begins with the workflow.
	o.answers["small"] = []string{`{"text": "Hello"}`, "and more"}
	stdout, _ = savant(8, "run", "--skip-git", "--output", "json", "--workflow", "look", "look")
	var report agent.Report
	require.NoError(t, json.Unmarshal([]byte(stdout), &report))
	require.Equal(t, [2]int{100, 10}, [2]int{report.PromptTokens, report.OutputTokens})
	stdout, _ = savant(8, "run", "--output", "json", "--resume", report.RunID)
	require.NoError(t, json.Unmarshal([]byte(stdout), &report))
	require.Equal(t, [2]int{100, 10}, [2]int{report.PromptTokens, report.OutputTokens}, "from its records, and once")
}

// Every question of a workflow that a rule flagged complex names goes to the large model.
func TestAComplexRuleAsksTheLargeModel(t *testing.T) {
	t.Parallel()
	o := newOllama(t, map[string][]string{"small": {"Hello", "Hello"}, "large": {"Hello", "and more"}})
	folder := t.TempDir()
	for name, text := range map[string]string{"workflows/look.yaml": twoQuestions,
		"prompts.yml": "amr_rules:\n  - {name: looks, phrases: [look at it], workflow: look, complex: true}\n"} {
		require.NoError(t, os.MkdirAll(filepath.Join(folder, filepath.Dir(name)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
	environment := []string{"SAVANT_PATH=" + folder, "OLLAMA_HOST=" + o.URL, "SLM_MODEL=small", "LLM_MODEL=large", "HOME=" + t.TempDir(), "XDG_CONFIG_HOME=" + t.TempDir()}
	var stdout, stderr strings.Builder
	require.Equal(t, exitOK, run(t.Context(), []string{"trust", "--yes"}, environment, strings.NewReader(""), &stdout, &stderr), stderr.String())
	require.Equal(t, exitOK, run(t.Context(), []string{"workflows", "run", "look"}, environment, strings.NewReader(""), &stdout, &stderr), stderr.String())
	require.Equal(t, []string{"large", "large"}, o.models())
}
