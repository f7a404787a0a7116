//go:build unix

package app

import (
	"io/fs"
	"os"
	"path"
	"time"

	"golang.org/x/sys/unix"

	"savant/internal/statat"
)

// statRegular tells of a regular file, in one call of the system; false for
// anything else.
func statRegular(folder *os.File, name string) (fs.FileInfo, bool) {
	found, err := statat.At(folder, name)
	if err != nil || found.Mode&unix.S_IFMT != unix.S_IFREG {
		return nil, false
	}
	return regularInfo{path.Base(name), found}, true
}

// regularInfo is what the system tells of a regular file.
type regularInfo struct {
	name string
	stat unix.Stat_t
}

func (i regularInfo) Name() string       { return i.name }
func (i regularInfo) Size() int64        { return i.stat.Size }
func (i regularInfo) Mode() fs.FileMode  { return fs.FileMode(i.stat.Mode).Perm() }
func (i regularInfo) ModTime() time.Time { return time.Unix(i.stat.Mtim.Unix()) }
func (i regularInfo) IsDir() bool        { return false }
func (i regularInfo) Sys() any           { return &i.stat }
