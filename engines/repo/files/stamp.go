package files

import "time"

// Stamp tells two contents of a file apart without reading it. The zero Stamp
// is that of a file that does not exist.
type Stamp struct {
	Size, Modified, Changed int64 // bytes, and nanoseconds since 1970
	Inode                   uint64
}

// status is what the file system says of one path.
type status struct {
	stamp   Stamp
	regular bool
	unread  bool // something is there, but its status cannot be read
	linked  bool // the file has other names, through which it may change without an event here
}

// A file that changes twice within one tick of its file system's clock has the
// same stamp both times. Most clocks tick every few milliseconds, a few only
// every second or two.
const (
	fineTick   = 50 * time.Millisecond
	coarseTick = 2 * time.Second
)

// Racy says whether the file may have changed again without its stamp
// changing, since the stamp was taken too soon after the last change.
func (s Stamp) Racy(taken time.Time) bool {
	tick := fineTick
	if s.Modified%int64(time.Second) == 0 {
		tick = coarseTick
	}
	last := max(s.Modified, s.Changed)
	return taken.UnixNano()-last < int64(tick)
}
