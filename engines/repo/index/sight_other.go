//go:build !linux

package index

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// sight looks at the files of a folder. The inode and the time of change are
// not known here: size and time of modification have to do, and nothing hears
// of changes, for which it would matter which files have other names.
type sight struct {
	folder string
	failed error
}

func newSight(folder string) sight {
	_, err := os.Stat(folder)
	return sight{folder, err}
}

func (sight) close() {}

// at looks at a path, absolute or in the folder, and not through a link.
func (s sight) at(name string) seen {
	if !filepath.IsAbs(name) {
		name = filepath.Join(s.folder, filepath.FromSlash(name))
	}
	info, err := os.Lstat(name)
	if err != nil {
		return seen{unread: !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR)}
	}
	return seen{stamp: stamp{size: info.Size(), modified: info.ModTime().UnixNano()}, regular: info.Mode().IsRegular()}
}
