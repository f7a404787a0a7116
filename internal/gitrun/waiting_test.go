//go:build unix

package gitrun_test

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"savant/fault"
	"savant/internal/gitrun"
)

// TestGitDoesNotWaitForAPipe: git reads rules in every folder of the working tree.
func TestGitDoesNotWaitForAPipe(t *testing.T) {
	for name, args := range map[string][]string{
		"sub/deep/.gitignore":     {"status", "--untracked-files=all"},
		"node_modules/.gitignore": {"ls-files", "--others", "--exclude-standard"},
		"sub/.gitattributes":      {"check-attr", "--all", "sub/a.txt"},
	} {
		folder := repository(t)
		at := filepath.Join(folder, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(at), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(at), "a.txt"), nil, 0o600))
		require.NoError(t, syscall.Mkfifo(at, 0o644))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := gitrun.Run(ctx, gitrun.Command{Folder: folder, Limit: 1 << 20, Args: args})
		require.ErrorIs(t, err, fault.ToolFailed)
		require.ErrorContains(t, err, name)
	}
}
