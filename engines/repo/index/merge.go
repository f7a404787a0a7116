package index

import (
	"context"
	"database/sql"
)

// A build leaves the index in many segments, and a query has to ask each. They
// are merged step by step while searches go on, since merging takes as long as a
// good part of the build.
const (
	// beginMerge asks FTS5 to merge all segments into one, goOn to continue; each
	// for a number of pages that takes some milliseconds
	// (https://sqlite.org/fts5.html#the_merge_command).
	beginMerge = "INSERT INTO terms(terms, rank) VALUES('merge', -64)"
	goOn       = "INSERT INTO terms(terms, rank) VALUES('merge', 64)"
	// The header of the database says whether there are segments to merge (PRAGMA
	// application_id), so that another process continues what this one began.
	markSegmented = "PRAGMA application_id = 1"
	markMerged    = "PRAGMA application_id = 0"
	// minSegmented is how many changed files of a batch make merging worthwhile.
	minSegmented = 100
	// worthMerging is how many changed files of a refresh start a merge at once.
	worthMerging = 1000
	// idle is the most changes that a step without any work makes.
	idle = 2
)

// merging is the goroutine that merges, if there is one.
type merging struct {
	cancel context.CancelFunc
	over   chan struct{}
}

// mergeLater starts merging after a large update, and once in a process what
// another process has left. Only the holder of refreshing may call it.
func (ix *Index) mergeLater(ctx context.Context, changes Changes) {
	if ix.merging.cancel != nil && changes.Updated < worthMerging {
		return
	}
	ix.merging.stop()
	ix.merging = merging{func() {}, closed()}
	var segmented int
	if err := ix.db.QueryRowContext(ctx, "PRAGMA application_id").Scan(&segmented); err != nil || segmented == 0 {
		return
	}
	ix.merge()
}

func closed() chan struct{} {
	over := make(chan struct{})
	close(over)
	return over
}

// merge merges until one segment is left, or stop is called.
func (ix *Index) merge() {
	ctx, cancel := context.WithCancel(context.Background())
	ix.merging = merging{cancel, make(chan struct{})}
	over := ix.merging.over
	go func() {
		defer close(over)
		defer cancel()
		for statement := beginMerge; ; statement = goOn {
			if more, err := ix.mergeStep(ctx, statement); err != nil || !more {
				return // an index with several segments is as correct as one
			}
		}
	}()
}

// stop ends the merging and waits for the step that runs.
func (m merging) stop() {
	if m.cancel != nil {
		m.cancel()
		<-m.over
	}
}

// mergeStep merges some pages while nobody else writes, and says whether there is
// more to do.
func (ix *Index) mergeStep(ctx context.Context, statement string) (more bool, err error) {
	if err := ix.begin(ctx); err != nil {
		return false, err
	}
	defer ix.end()
	if ix.replaced() {
		return false, errStale
	}
	release, err := lock(ctx, ix.file)
	if err != nil {
		return false, err
	}
	defer release()
	connection, err := ix.db.Conn(ctx)
	if err != nil {
		return false, err
	}
	defer connection.Close()
	before, err := changesOf(ctx, connection)
	if err != nil {
		return false, err
	}
	if _, err := connection.ExecContext(ctx, statement); err != nil {
		return false, err
	}
	after, err := changesOf(ctx, connection)
	if err != nil || after-before >= idle {
		return true, err
	}
	_, err = connection.ExecContext(ctx, markMerged)
	return false, err
}

func changesOf(ctx context.Context, connection *sql.Conn) (number int64, err error) {
	err = connection.QueryRowContext(ctx, "SELECT total_changes()").Scan(&number)
	return number, err
}
