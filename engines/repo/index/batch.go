package index

import (
	"context"
	"database/sql"
	"errors"
	"time"
)

// Bounds of one transaction: a build that is ended loses at most this much,
// and holds at most this much in memory.
const (
	batchFiles = 1000
	batchTerms = 2 << 20 // bytes
)

// batch is what the next transaction writes.
type batch struct {
	index     *Index
	documents []document
	terms     int
	removed   []*file
	done      Changes // by the transactions before
}

func (b *batch) add(d document) {
	b.documents = append(b.documents, d)
	b.terms += len(d.terms)
}

func (b *batch) full() bool { return len(b.documents) >= batchFiles || b.terms >= batchTerms }

// commit writes the batch, then puts it into the catalog.
func (b *batch) commit(ctx context.Context, now time.Time) error {
	ix := b.index
	tx, err := ix.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // nothing after a commit
	w := &writer{ctx: ctx, tx: tx}
	for _, each := range b.removed {
		w.remove(each)
	}
	for i := range b.documents {
		w.put(&b.documents[i])
	}
	w.exec("UPDATE meta SET generation = generation + 1, built = ?", now.UnixMilli())
	if len(b.documents) >= piece {
		w.exec(markPieces)
	}
	if w.err != nil {
		return w.err
	}
	next, err := editionOf(ctx, tx)
	if err := errors.Join(err, tx.Commit()); err != nil {
		return err
	}
	b.done.Updated += w.updated
	b.done.Removed += len(b.removed)
	b.publish(next)
	return nil
}

func (b *batch) publish(next edition) {
	put := make([]*file, len(b.documents))
	for i := range b.documents {
		kept := b.documents[i].file // a copy: the catalog must not keep the terms
		put[i] = &kept
	}
	b.index.publish(b.index.catalog.with(next, b.removed, put))
	b.documents, b.removed, b.terms = nil, nil, 0
}

// writer runs statements until one fails.
type writer struct {
	ctx      context.Context
	tx       *sql.Tx
	prepared map[string]*sql.Stmt // closed with the transaction
	updated  int                  // files whose content was new
	err      error
}

func (w *writer) exec(statement string, args ...any) sql.Result {
	if w.err != nil {
		return nil
	}
	if w.prepared == nil {
		w.prepared = map[string]*sql.Stmt{}
	}
	ready := w.prepared[statement]
	if ready == nil {
		if ready, w.err = w.tx.PrepareContext(w.ctx, statement); w.err != nil {
			return nil
		}
		w.prepared[statement] = ready
	}
	result, err := ready.ExecContext(w.ctx, args...)
	w.err = err
	return result
}

func (w *writer) remove(known *file) {
	if known.skipped == "" {
		w.exec("DELETE FROM terms WHERE rowid = ?", known.id)
	}
	w.exec("DELETE FROM files WHERE id = ?", known.id)
}

// put writes a document; where only the stamp of its file changed, only that.
func (w *writer) put(d *document) {
	f, known := &d.file, d.known
	if known != nil && known.hash == f.hash && known.skipped == f.skipped {
		f.id, f.words = known.id, known.words
		w.exec("UPDATE files SET size = ?, modified = ?, changed = ?, inode = ?, racy = ? WHERE id = ?",
			f.stamp.size, f.stamp.modified, f.stamp.changed, int64(f.stamp.inode), f.racy, f.id)
		return
	}
	if known != nil {
		w.remove(known)
	}
	w.updated++
	result := w.exec("INSERT INTO files(path, size, modified, changed, inode, hash, words, skipped, racy) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)",
		f.path, f.stamp.size, f.stamp.modified, f.stamp.changed, int64(f.stamp.inode), int64(f.hash), f.words, f.skipped, f.racy)
	if w.err != nil {
		return
	}
	f.id, w.err = result.LastInsertId()
	if f.skipped == "" {
		w.exec("INSERT INTO terms(rowid, held) VALUES(?, ?)", f.id, d.terms)
	}
}
