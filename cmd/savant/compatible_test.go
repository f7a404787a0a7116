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
