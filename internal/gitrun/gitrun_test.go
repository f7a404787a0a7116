package gitrun_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/fault"
	"savant/internal/gitrun"
)

// repository returns a new, empty repository.
func repository(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	require.NoError(t, exec.Command("git", "init", "-q", folder).Run())
	return folder
}

func run(t *testing.T, folder string, args ...string) (gitrun.Output, error) {
	t.Helper()
	return gitrun.Run(t.Context(), gitrun.Command{Folder: folder, Limit: 1 << 20, Args: args})
}

func TestOutputIsBounded(t *testing.T) {
	folder := repository(t)
	whole, err := run(t, folder, "config", "--list", "-z")
	require.NoError(t, err)
	require.False(t, whole.Cut)
	require.Greater(t, len(whole.Records()), 1)
	cut, err := gitrun.Run(t.Context(), gitrun.Command{Folder: folder, Limit: len(whole.Data) - 1, Args: []string{"config", "--list", "-z"}})
	require.NoError(t, err)
	require.True(t, cut.Cut)
	require.Len(t, cut.Data, len(whole.Data)-1)
	require.Equal(t, whole.Records()[:len(whole.Records())-1], cut.Records(), "the record that was cut is left out")
}

// What git says on its standard error is kept up to a bound, however much it is.
func TestAComplaintIsBounded(t *testing.T) {
	args := []string{"ls-files", "--error-unmatch", "--"}
	for i := range 1000 {
		args = append(args, fmt.Sprintf("a-file-that-is-not-there-%d", i))
	}
	_, err := run(t, repository(t), args...)
	var complaint *gitrun.Complaint
	require.ErrorAs(t, err, &complaint)
	require.Contains(t, complaint.Text, "a-file-that-is-not-there-0")
	require.LessOrEqual(t, len(complaint.Text), 4<<10)
}

// What a repository configures does not run, and no variable of this process
// leads git elsewhere.
func TestARepositoryCannotRunPrograms(t *testing.T) {
	folder := repository(t)
	trap := filepath.Join(t.TempDir(), "trap")
	for _, key := range []string{"core.fsmonitor", "core.pager", "core.sshCommand", "core.editor", "diff.external"} {
		require.NoError(t, exec.Command("git", "-C", folder, "config", key, "touch "+trap).Run())
	}
	t.Setenv("GIT_DIR", repository(t))
	out, err := run(t, folder, "status", "--porcelain")
	require.NoError(t, err)
	require.Empty(t, out.Data)
	out, err = run(t, folder, "rev-parse", "--show-toplevel")
	require.NoError(t, err)
	require.Contains(t, string(out.Data), filepath.Base(folder))
	require.NoFileExists(t, trap)
}

// The error about a repository of another user has its own code and names the setting
// that would allow it.
func TestAnotherUsersRepository(t *testing.T) {
	_, err := gitrun.Run(t.Context(), gitrun.Command{Folder: repository(t), Limit: 100, Args: []string{"rev-parse", "--show-toplevel"},
		Variables: []string{"GIT_TEST_ASSUME_DIFFERENT_OWNER=1", "HOME=" + t.TempDir()}})
	require.ErrorIs(t, err, fault.ToolDenied)
	require.ErrorContains(t, err, "safe.directory")
}

func TestErrors(t *testing.T) {
	var complaint *gitrun.Complaint
	_, err := run(t, t.TempDir(), "rev-parse", "--show-toplevel")
	require.ErrorAs(t, err, &complaint)
	require.True(t, complaint.NoRepository())
	_, err = run(t, repository(t), "rev-parse", "--verify", "nothing")
	require.ErrorAs(t, err, &complaint)
	require.False(t, complaint.NoRepository())

	_, err = run(t, filepath.Join(t.TempDir(), "missing"), "status")
	require.Error(t, err)
	require.False(t, errors.Is(err, fault.EngineOffline), "the folder is missing, not git")

	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = gitrun.Run(ended, gitrun.Command{Folder: repository(t), Args: []string{"status"}})
	require.ErrorIs(t, err, fault.ToolFailed)
	require.ErrorIs(t, err, context.Canceled)

	t.Setenv("PATH", t.TempDir())
	_, err = run(t, t.TempDir(), "status")
	require.ErrorIs(t, err, fault.EngineOffline)
}

// A git that a clone brings is not started where PATH leads into the clone.
func TestAGitOfTheFolderIsNotRun(t *testing.T) {
	folder, ran := repository(t), filepath.Join(t.TempDir(), "ran")
	require.NoError(t, os.WriteFile(filepath.Join(folder, "git"), []byte("#!/bin/sh\ntouch "+ran+"\n"), 0o700))
	t.Setenv("PATH", folder+string(filepath.ListSeparator)+os.Getenv("PATH"))
	_, err := run(t, folder, "status")
	require.NoError(t, err)
	require.NoFileExists(t, ran)
}
