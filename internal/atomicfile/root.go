package atomicfile

import (
	"io/fs"
	"os"
)

// Root returns the file system below an open folder. Names cannot leave it.
func Root(root *os.Root) FS { return rootFS{root} }

type rootFS struct{ root *os.Root }

func (r rootFS) Create(name string, perm fs.FileMode) (File, error) {
	return r.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
}

func (r rootFS) Rename(from, to string) error { return r.root.Rename(from, to) }

func (r rootFS) Remove(name string) error { return r.root.Remove(name) }

func (r rootFS) SyncFolder(name string) error {
	folder, err := r.root.Open(name)
	if err != nil {
		return err
	}
	err = folder.Sync()
	if closeErr := folder.Close(); err == nil {
		err = closeErr
	}
	return err
}
