package index

import (
	"context"
	"fmt"

	"savant/engines/repo/files"
)

// Tree returns what an index knows of its folder.
func Tree(ix *Index) *files.Tree { return ix.tree }

// Current reports whether the index agrees with the folder and no file is racy.
func Current(ix *Index) bool { return ix.current }

// LimitSize lets an index grow by at most some pages, to simulate a full disk. It
// leaves the index one connection, since SQLite's limit applies to a connection.
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

// Search searches an index without bringing it up to date.
func Search(ctx context.Context, ix *Index, query *ParsedQuery) ([]Row, error) {
	rows, _, _, err := ix.search(ctx, query)
	return rows, err
}
