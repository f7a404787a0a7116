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

// Settled says whether the index holds what the folder does without a doubt:
// there is no file left that changed too recently for its stamp to tell.
func Settled(ix *Index) bool { return ix.settled != unsettled }
