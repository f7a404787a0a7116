package index

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"slices"

	"savant/engines/repo/files"
)

// Why a file is not indexed.
const (
	skippedBinary     = "binary"
	skippedLarge      = "too_large"
	skippedUnreadable = "unreadable"
	skippedWithheld   = "withheld" // because of its content

	unreadableFolders = "unreadable_folders" // their files are not known
)

// causes has each cause at the index that the database stores for it.
var causes = []string{"", skippedBinary, skippedLarge, skippedUnreadable, skippedWithheld}

// file is a row of the catalog.
type file struct {
	id      int64
	path    string
	stamp   files.Stamp
	hash    uint64 // of its content
	words   int    // number of words
	skipped string // why it is not indexed, or ""
	racy    bool   // its content may have changed although its stamp has not
}

// stateSize is the length of a file's state in the database: seven little-endian
// numbers of 8 bytes. Opening an index reads every file's state, and one value is
// read several times faster than a column for each number.
const stateSize = 7 * 8

// state encodes all fields of a file except its id and path.
func (f *file) state() []byte {
	flags := uint64(slices.Index(causes, f.skipped)) << 1
	if f.racy {
		flags |= 1
	}
	data := make([]byte, 0, stateSize)
	for _, number := range []uint64{uint64(f.stamp.Size), uint64(f.stamp.Modified), uint64(f.stamp.Changed), f.stamp.Inode, f.hash, uint64(f.words), flags} {
		data = binary.LittleEndian.AppendUint64(data, number)
	}
	return data
}

// restore decodes a state. It returns false for a state that no index writes.
func (f *file) restore(state []byte) bool {
	if len(state) != stateSize || f.id < 1 || f.id > maxID {
		return false
	}
	number := func(i int) uint64 { return binary.LittleEndian.Uint64(state[8*i:]) }
	f.stamp = files.Stamp{Size: int64(number(0)), Modified: int64(number(1)), Changed: int64(number(2)), Inode: number(3)}
	f.hash, f.words, f.racy = number(4), int(number(5)), number(6)&1 != 0
	cause := number(6) >> 1
	if cause >= uint64(len(causes)) {
		return false
	}
	f.skipped = causes[cause]
	return true
}

// edition identifies a state of an index.
type edition struct {
	generation int64 // each writer increases it; 0 in a new index
	built      int64 // when that was, in milliseconds since 1970
}

// catalog is the table of files. It is kept in memory because each search and each
// refresh needs all of it. A catalog is immutable.
type catalog struct {
	edition edition
	files   []*file // by path
	byID    []*file // nil where no file has that id
	indexed int     // files that are not skipped
	unread  int     // files that could not be read
	words   int64   // of all files
}

// newCatalog returns a catalog of files that are sorted by path.
func newCatalog(of edition, sorted []*file) *catalog {
	c := &catalog{edition: of, files: sorted}
	var last int64
	for _, f := range sorted {
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
	for _, f := range sorted {
		c.byID[f.id] = f
	}
	return c
}

// readCatalog reads the table of files and the listing that was saved last. It
// returns errStale for a table that no index writes.
func readCatalog(ctx context.Context, db *sql.DB) (read *catalog, listing []byte, err error) {
	tx, err := db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = tx.Rollback() }() // it only reads
	of, err := editionOf(ctx, tx)
	if err != nil {
		return nil, nil, err
	}
	if err := tx.QueryRowContext(ctx, "SELECT listing FROM meta").Scan(&listing); err != nil {
		return nil, nil, err
	}
	sorted, err := readFiles(ctx, tx)
	if err != nil {
		return nil, nil, err
	}
	return newCatalog(of, sorted), listing, nil
}

func readFiles(ctx context.Context, tx *sql.Tx) (read []*file, err error) {
	rows, err := tx.QueryContext(ctx, "SELECT id, path, state FROM files")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	var state sql.RawBytes
	for rows.Next() {
		f := new(file)
		if err := rows.Scan(&f.id, &f.path, &state); err != nil {
			return nil, err
		}
		if !f.restore(state) {
			return nil, errStale
		}
		read = append(read, f)
	}
	slices.SortFunc(read, byPath)
	for i := 1; i < len(read); i++ {
		if read[i].path == read[i-1].path { // written by two processes without locks
			return nil, errStale
		}
	}
	return read, rows.Err()
}

// maxID bounds the ids of files, because tables in memory are as long as the
// largest id. An index that reaches it is rebuilt.
const maxID = 4_000_000

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

// with returns this catalog without the removed files and with those of put. A file
// of put replaces the one that has its path.
func (c *catalog) with(of edition, removed, put []*file) *catalog {
	leaving := make(map[*file]bool, len(removed))
	for _, f := range removed {
		leaving[f] = true
	}
	slices.SortFunc(put, byPath)
	merged := make([]*file, 0, len(c.files)+len(put))
	for _, f := range c.files {
		for len(put) > 0 && put[0].path < f.path {
			merged, put = append(merged, put[0]), put[1:]
		}
		replaced := len(put) > 0 && put[0].path == f.path
		if !replaced && !leaving[f] {
			merged = append(merged, f)
		}
	}
	return newCatalog(of, append(merged, put...))
}

func byPath(a, b *file) int { return cmp.Compare(a.path, b.path) }

// paths returns the paths of all files, sorted.
func (c *catalog) paths() []string {
	paths := make([]string, len(c.files))
	for i, f := range c.files {
		paths[i] = f.path
	}
	return paths
}

// fileByID returns the file with an id, or nil.
func (c *catalog) fileByID(id int64) *file {
	if id < 0 || id >= int64(len(c.byID)) {
		return nil
	}
	return c.byID[id]
}

// averageWords returns the mean length of a file.
func (c *catalog) averageWords() float64 {
	return float64(c.words+1) / float64(max(1, c.indexed))
}
