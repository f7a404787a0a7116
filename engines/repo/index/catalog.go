package index

import (
	"context"
	"database/sql"
	"errors"
)

// Why a file is not indexed.
const (
	skippedBinary     = "binary"
	skippedLarge      = "too_large"
	skippedUnreadable = "unreadable"
)

// file is a row of the catalog.
type file struct {
	id      int64
	path    string
	stamp   stamp
	hash    uint64 // of its content
	words   int    // how many it has
	skipped string // why it is not indexed, or ""
	racy    bool   // it may have changed since without its stamp changing
}

// catalog is the table of files, in memory: queries and refreshes would read
// all of it each time.
type catalog struct {
	generation int64 // of the index: each writer raises it
	files      map[string]*file
	byID       map[int64]*file
	indexed    int   // files that are not skipped
	words      int64 // in all files
	last       int64 // the highest id
}

func newCatalog() *catalog {
	return &catalog{files: map[string]*file{}, byID: map[int64]*file{}}
}

func readCatalog(ctx context.Context, db *sql.DB) (_ *catalog, err error) {
	c := newCatalog()
	tx, err := db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	defer func() { _ = tx.Rollback() }() // it only reads
	if c.generation, err = generation(ctx, tx); err != nil {
		return nil, err
	}
	rows, err := tx.QueryContext(ctx, "SELECT id, path, size, modified, changed, inode, hash, words, skipped, racy FROM files")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		f := new(file)
		var inode, hash int64
		if err := rows.Scan(&f.id, &f.path, &f.stamp.size, &f.stamp.modified, &f.stamp.changed, &inode, &hash, &f.words, &f.skipped, &f.racy); err != nil {
			return nil, err
		}
		f.stamp.inode, f.hash = uint64(inode), uint64(hash)
		c.put(f)
	}
	return c, rows.Err()
}

// querier is a database or a transaction.
type querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

func generation(ctx context.Context, from querier) (number int64, err error) {
	err = from.QueryRowContext(ctx, "SELECT generation FROM meta").Scan(&number)
	if errors.Is(err, sql.ErrNoRows) {
		err = errStale
	}
	return number, err
}

func (c *catalog) put(f *file) {
	c.remove(f.path)
	c.files[f.path], c.byID[f.id] = f, f
	c.last = max(c.last, f.id)
	if f.skipped == "" {
		c.indexed++
		c.words += int64(f.words)
	}
}

func (c *catalog) remove(path string) {
	f, known := c.files[path]
	if !known {
		return
	}
	delete(c.files, path)
	delete(c.byID, f.id)
	if f.skipped == "" {
		c.indexed--
		c.words -= int64(f.words)
	}
}

// averageWords returns the mean length of a file.
func (c *catalog) averageWords() float64 {
	return float64(c.words+1) / float64(max(1, c.indexed))
}
