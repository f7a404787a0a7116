package index

import "time"

// Unwatch makes an index look at every file each time.
func Unwatch(ix *Index) { ix.tree.hearing.failed = true }

// Watches says whether the kernel is trusted with telling of changes.
func Watches(ix *Index) bool {
	return ix.tree.hearing.watch != nil && !ix.tree.hearing.trustedFrom.IsZero()
}

// Doubt makes the next look one at every file, as after a while.
func Doubt(ix *Index) { ix.tree.hearing.trustedFrom = time.Time{} }

// Trust has what the kernel tells be trusted at once: rightly so where nothing
// was changed during the last look.
func Trust(ix *Index) {
	if ix.tree.hearing.watch != nil {
		ix.tree.hearing.trustedFrom = time.Now()
	}
}
