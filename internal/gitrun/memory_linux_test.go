package gitrun_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/fault"
	"savant/internal/gitrun"
)

// TestGitHasALimitOfMemory: rules of 2 GB, which take no space on the disk, end git and not
// the machine, whatever folder they are in.
func TestGitHasALimitOfMemory(t *testing.T) {
	folder := repository(t)
	require.NoError(t, os.MkdirAll(filepath.Join(folder, "a", "b"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "a", "b", "file"), nil, 0o600))
	out, err := run(t, folder, "status", "--porcelain", "--untracked-files=all")
	require.NoError(t, err)
	require.Equal(t, "?? a/b/file\n", string(out.Data))

	rules := filepath.Join(folder, "a", "b", ".gitignore")
	require.NoError(t, os.WriteFile(rules, nil, 0o600))
	require.NoError(t, os.Truncate(rules, 2<<30-1))
	_, err = run(t, folder, "status", "--porcelain", "--untracked-files=all")
	require.ErrorIs(t, err, fault.LimitExceeded)
	require.Empty(t, gitrun.OversizeRules(folder), "only what git reads in any case")
}
