package index

import (
	"context"
	"os"
	"time"
)

// Unread counts the files and folders that could not be read and so were not
// searched.
type Unread struct{ Files, Folders int }

// view is what the last look at the folder could not read.
type view struct {
	Unread
	oversize []string // files of rules
}

// Status says what is indexed.
type Status struct {
	Files   int            `json:"files"`
	Bytes   int64          `json:"bytes"`
	Skipped map[string]int `json:"skipped"` // by cause: files, and unreadable_folders
	// IndexBytes is the size of the index on disk, with its write-ahead log.
	IndexBytes int64 `json:"index_bytes"`
	// Updated is when the index last changed; zero if it was never built.
	Updated time.Time `json:"updated"`
}

// Status describes the index as of the last Open or Refresh of ix.
func (ix *Index) Status(ctx context.Context) (Status, error) {
	ix.mutex.RLock()
	defer ix.mutex.RUnlock()
	status := Status{Skipped: map[string]int{}}
	for _, each := range ix.catalog.files {
		if each.skipped != "" {
			status.Skipped[each.skipped]++
			continue
		}
		status.Files++
		status.Bytes += each.stamp.Size
	}
	if ix.unseen.Files > 0 {
		status.Skipped[skippedUnreadable] += ix.unseen.Files
	}
	if ix.unseen.Folders > 0 {
		status.Skipped[unreadableFolders] = ix.unseen.Folders
	}
	for _, each := range []string{ix.file, ix.file + "-wal"} {
		if info, err := os.Stat(each); err == nil {
			status.IndexBytes += info.Size()
		}
	}
	var built int64
	if ix.db == nil {
		return Status{}, coded(errStale)
	}
	if err := ix.db.QueryRowContext(ctx, "SELECT built FROM meta").Scan(&built); err != nil {
		return Status{}, coded(err)
	}
	if built > 0 {
		status.Updated = time.UnixMilli(built).UTC()
	}
	return status, nil
}
