package index

import (
	"context"
	"fmt"
	"time"
)

// Unwatch makes an index look at every file each time.
func Unwatch(ix *Index) { ix.tree.hearing.failed = true }

// Watches says whether the kernel is trusted with telling of changes.
func Watches(ix *Index) bool {
	return ix.tree.hearing.watch != nil && !ix.tree.hearing.trustedFrom.IsZero()
}

// CannotWatch says that the kernel will not tell of changes, as beyond its bound
// of folders.
func CannotWatch(ix *Index) bool { return ix.tree.hearing.failed }

// Doubt makes the next look one at every file, as after a while.
func Doubt(ix *Index) { ix.tree.hearing.trustedFrom = time.Time{} }

// Settled says whether the index holds what the folder does without a doubt:
// there is no file left that changed too recently for its stamp to tell.
func Settled(ix *Index) bool { return ix.settled != unsettled }

// LimitSize lets an index grow by no more than some pages, as a full disk
// does. It is left with one connection, since the limit is one of a connection.
func LimitSize(ix *Index, more int) (lift func() error, err error) {
	ix.db.SetMaxOpenConns(1)
	var pages, limit int
	err = ix.db.QueryRowContext(context.Background(), "PRAGMA page_count").Scan(&pages)
	if err == nil {
		err = ix.db.QueryRowContext(context.Background(), fmt.Sprintf("PRAGMA max_page_count = %d", pages+more)).Scan(&limit)
	}
	return func() error {
		return ix.db.QueryRowContext(context.Background(), "PRAGMA max_page_count = 1000000").Scan(&limit)
	}, err
}

// Listed says when the folder was listed, as the next process would know.
func Listed(ix *Index) time.Time { return ix.tree.listed }

// Recode takes a snapshot apart and puts it together again; nil where it is none.
func Recode(data []byte) []byte {
	if read := decodeSnapshot(data); read != nil {
		return encodeSnapshot(read)
	}
	return nil
}

// SnapshotBody is a snapshot of anything, with the mark and the checksum it needs.
func SnapshotBody(body []byte) []byte { return sealed(body) }

// Tidied waits until the index is merged, as far as this process does that, and
// says whether it is.
func Tidied(ix *Index) (whole bool, err error) {
	if ix.tidying.over != nil {
		<-ix.tidying.over
	}
	var pieces int
	err = ix.db.QueryRowContext(context.Background(), "PRAGMA application_id").Scan(&pieces)
	return pieces == 0, err
}
