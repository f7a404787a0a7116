package index

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"time"

	sqlite3 "modernc.org/sqlite/lib"

	"savant/fault"
)

// busyAttempts is how often opening is tried while another process creates the
// database. SQLite itself does not wait for that.
const busyAttempts = 500

// load opens the database and reads its catalog. The caller must have exclusive use
// of both.
func (ix *Index) load(ctx context.Context) error {
	for attempt := 1; ; attempt++ {
		err := ix.loadOnce(ctx)
		if primary(err) != sqlite3.SQLITE_BUSY || attempt == busyAttempts {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(lockInterval):
		}
	}
}

func (ix *Index) loadOnce(ctx context.Context) error {
	db, err := openDatabase(ctx, ix.file)
	if err != nil {
		return err
	}
	read, listing, err := readCatalog(ctx, db)
	if err != nil {
		return errors.Join(err, db.Close())
	}
	opened, err := os.Stat(ix.file)
	if err != nil {
		return errors.Join(errStale, db.Close()) // it was removed meanwhile
	}
	ix.db, ix.opened, ix.catalog, ix.current = db, opened, read, false
	ix.saved = time.Time{}
	if listing != nil {
		ix.tree.Restore(listing, read.paths())
		ix.saved = ix.tree.ListedAt()
	}
	return nil
}

// replaced reports whether the open database is no longer the file in the cache
// folder, because it was removed or another process created a new one.
func (ix *Index) replaced() bool {
	if ix.db == nil {
		return true
	}
	now, err := os.Stat(ix.file)
	return err != nil || !os.SameFile(now, ix.opened)
}

// renew replaces a damaged database by the one that another process has put in its
// place, else by an empty one. It waits for running searches. Only Open and the
// holder of refreshing may call it.
func (ix *Index) renew(ctx context.Context) error {
	if err := os.MkdirAll(filepath.Dir(ix.file), 0o700); err != nil {
		return fault.New(fault.ToolFailed, "the cache folder of the index cannot be created: %w", fault.WithoutPath(err))
	}
	release, err := lock(ctx, ix.file)
	if err != nil {
		return err
	}
	defer release()
	ix.mutex.Lock()
	defer ix.mutex.Unlock()
	replaced := ix.replaced()
	if ix.db != nil {
		_ = ix.db.Close() // it is damaged or gone: nothing needs saving
		ix.db = nil
	}
	if replaced {
		if err := ix.load(ctx); !isStale(err) {
			return err
		}
	}
	if err := removeDatabase(ix.file); err != nil {
		return fault.New(fault.ToolFailed, "a damaged index cannot be removed from the cache folder: %w", err)
	}
	return ix.load(ctx)
}

// repair rebuilds an index that a search found damaged, unless another search has
// done so meanwhile.
func (ix *Index) repair(ctx context.Context, damaged *sql.DB) error {
	if err := ix.begin(ctx); err != nil {
		return err
	}
	defer ix.end()
	if ix.db == damaged {
		if err := ix.renew(ctx); err != nil {
			return err
		}
	}
	_, err := ix.refresh(ctx, func(int, int) {})
	return err
}
