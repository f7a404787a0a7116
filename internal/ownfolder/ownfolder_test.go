package ownfolder_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/internal/ownfolder"
)

func TestCleanTreeStaysClean(t *testing.T) {
	folder := t.TempDir()
	git := func(args ...string) string {
		command := exec.Command("git", append([]string{"-C", folder, "-c", "core.excludesFile=/dev/null"}, args...)...)
		out, err := command.CombinedOutput()
		require.NoError(t, err, string(out))
		return string(out)
	}
	git("init", "-q")
	root, err := os.OpenRoot(folder)
	require.NoError(t, err)
	defer root.Close()
	write := func(name string) {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(folder, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), nil, 0o644))
	}

	require.NoError(t, ownfolder.Mkdir(root, ownfolder.State, 0o700))
	require.NoError(t, ownfolder.Mkdir(root, ownfolder.Logs, 0o700))
	require.ErrorIs(t, ownfolder.Mkdir(root, ownfolder.Logs, 0o700), fs.ErrExist)
	for _, name := range []string{".savant/state/w/r.journal", ".savant/session.json", ".savant/memory/x.tmp", "logs/agent_trace.log"} {
		write(name)
	}
	require.Empty(t, git("status", "--porcelain", "-uall"))
	for _, name := range []string{".savant/ci.yaml", ".savant/mcp.json", ".savant/memory/notes.md"} {
		write(name)
	}
	require.Equal(t, "?? .savant/ci.yaml\n?? .savant/mcp.json\n?? .savant/memory/notes.md\n", git("status", "--porcelain", "-uall"))
}

func TestFolderOfTheProjectIsLeftAlone(t *testing.T) {
	folder := t.TempDir()
	root, err := os.OpenRoot(folder)
	require.NoError(t, err)
	defer root.Close()
	require.NoError(t, root.Mkdir(ownfolder.Logs, 0o755))
	require.ErrorIs(t, ownfolder.Mkdir(root, ownfolder.Logs, 0o700), fs.ErrExist)
	require.NoError(t, ownfolder.Mkdir(root, "other", 0o700))
	for _, name := range []string{"logs", "other"} {
		require.NoFileExists(t, filepath.Join(folder, name, ".gitignore"))
	}
}

// A clone holds what people share of the folder, and not the .gitignore, which
// ignores itself.
func TestTheStateOfACloneIsIgnored(t *testing.T) {
	root, err := os.OpenRoot(t.TempDir())
	require.NoError(t, err)
	defer root.Close()
	require.NoError(t, root.Mkdir(ownfolder.State, 0o755))
	require.NoError(t, root.WriteFile(".savant/ci.yaml", nil, 0o644))
	require.ErrorIs(t, ownfolder.Mkdir(root, ownfolder.State, 0o700), fs.ErrExist)
	text, err := root.ReadFile(".savant/.gitignore")
	require.NoError(t, err)
	require.Contains(t, string(text), "\n*\n")

	require.NoError(t, root.WriteFile(".savant/.gitignore", []byte("mine\n"), 0o644))
	require.ErrorIs(t, ownfolder.Mkdir(root, ownfolder.State, 0o700), fs.ErrExist)
	text, err = root.ReadFile(".savant/.gitignore")
	require.NoError(t, err)
	require.Equal(t, "mine\n", string(text), "what somebody wrote stays")
}
