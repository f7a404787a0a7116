package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A large workflow is read once: what was found out about it is kept in the
// user's cache folder and serves the processes after. It does not matter what
// becomes of it, and each goes on with the run where the last was killed.
func TestALargeWorkflowOutlivesItsServer(t *testing.T) {
	folder, cache := t.TempDir(), t.TempDir()
	longWorkflow(t, folder, 2_000)
	answered := 0
	serve := func() {
		s := serveIn(t, folder, "XDG_CACHE_HOME="+cache)
		if answered == 0 {
			s.send(t, 1, "think.plan", map[string]any{"workflow": "long", "run_id": "r"})
			got, ok := s.read(t)
			require.True(t, ok)
			require.False(t, got.Result.IsError, s.lines.Text())
		}
		step := []string{"s0", "s1", "s2", "s3"}[answered]
		s.send(t, 2, "think.next", map[string]any{"run_id": "r", "step_id": step, "result_snapshot": "done"})
		got, ok := s.read(t)
		require.True(t, ok)
		require.False(t, got.Result.IsError, s.lines.Text())
		answered++
		require.NoError(t, s.command.Process.Kill())
		require.Error(t, s.wait(t))
	}
	serve()
	kept, err := filepath.Glob(filepath.Join(cache, "savant", "workflows", "*"))
	require.NoError(t, err)
	require.Len(t, kept, 1)
	before, err := os.ReadFile(kept[0])
	require.NoError(t, err)
	serve()
	require.NoError(t, os.WriteFile(kept[0], bytes.Repeat([]byte("x"), len(before)), 0o600))
	serve()
	again, err := os.ReadFile(kept[0])
	require.NoError(t, err)
	require.Equal(t, before, again, "it is made anew")
	require.NoError(t, os.RemoveAll(cache))
	serve()
}
