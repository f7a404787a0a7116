package index

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"slices"
)

// Why a file is not indexed.
const (
	skippedBinary     = "binary"
	skippedLarge      = "too_large"
	skippedUnreadable = "unreadable"

	unreadableFolders = "unreadable_folders" // whose files nobody knows
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

// edition tells the states of an index apart.
type edition struct {
	generation int64 // each writer raises it
	built      int64 // when it was raised, in milliseconds since 1970: an index begun anew counts from 0 again
}

// catalog is the table of files, in memory: queries and refreshes would read
// all of it each time. It is never changed.
type catalog struct {
	edition edition
	files   []*file // by path
	byID    []*file // nil where no file has that id
	indexed int     // files that are not skipped
	unread  int     // files that could not be read
	words   int64   // in all files
}

// newCatalog returns a catalog of files that are sorted by path.
func newCatalog(of edition, files []*file) *catalog {
	c := &catalog{edition: of, files: files}
	var last int64
	for _, f := range files {
		last = max(last, f.id)
		if f.skipped == "" {
			c.indexed++
			c.words += int64(f.words)
		}
		if f.skipped == skippedUnreadable {
			c.unread++
		}
	}
	c.byID = make([]*file, last+1)
	for _, f := range files {
		c.byID[f.id] = f
	}
	return c
}

// readCatalog reads the table of files. errStale is one that no index writes.
func readCatalog(ctx context.Context, db *sql.DB) (*catalog, error) {
	tx, err := db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	defer func() { _ = tx.Rollback() }() // it only reads
	of, err := editionOf(ctx, tx)
	if err != nil {
		return nil, err
	}
	files, err := readFiles(ctx, tx)
	if err != nil {
		return nil, err
	}
	return newCatalog(of, files), nil
}

func readFiles(ctx context.Context, tx *sql.Tx) (files []*file, err error) {
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
		if f.id < 1 || f.id > maxID {
			return nil, errStale
		}
		f.stamp.inode, f.hash = uint64(inode), uint64(hash)
		files = append(files, f)
	}
	slices.SortFunc(files, byPath)
	return files, rows.Err()
}

// maxID bounds the ids of files, which tables in memory are as long as. They
// grow with each change of a file; an index that came so far is built anew.
const maxID = 4 * maxFiles

// querier is a database or a transaction.
type querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

func editionOf(ctx context.Context, from querier) (of edition, err error) {
	err = from.QueryRowContext(ctx, "SELECT generation, built FROM meta").Scan(&of.generation, &of.built)
	if errors.Is(err, sql.ErrNoRows) {
		err = errStale
	}
	return of, err
}

// with returns a catalog with other files: removed ones are of this catalog,
// and one of a path that is here already takes its place.
func (c *catalog) with(of edition, removed, put []*file) *catalog {
	leaving := make(map[*file]bool, len(removed))
	for _, f := range removed {
		leaving[f] = true
	}
	slices.SortFunc(put, byPath)
	files := make([]*file, 0, len(c.files)+len(put))
	for _, f := range c.files {
		for len(put) > 0 && put[0].path < f.path {
			files, put = append(files, put[0]), put[1:]
		}
		replaced := len(put) > 0 && put[0].path == f.path
		if !replaced && !leaving[f] {
			files = append(files, f)
		}
	}
	return newCatalog(of, append(files, put...))
}

func byPath(a, b *file) int { return cmp.Compare(a.path, b.path) }

// at returns the file with an id, or nil.
func (c *catalog) at(id int64) *file {
	if id < 0 || id >= int64(len(c.byID)) {
		return nil
	}
	return c.byID[id]
}

// averageWords returns the mean length of a file.
func (c *catalog) averageWords() float64 {
	return float64(c.words+1) / float64(max(1, c.indexed))
}
