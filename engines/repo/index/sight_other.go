//go:build !linux

package index

import (
	"os"
	"path/filepath"
)

// sight looks at the files of a folder. The inode and the time of change are
// not known here: size and time of modification have to do, and nothing hears
// of changes, for which it would matter which files have other names.
type sight struct{ folder string }

func newSight(folder string) sight { return sight{folder} }

func (sight) close() {}

// at looks at a path, absolute or in the folder, and not through a link.
func (s sight) at(name string) seen {
	if !filepath.IsAbs(name) {
		name = filepath.Join(s.folder, filepath.FromSlash(name))
	}
	info, err := os.Lstat(name)
	if err != nil {
		return seen{}
	}
	return seen{stamp: stamp{size: info.Size(), modified: info.ModTime().UnixNano()}, regular: info.Mode().IsRegular()}
}
