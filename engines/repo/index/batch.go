package index

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"
)

// Bounds of one transaction. A build that is stopped loses at most this much work.
const (
	batchFiles = 1000
	batchTerms = 8 << 20 // bytes
)

// batches writes the work of one refresh in several transactions. Documents must
// come by ascending file id, because FTS5 flushes its pending terms when an id is
// smaller than the one before.
type batches struct {
	index *Index
	done  Changes

	// The fields below belong to the open transaction; tx is nil if there is none.
	tx       *sql.Tx
	prepared map[string]*sql.Stmt // closed with the transaction
	put      []*file
	updated  int // files of put whose content is new
	renamed  bool
	terms    int
	removed  []*file
	err      error
}

// begin starts a transaction unless one is open.
func (b *batches) begin(ctx context.Context) {
	if b.tx == nil && b.err == nil {
		b.tx, b.err = b.index.db.BeginTx(ctx, nil)
		b.prepared = map[string]*sql.Stmt{}
	}
}

// exec runs a statement unless an earlier one failed.
func (b *batches) exec(ctx context.Context, statement string, args ...any) sql.Result {
	if b.err != nil {
		return nil
	}
	ready := b.prepared[statement]
	if ready == nil {
		if ready, b.err = b.tx.PrepareContext(ctx, statement); b.err != nil {
			return nil
		}
		b.prepared[statement] = ready
	}
	result, err := ready.ExecContext(ctx, args...)
	b.err = err
	return result
}

// remove deletes files from the index. They must be sorted by id.
func (b *batches) remove(ctx context.Context, gone []*file) {
	for _, each := range gone {
		b.begin(ctx)
		if each.skipped == "" {
			b.exec(ctx, "DELETE FROM terms WHERE rowid = ?", each.id)
		}
		b.exec(ctx, "DELETE FROM files WHERE id = ?", each.id)
	}
	b.removed, b.renamed = gone, len(gone) > 0
}

// add writes a document unless the index already has that state of its file. A
// known file keeps its id.
func (b *batches) add(ctx context.Context, d document) {
	f, known := d.file, d.known
	if known != nil && d.same && f.stamp == known.stamp && f.racy == known.racy {
		return
	}
	b.begin(ctx)
	if known != nil {
		f.id = known.id
		b.exec(ctx, "UPDATE files SET state = ? WHERE id = ?", f.state(), f.id)
	} else if result := b.exec(ctx, "INSERT INTO files(path, state) VALUES(?, ?)", f.path, f.state()); b.err == nil {
		f.id, b.err = result.LastInsertId()
		b.renamed = true
	}
	b.put = append(b.put, &f)
	if d.same {
		return
	}
	b.updated++
	b.terms += len(d.terms)
	if known != nil && known.skipped == "" {
		b.exec(ctx, "DELETE FROM terms WHERE rowid = ?", f.id)
	}
	if f.skipped == "" {
		b.exec(ctx, "INSERT INTO terms(rowid, held) VALUES(?, ?)", f.id, d.terms)
	}
}

func (b *batches) full() bool { return len(b.put) >= batchFiles || b.terms >= batchTerms }

// commit commits the open transaction and publishes the new catalog.
func (b *batches) commit(ctx context.Context) error {
	if b.tx == nil {
		return b.err
	}
	b.exec(ctx, "UPDATE meta SET generation = generation + 1, built = ?", time.Now().UnixMilli())
	if b.renamed {
		b.exec(ctx, "UPDATE meta SET listing = NULL") // it lists other files
		b.index.saved = time.Time{}
	}
	if b.err != nil {
		return b.err
	}
	next, err := editionOf(ctx, b.tx)
	if err := errors.Join(err, b.tx.Commit()); err != nil {
		return err
	}
	b.done.Updated += b.updated
	b.done.Removed += len(b.removed)
	b.index.publish(b.index.catalog.with(next, b.removed, b.put))
	*b = batches{index: b.index, done: b.done}
	return nil
}

// rollback rolls back the open transaction, if there is one.
func (b *batches) rollback() {
	if b.tx != nil {
		_ = b.tx.Rollback() // the next refresh reads these files again
	}
}

// byID sorts candidates by id, as batches needs them. New files come last, since
// they get the largest ids.
func byID(candidates []candidate) {
	slices.SortStableFunc(candidates, func(x, y candidate) int { return int(x.id() - y.id()) })
}

func (c candidate) id() int64 {
	if c.known == nil {
		return maxID + 1
	}
	return c.known.id
}
