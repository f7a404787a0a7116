package main

import (
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
