package logfile_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/internal/logfile"
)

func read(t *testing.T, folder, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(folder, filepath.FromSlash(name)))
	require.NoError(t, err)
	return string(data)
}

func open(t *testing.T, limit int64) (*logfile.File, string, *os.Root) {
	t.Helper()
	folder := t.TempDir()
	root, err := os.OpenRoot(folder)
	require.NoError(t, err)
	file := logfile.New(root, "logs/a.log", limit)
	t.Cleanup(func() { require.NoError(t, file.Close()); require.NoError(t, root.Close()) })
	return file, folder, root
}

func add(t *testing.T, file *logfile.File, text string) {
	t.Helper()
	anew, err := file.Append([]byte(text))
	require.NoError(t, err)
	require.False(t, anew)
}

func TestNothingIsMadeForNothing(t *testing.T) {
	file, folder, _ := open(t, 10)
	add(t, file, "")
	require.NoDirExists(t, filepath.Join(folder, "logs"))
}

func TestAFullFileIsMoved(t *testing.T) {
	file, folder, _ := open(t, 10)
	for _, line := range []string{"first line\n", "second\n", "third\n", "fourth\n", "fifth\n"} {
		add(t, file, line)
	}
	require.Equal(t, "fourth\nfifth\n", read(t, folder, "logs/a.log"), "11 bytes are more than 10")
	require.Equal(t, "second\nthird\n", read(t, folder, "logs/a.log.1"))
	require.NoFileExists(t, filepath.Join(folder, "logs", "a.log.lock"))
}

func TestATornLineIsEnded(t *testing.T) {
	file, folder, _ := open(t, 1000)
	require.NoError(t, os.MkdirAll(filepath.Join(folder, "logs"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "logs", "a.log"), []byte("whole\nto"), 0o600))
	add(t, file, "next\n")
	require.Equal(t, "whole\nto\nnext\n", read(t, folder, "logs/a.log"))
}

func TestAFolderThatWasMovedIsMadeAgain(t *testing.T) {
	file, folder, _ := open(t, 1000)
	add(t, file, "one\n")
	require.NoError(t, os.Rename(filepath.Join(folder, "logs"), filepath.Join(folder, "old")))
	anew, err := file.Append([]byte("two\n"))
	require.NoError(t, err)
	require.True(t, anew)
	require.Equal(t, "one\n", read(t, folder, "old/a.log"))
	require.Equal(t, "two\n", read(t, folder, "logs/a.log"))
}

// Several writers, each with its own open file as processes have, lose no line
// of the last two files, and write none twice.
func TestSeveralWriters(t *testing.T) {
	_, folder, root := open(t, 0)
	var wait sync.WaitGroup
	for writer := range 4 {
		wait.Go(func() {
			file := logfile.New(root, "logs/a.log", 4000)
			for i := range 200 {
				if _, err := file.Append(fmt.Appendf(nil, "%d/%d %s\n", writer, i, strings.Repeat("x", 50))); err != nil {
					t.Error(err)
				}
			}
			if err := file.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	seen := map[string]bool{}
	for line := range strings.Lines(read(t, folder, "logs/a.log.1") + read(t, folder, "logs/a.log")) {
		require.Regexp(t, `^\d/\d+ x{50}\n$`, line)
		require.False(t, seen[line], line)
		seen[line] = true
	}
	require.Greater(t, len(seen), 4000/60)
}
