package program

import (
	"archive/zip"
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

	savant(0, "state", "fork", "last", "--name", "fork")
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
	savant(0, "state", "fork", "old", "--name", "fork")
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

// TestFoldersOfBeforeGoOn reads the folders of testdata/past, each written by the
// program of the commit it is named for: guided runs that are done and open, one that
// Savant drove, and runs of the agent. What they hold is listed, verifies identically
// and continues, and their exports are imported.
func TestFoldersOfBeforeGoOn(t *testing.T) {
	t.Parallel()
	for commit, outstanding := range map[string]string{"67353ff": "long", "74209cb": "reply"} {
		t.Run(commit, func(t *testing.T) {
			t.Parallel()
			folder := folderOfBefore(t, commit)
			in := func(folder string, wanted int, args ...string) string {
				t.Helper()
				var stdout, stderr strings.Builder
				env := []string{"SAVANT_PATH=" + folder, "LOG_LEVEL=error", "LLM_PROVIDER=offline"}
				require.Equal(t, wanted, run(t.Context(), args, env, strings.NewReader(""), &stdout, &stderr), stdout.String()+stderr.String())
				return stdout.String() + stderr.String()
			}
			listed := in(folder, 0, "state", "list")
			for _, row := range []string{`driven +drive +done +v3`, `open +ship +waiting \(model\) +` + outstanding + ` +v6`, `done +ship +done`} {
				require.Regexp(t, row, listed)
			}
			require.Contains(t, in(folder, 0, "state", "check"), "0 damaged")
			imported := t.TempDir()
			for _, id := range []string{"done", "open", "driven"} {
				require.Contains(t, in(folder, 0, "verify", id), "records, identical")
				in(imported, 0, "state", "import", filepath.Join(folder, id+".savant"))
				require.Contains(t, in(imported, 0, "verify", id), "records, identical")
			}
			for _, each := range []string{folder, imported} {
				if outstanding == "reply" {
					in(each, 0, "call", "think.next", "--args", `{"run_id":"open","step_id":"reply","result_snapshot":"yes"}`)
				}
				require.Contains(t, in(each, 0, "call", "think.next", "--args", `{"run_id":"open","step_id":"long","result_snapshot":"text"}`), `"human.approve"`)
				require.Contains(t, in(each, 0, "verify", "open"), "records, identical")
			}
			in(folder, 0, "state", "fork", "done", "--name", "fork")
			require.Contains(t, in(folder, 0, "verify", "fork"), "identical")

			runs := in(folder, 0, "runs", "list")
			for _, row := range []string{`a-workflow +\(agent\) +ok`, `a-failed +\(agent\) +error`, `a-steps +\(agent\) +max_steps`} {
				require.Regexp(t, row, runs)
			}
			require.Contains(t, in(folder, 0, "runs", "show", "a-workflow", "--json"), "2 of 2 steps ran")
			require.Contains(t, in(folder, 0, "runs", "show", "a-failed", "--json"), `"status": "error"`)
			require.Contains(t, in(folder, 1, "run", "--resume", "a-failed", "--max-steps", "9"), "run a-failed")
		})
	}
}

// folderOfBefore unpacks a folder of testdata/past.
func folderOfBefore(t *testing.T, commit string) string {
	packed, err := zip.OpenReader(filepath.Join("testdata", "past", commit+".zip"))
	require.NoError(t, err)
	defer packed.Close()
	folder := t.TempDir()
	require.NoError(t, os.CopyFS(folder, packed))
	return folder
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
