package main

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"time"

	_ "modernc.org/sqlite" // the driver of FerretDB
)

// lookEvery is the polling interval for new collections.
const lookEvery = 50 * time.Millisecond

// indexed adds to every table the index that MongoDB has on _id. FerretDB makes one,
// but asks for the same value with another expression, so that SQLite reads the whole
// table for every find by _id.
type indexed struct {
	folder    string
	databases map[string]*sql.DB
	known     map[string]bool // tables that have the index
}

// run adds indexes until the context ends.
func (x *indexed) run(ctx context.Context) {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		files, _ := filepath.Glob(filepath.Join(x.folder, "*.sqlite"))
		for _, file := range files {
			if err := x.index(ctx, file); err != nil && ctx.Err() == nil {
				fmt.Fprintln(os.Stderr, "ferret: no index yet:", err)
			}
		}
	}
}

func (x *indexed) index(ctx context.Context, file string) error {
	database := x.databases[file]
	if database == nil {
		opened, err := sql.Open("sqlite", "file:"+file+"?_pragma=busy_timeout(10000)")
		if err != nil {
			return err
		}
		database = opened
		x.databases[file] = opened
	}
	tables, err := tablesOf(ctx, database)
	for _, table := range tables {
		if name := file + " " + table; err == nil && !x.known[name] {
			_, err = database.ExecContext(ctx, fmt.Sprintf(`CREATE INDEX IF NOT EXISTS %q ON %q (_ferretdb_sjson->'$._id')`, table+"_by_id", table))
			x.known[name] = err == nil
		}
	}
	return err
}

// tablesOf returns the tables of collections.
func tablesOf(ctx context.Context, database *sql.DB) ([]string, error) {
	rows, err := database.QueryContext(ctx, `SELECT name FROM sqlite_schema WHERE type = 'table' AND sql LIKE '%_ferretdb_sjson%'`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var tables []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		tables = append(tables, name)
	}
	return tables, rows.Err()
}
