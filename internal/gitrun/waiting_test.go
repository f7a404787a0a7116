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

// TestGitDoesNotWaitForWhatItsConfigurationNames: a folder that is no clone, such as an
// archive, brings .git/config.
func TestGitDoesNotWaitForWhatItsConfigurationNames(t *testing.T) {
	for _, settings := range []string{"[core]\n\texcludesFile = pipe\n", "[include]\n\tpath = ../more\n", "[include]\n\tpath = \"../pipe\"\n"} {
		folder := repository(t)
		require.NoError(t, syscall.Mkfifo(filepath.Join(folder, "pipe"), 0o644))
		require.NoError(t, os.WriteFile(filepath.Join(folder, "more"), []byte("[include]\n\tpath = pipe\n"), 0o600))
		config := filepath.Join(folder, ".git", "config")
		text, err := os.ReadFile(config)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(config, append(text, settings...), 0o600))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err = gitrun.Run(ctx, gitrun.Command{Folder: folder, Limit: 1 << 20, Args: []string{"status", "--untracked-files=all"}})
		require.ErrorIs(t, err, fault.ToolFailed)
		require.ErrorContains(t, err, "pipe, which the repository's configuration names, is not a regular file")
	}
}
