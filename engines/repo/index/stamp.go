package index

import (
	"io/fs"
	"time"
)

// stamp tells two contents of a file apart without reading it.
type stamp struct {
	size, modified, changed int64 // bytes, and nanoseconds since 1970
	inode                   uint64
}

func stampOf(info fs.FileInfo) stamp {
	made := stamp{size: info.Size(), modified: info.ModTime().UnixNano()}
	made.inode, made.changed = inode(info)
	return made
}

// A file that is changed twice within one tick of its file system's clock has
// the same stamp both times. The clock of most ticks every few milliseconds,
// that of a few only every second or two.
const (
	fineTick   = 50 * time.Millisecond
	coarseTick = 2 * time.Second
)

// racy says whether a file may still be changed without its stamp changing:
// the stamp was taken too soon after the last change.
func (s stamp) racy(taken time.Time) bool {
	tick := fineTick
	if s.modified%int64(time.Second) == 0 {
		tick = coarseTick
	}
	last := max(s.modified, s.changed)
	return taken.UnixNano()-last < int64(tick)
}
