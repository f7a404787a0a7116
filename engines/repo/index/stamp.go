package index

import "time"

// stamp tells two contents of a file apart without reading it. None at all is
// the stamp of what does not exist.
type stamp struct {
	size, modified, changed int64 // bytes, and nanoseconds since 1970
	inode                   uint64
}

// seen is what a sight has of one path.
type seen struct {
	stamp   stamp
	regular bool
	unread  bool // something is there that cannot be looked at
	linked  bool // it has other names, under which it may change unheard
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
