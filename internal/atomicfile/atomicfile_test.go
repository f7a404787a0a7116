package atomicfile_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/internal/atomicfile"
)

func TestWriteReplacesTheWholeFile(t *testing.T) {
	folder := t.TempDir()
	root := openRoot(t, folder)
	require.NoError(t, root.Mkdir("sub", 0o700))
	for _, content := range []string{"a long first content", "short", ""} {
		require.NoError(t, atomicfile.Write(root, "sub/file", []byte(content), 0o600))
		data, err := os.ReadFile(filepath.Join(folder, "sub", "file"))
		require.NoError(t, err)
		require.Equal(t, content, string(data))
	}
	info, err := root.Stat("sub/file")
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o600), info.Mode().Perm())
	require.Equal(t, []string{"file"}, namesIn(t, filepath.Join(folder, "sub")))
}

func TestWriteStaysBelowTheRoot(t *testing.T) {
	root := openRoot(t, t.TempDir())
	require.Error(t, atomicfile.Write(root, "../outside", []byte("x"), 0o600))
	require.Error(t, atomicfile.Write(root, "no/such/folder", []byte("x"), 0o600))
}

func TestConcurrentWritersLeaveOneWholeContent(t *testing.T) {
	folder := t.TempDir()
	root := openRoot(t, folder)
	var writers sync.WaitGroup
	for i := range 8 {
		writers.Go(func() {
			for range 20 {
				_ = atomicfile.Replace(atomicfile.Root(root), "file", content(i), 0o600, atomicfile.Lazy)
			}
		})
	}
	writers.Wait()
	data, err := os.ReadFile(filepath.Join(folder, "file"))
	require.NoError(t, err)
	require.Equal(t, content(int(data[0]-'0')), data)
	require.Equal(t, []string{"file"}, namesIn(t, folder))
}

// TestEveryFaultLeavesOldOrNew fails each call in turn.
func TestEveryFaultLeavesOldOrNew(t *testing.T) {
	for _, durability := range []atomicfile.Durability{atomicfile.Lazy, atomicfile.Durable} {
		for n := 1; ; n++ {
			folder := t.TempDir()
			root := openRoot(t, folder)
			require.NoError(t, atomicfile.Write(root, "file", []byte("old"), 0o600))
			faulty := &failing{FS: atomicfile.Root(root), failAt: n}
			err := atomicfile.Replace(faulty, "file", []byte("new"), 0o600, durability)
			require.Equal(t, []string{"file"}, namesIn(t, folder), "call %d: %v", n, err)
			data, readErr := os.ReadFile(filepath.Join(folder, "file"))
			require.NoError(t, readErr)
			if faulty.calls < n {
				require.NoError(t, err)
				require.Equal(t, "new", string(data))
				break
			}
			require.ErrorIs(t, err, errInjected, "call %d", n)
			require.Contains(t, []string{"old", "new"}, string(data), "call %d", n)
		}
	}
}

var errInjected = errors.New("injected")

// failing fails its failAt-th call and does the rest. Removing always works.
type failing struct {
	atomicfile.FS
	calls, failAt int
}

func (f *failing) fault() error {
	f.calls++
	if f.calls == f.failAt {
		return errInjected
	}
	return nil
}

func (f *failing) Create(name string, perm fs.FileMode) (atomicfile.File, error) {
	if err := f.fault(); err != nil {
		return nil, err
	}
	file, err := f.FS.Create(name, perm)
	return &failingFile{file, f}, err
}

func (f *failing) Rename(from, to string) error {
	if err := f.fault(); err != nil {
		return err
	}
	return f.FS.Rename(from, to)
}

func (f *failing) SyncFolder(name string) error {
	if err := f.fault(); err != nil {
		return err
	}
	return f.FS.SyncFolder(name)
}

type failingFile struct {
	atomicfile.File
	owner *failing
}

func (f *failingFile) Write(data []byte) (int, error) {
	if err := f.owner.fault(); err != nil {
		n, _ := f.File.Write(data[:len(data)/2])
		return n, err
	}
	return f.File.Write(data)
}

func (f *failingFile) Sync() error {
	if err := f.owner.fault(); err != nil {
		return err
	}
	return f.File.Sync()
}

func (f *failingFile) Close() error {
	err := f.File.Close()
	if fault := f.owner.fault(); fault != nil {
		return fault
	}
	return err
}

func content(i int) []byte { return fmt.Appendf(nil, "%d%0*d", i, 1000*(i+1), i) }

func openRoot(t *testing.T, folder string) *os.Root {
	root, err := os.OpenRoot(folder)
	require.NoError(t, err)
	t.Cleanup(func() { _ = root.Close() })
	return root
}

func namesIn(t *testing.T, folder string) []string {
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	found := make([]string, 0, len(entries))
	for _, entry := range entries {
		found = append(found, entry.Name())
	}
	return found
}
