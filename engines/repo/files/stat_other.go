//go:build !linux

package files

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// statter reads the status of files in a folder. Inode, time of status change
// and number of names are not read here: size and time of modification have to
// do, and without a watch the number of names does not matter.
type statter struct{ folder string }

// newStatter returns a statter for a folder. An error is TOOL_FAILED with a
// FolderError.
func newStatter(folder string) (statter, error) {
	if _, err := os.Stat(folder); err != nil {
		return statter{}, NotRead(err)
	}
	return statter{folder}, nil
}

func (statter) close() {}

// status reads the status of a path, absolute or in the folder. It does not
// follow a symbolic link.
func (s statter) status(name string) status {
	if !filepath.IsAbs(name) {
		name = filepath.Join(s.folder, filepath.FromSlash(name))
	}
	info, err := os.Lstat(name)
	if err != nil {
		return status{unread: !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR)}
	}
	return status{stamp: Stamp{Size: info.Size(), Modified: info.ModTime().UnixNano()}, regular: info.Mode().IsRegular()}
}
