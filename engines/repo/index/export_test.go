package index

import (
	"context"
	"fmt"

	"savant/engines/repo/files"
)

// Tree returns what an index knows of its folder.
func Tree(ix *Index) *files.Tree { return ix.tree }

// Current says whether the index has what the folder has, and no file changed
// too recently for its stamp to tell.
func Current(ix *Index) bool { return ix.current }

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

// Search asks an index as it is, without a look at the folder.
func Search(ctx context.Context, ix *Index, query *ParsedQuery) ([]Row, error) {
	rows, _, _, err := ix.search(ctx, query)
	return rows, err
}
