package index

import (
	"context"
	"database/sql"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"savant/engines/repo/files"
	"savant/fault"
	"savant/internal/filelock"
)

// version is the version of the index's format. An index of another version is
// rebuilt.
const version = 2

// ddl creates the tables. The index stays small because it keeps only a set of
// terms for each file (detail=none) and no text (content=”). meta has one row;
// listing is the State of a files.Tree, or NULL. deletemerge is the share of changed
// files, in percent, after which SQLite rewrites a large segment: at its default of 10
// every fifth search after 1,000 of 50,000 files changed took five times as long.
const ddl = `
CREATE TABLE files(id INTEGER PRIMARY KEY, path TEXT NOT NULL, state BLOB NOT NULL);
CREATE VIRTUAL TABLE terms USING fts5(held, content='', contentless_delete=1, detail=none, tokenize="ascii tokenchars '_:/+'");
INSERT INTO terms(terms, rank) VALUES('hashsize', 8388608);
INSERT INTO terms(terms, rank) VALUES('automerge', 8);
INSERT INTO terms(terms, rank) VALUES('deletemerge', 40);
CREATE TABLE meta(generation INTEGER, built INTEGER, listing BLOB);
INSERT INTO meta VALUES(0, 0, NULL);
PRAGMA user_version = 2;
`

// optimize merges the segments that a build leaves into one. Queries are then
// several times faster (https://sqlite.org/fts5.html#the_optimize_command).
const optimize = "INSERT INTO terms(terms) VALUES('optimize')"

// connections bounds how many queries run at once. Each connection has its own page
// cache of 4 MB.
const (
	connections  = 3
	pragmas      = "&_pragma=cache_size(-4000)&_pragma=synchronous(normal)&_pragma=journal_size_limit(4194304)&_pragma=wal_autocheckpoint(1000)"
	mainPragmas  = "?_pragma=busy_timeout(10000)&_pragma=journal_mode(wal)&_txlock=immediate" + pragmas
	lockInterval = 10 * time.Millisecond
)

func openFile(file, pragmas string) (*sql.DB, error) {
	return sql.Open("sqlite", (&url.URL{Scheme: "file", Path: filepath.ToSlash(file)}).String()+pragmas)
}

// openDatabase opens the file of an index and creates the tables in a new one. It
// returns errStale if the index must be rebuilt.
func openDatabase(ctx context.Context, file string) (*sql.DB, error) {
	db, err := openFile(file, mainPragmas)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(connections)
	var found int
	err = db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&found)
	if err == nil && found == 0 {
		_, err = db.ExecContext(ctx, "BEGIN IMMEDIATE;"+ddl+"COMMIT")
	} else if err == nil && found != version {
		err = errStale
	}
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// errStale means that the index must be rebuilt.
var errStale = errors.New("the index has another version, or is damaged")

// isStale reports whether rebuilding the index can fix the error.
func isStale(err error) bool {
	if errors.Is(err, errStale) {
		return true
	}
	switch primary(err) {
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_SCHEMA, sqlite3.SQLITE_FORMAT, sqlite3.SQLITE_ERROR:
		return true
	}
	return false
}

// primary returns SQLite's primary result code, or -1.
func primary(err error) int {
	var coded *sqlite.Error
	if !errors.As(err, &coded) {
		return -1
	}
	return coded.Code() & 0xff
}

// removeDatabase removes the files of a damaged index.
func removeDatabase(file string) error {
	var failed error
	for _, each := range []string{file, file + "-wal", file + "-shm", file + "-journal"} {
		if err := os.Remove(each); err != nil && !errors.Is(err, os.ErrNotExist) {
			failed = errors.Join(failed, fault.WithoutPath(err))
		}
	}
	return failed
}

// lock takes the lock of an index's only writer, across processes. It waits until
// ctx ends. Readers need no lock. The system releases it when the process ends.
func lock(ctx context.Context, file string) (release func(), err error) {
	opened, err := os.OpenFile(file+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, notWritten(fault.WithoutPath(err))
	}
	if err := filelock.Acquire(ctx, "the index in the user's cache folder", func() (bool, error) { return filelock.TryLock(opened, true) }); err != nil {
		return nil, errors.Join(err, opened.Close())
	}
	return func() { _ = opened.Close() }, nil // nothing is written to the lock's file
}

func notWritten(cause error) error {
	return fault.New(fault.ToolFailed, "the index cannot be written in the user's cache folder: %w; %s", cause, otherCache())
}

// coded turns an error of the index into a fault.Error that says what the user can
// do.
func coded(err error) error {
	var failure *fault.Error
	switch {
	case err == nil || errors.As(err, &failure):
		return err
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return files.Stopped(err)
	}
	switch primary(err) {
	case sqlite3.SQLITE_FULL:
		return fault.New(fault.ToolFailed, "the disk that holds the user's cache folder is full: make room and search again (the index built so far is kept), or %s", otherCache())
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM:
		return notWritten(err)
	case sqlite3.SQLITE_INTERRUPT:
		return files.Stopped(context.Canceled)
	}
	return fault.New(fault.ToolFailed, "the index failed: %w", err)
}
