package files

import "time"

// Stamp detects a change of a file without reading it. The zero Stamp means that the
// file does not exist.
type Stamp struct {
	Size, Modified, Changed int64 // bytes, and nanoseconds since 1970
	Inode                   uint64
}

// status is the file system's information about one path.
type status struct {
	stamp   Stamp
	regular bool
	unread  bool // something exists, but its status is unreadable
	linked  bool // a hard link: it may change through another name without an event here
}

// A file that changes twice within one tick of its file system's clock has the
// same stamp both times. Most clocks tick every few milliseconds, a few only
// every second or two.
const (
	fineTick   = 50 * time.Millisecond
	coarseTick = 2 * time.Second
)

// Racy reports whether the file may have changed again with the same stamp, since the
// stamp was taken too soon after the last change.
func (s Stamp) Racy(taken time.Time) bool {
	tick := fineTick
	if s.Modified%int64(time.Second) == 0 {
		tick = coarseTick
	}
	last := max(s.Modified, s.Changed)
	return taken.UnixNano()-last < int64(tick)
}
