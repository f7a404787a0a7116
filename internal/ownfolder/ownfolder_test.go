package ownfolder_test

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
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

// git never lists a folder of Savant's while it is made: a tool that runs git status
// beside it would take the tree for changed.
func TestMakingAFolderIsNotSeen(t *testing.T) {
	folder := t.TempDir()
	require.NoError(t, exec.Command("git", "init", "-q", folder).Run())
	made := make(chan struct{})
	go func() {
		defer close(made)
		for i := range 100 {
			project := filepath.Join(folder, strconv.Itoa(i))
			assert.NoError(t, os.Mkdir(project, 0o700))
			root, err := os.OpenRoot(project)
			assert.NoError(t, err)
			for _, name := range []string{ownfolder.State, ownfolder.Logs} {
				assert.NoError(t, ownfolder.Mkdir(root, name, 0o700))
				assert.FileExists(t, filepath.Join(project, name, ".gitignore"))
			}
			assert.NoError(t, root.Close())
		}
	}()
	for making := true; making; {
		select {
		case <-made:
			making = false
		default:
		}
		seen, err := exec.Command("git", "-C", folder, "status", "--porcelain", "-uall").Output()
		assert.NoError(t, err)
		assert.Empty(t, string(seen))
	}
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

// Logs are for the folder that Savant made, else for one of its own.
func TestWhereLogsGo(t *testing.T) {
	for name, c := range map[string]struct {
		prepare  func(root *os.Root) error
		expected string
	}{
		"none yet":       {func(*os.Root) error { return nil }, ownfolder.Logs},
		"made by Savant": {func(root *os.Root) error { return ownfolder.Mkdir(root, ownfolder.Logs, 0o700) }, ownfolder.Logs},
		"empty":          {func(root *os.Root) error { return root.Mkdir("logs", 0o700) }, ownfolder.StateLogs},
		"a file":         {func(root *os.Root) error { return root.WriteFile("logs", nil, 0o600) }, ownfolder.StateLogs},
		"ignored by another": {func(root *os.Root) error {
			return errors.Join(root.Mkdir("logs", 0o700), root.WriteFile("logs/.gitignore", []byte("*\n!.gitignore\n"), 0o600))
		}, ownfolder.StateLogs},
		"its .gitignore is empty": {func(root *os.Root) error {
			return errors.Join(root.Mkdir("logs", 0o700), root.WriteFile("logs/.gitignore", nil, 0o600))
		}, ownfolder.StateLogs},
	} {
		t.Run(name, func(t *testing.T) {
			root, err := os.OpenRoot(t.TempDir())
			require.NoError(t, err)
			defer root.Close()
			require.NoError(t, c.prepare(root))
			require.Equal(t, c.expected, ownfolder.LogFolder(root))
		})
	}
}

// Whoever sees logs/ of Savant's sees it with its .gitignore, however many make it.
func TestLogsAreMadeAtOnce(t *testing.T) {
	folder := t.TempDir()
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			root, err := os.OpenRoot(folder)
			if err != nil {
				t.Error(err)
				return
			}
			defer root.Close()
			for range 20 {
				if at := ownfolder.LogFolder(root); at != ownfolder.Logs {
					t.Error(at)
				}
				if err := ownfolder.Mkdir(root, ownfolder.Logs, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.Len(t, entries, 1, "nothing else is left")
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
