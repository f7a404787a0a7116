package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRunsOfBeforeGoOn takes in a run that a Savant recorded whose replies had all
// that was outstanding: its record verifies, and it can be gone on with.
func TestRunsOfBeforeGoOn(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	exported, err := filepath.Abs(filepath.Join("testdata", "parallel_before.savant"))
	require.NoError(t, err)
	savant := func(args ...string) string {
		t.Helper()
		var stdout, stderr strings.Builder
		code := run(t.Context(), args, []string{"SAVANT_PATH=" + folder, "LOG_LEVEL=error"}, strings.NewReader(""), &stdout, &stderr)
		require.Zero(t, code, stderr.String())
		return stdout.String()
	}
	savant("state", "import", exported)
	require.Contains(t, savant("verify", "old"), "old: 3 records, identical")
	require.Contains(t, savant("call", "think.next", "--args", `{"run_id":"old","step_id":"b","result_snapshot":2}`), `"outstanding": [`)
	savant("call", "think.next", "--args", `{"run_id":"old","step_id":"a","result_snapshot":"so"}`)
	require.Contains(t, savant("call", "think.next", "--args", `{"run_id":"old","step_id":"d","result_snapshot":"so"}`), `"done": true`)
	require.Contains(t, savant("verify", "old"), "old: 6 records, identical")
}

// TestFailuresOfBeforeStayValues takes in a run that a Savant recorded for which a
// result with isError and a message alone was a value: the run keeps that reading to its
// end, and so does a fork of it.
func TestFailuresOfBeforeStayValues(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	exported, err := filepath.Abs(filepath.Join("testdata", "plain_failure_before.savant"))
	require.NoError(t, err)
	savant := func(wanted int, args ...string) string {
		t.Helper()
		var stdout, stderr strings.Builder
		code := run(t.Context(), args, []string{"SAVANT_PATH=" + folder, "LOG_LEVEL=error"}, strings.NewReader(""), &stdout, &stderr)
		require.Equal(t, wanted, code, stdout.String()+stderr.String())
		return stdout.String() + stderr.String()
	}
	savant(0, "state", "import", exported)
	require.Contains(t, savant(0, "verify", "last"), "last: 2 records, identical")
	require.Contains(t, savant(0, "call", "think.next", "--args", `{"run_id":"last","step_id":"b","result_snapshot":{"message":"no","isError":true}}`), `"done": true`)
	require.Contains(t, savant(0, "verify", "last"), "last: 3 records, identical")

	savant(0, "state", "fork", "last", "--run-id", "fork")
	require.Contains(t, savant(0, "verify", "fork"), "identical", "a fork keeps the reading of its run")
}

// TestRunsOfBeforeHaveNoBarriers takes in a run that a Savant recorded in which a check
// held nothing: what stands below the approval was issued beside it and is answered
// before it, and a fork keeps that reading. A run planned now waits for the approval.
func TestRunsOfBeforeHaveNoBarriers(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	exported, err := filepath.Abs(filepath.Join("testdata", "barrier_before.savant"))
	require.NoError(t, err)
	savant := func(wanted int, args ...string) string {
		t.Helper()
		var stdout, stderr strings.Builder
		code := run(t.Context(), args, []string{"SAVANT_PATH=" + folder, "LOG_LEVEL=error"}, strings.NewReader(""), &stdout, &stderr)
		require.Equal(t, wanted, code, stdout.String()+stderr.String())
		return stdout.String() + stderr.String()
	}
	savant(0, "state", "import", exported)
	require.Contains(t, savant(0, "verify", "old"), "old: 2 records, identical")
	savant(0, "call", "think.next", "--args", `{"run_id":"old","step_id":"inner/look","result_snapshot":"wrong"}`)
	require.Contains(t, savant(0, "verify", "old"), "old: 3 records, identical")
	savant(0, "state", "fork", "old", "--run-id", "fork")
	require.Contains(t, savant(0, "verify", "fork"), "identical")

	for name, text := range oldWorkflows {
		require.NoError(t, os.MkdirAll(filepath.Join(folder, "workflows"), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(folder, "workflows", name), []byte(text), 0o600))
	}
	planned := savant(0, "call", "think.plan", "--args", `{"workflow":"ship","run_id":"new"}`)
	require.Contains(t, planned, `"step_id": "ok"`)
	require.NotContains(t, planned, `"step_id": "deploy"`)
	savant(1, "call", "think.next", "--args", `{"run_id":"new","step_id":"deploy","result_snapshot":"early"}`)
	require.Contains(t, savant(0, "verify", "new"), "identical")
}

// oldWorkflows are those of the run in testdata/barrier_before.savant.
var oldWorkflows = map[string]string{
	"ship.yaml": `name: ship
version: "1.0"
limits: {parallel: 2}
steps:
  - {id: ok, call: human.approve, input_template: {message: "Deploy?"}}
  - {id: deploy, call: llm.generate, input_template: {task: deploy}, capture_as: deployed}
  - {id: inner, call: flow.run, input_template: {workflow: checked}}
  - {id: after, call: llm.generate, input_template: {task: after}}
`,
	"checked.yaml": `name: checked
version: "1.0"
steps:
  - {id: look, call: llm.generate, input_template: {task: look}, capture_as: look}
  - {id: fine, call: flow.assert, input_template: {that: "{{ look == 'fine' }}"}}
  - {id: below, call: llm.generate, input_template: {task: below}}
`,
}
