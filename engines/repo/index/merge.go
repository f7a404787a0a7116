package index

import (
	"context"
	"database/sql"
)

// A build leaves the index in pieces, each of which a query has to ask. They
// are merged step by step beside the searches that follow, since that takes as
// long as a good part of the build.
const (
	// beginMerge asks FTS5 to merge all pieces into one, goOn to go on with it;
	// each for so many pages, which takes some milliseconds
	// (https://sqlite.org/fts5.html#the_merge_command).
	beginMerge = "INSERT INTO terms(terms, rank) VALUES('merge', -64)"
	goOn       = "INSERT INTO terms(terms, rank) VALUES('merge', 64)"
	// The database says in its header whether it is in pieces (PRAGMA
	// application_id): a process may end before it has merged them, and another
	// goes on.
	markPieces = "PRAGMA application_id = 1"
	markWhole  = "PRAGMA application_id = 0"
	// piece is from how many files on a batch leaves the index in pieces worth
	// merging.
	piece = 100
	// worthMerging is from how many changed files on a refresh is followed by a
	// merge.
	worthMerging = 1000
	// idle is the most changes of a step that had nothing to do.
	idle = 2
)

// merging is the goroutine that merges, where there is one.
type merging struct {
	cancel context.CancelFunc
	over   chan struct{}
}

// mergeLater begins to merge where that is to be done: after a build, and, once in a
// process, what another has left. Only the holder of refreshing may call it.
func (ix *Index) mergeLater(ctx context.Context, changes Changes) {
	if ix.merging.cancel != nil && changes.Updated < worthMerging {
		return
	}
	ix.merging.stop()
	ix.merging = merging{func() {}, closed()}
	var pieces int
	if err := ix.db.QueryRowContext(ctx, "PRAGMA application_id").Scan(&pieces); err != nil || pieces == 0 {
		return
	}
	ix.merge()
}

func closed() chan struct{} {
	over := make(chan struct{})
	close(over)
	return over
}

// merge goes on until all is merged, or stop is called.
func (ix *Index) merge() {
	ctx, cancel := context.WithCancel(context.Background())
	ix.merging = merging{cancel, make(chan struct{})}
	over := ix.merging.over
	go func() {
		defer close(over)
		defer cancel()
		for statement := beginMerge; ; statement = goOn {
			if more, err := ix.mergeStep(ctx, statement); err != nil || !more {
				return // what is left in pieces is as right as before
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

// mergeStep merges a little, alone in this process and among the others, and
// says whether there is more to do.
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
	_, err = connection.ExecContext(ctx, markWhole)
	return false, err
}

func changesOf(ctx context.Context, connection *sql.Conn) (number int64, err error) {
	err = connection.QueryRowContext(ctx, "SELECT total_changes()").Scan(&number)
	return number, err
}
