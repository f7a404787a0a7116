package state

import (
	"context"
	"path"
	"slices"
	"strings"
	"sync"
	"time"
)

// gcDelay is how long after Open the garbage collection of temporary files
// begins: a program that is over by then has no use for it.
const gcDelay = time.Second

// staleAge is how long a temporary file is left alone: no replacement takes so
// long.
const staleAge = time.Hour

// gcLater removes stale temporary files a moment after the store was opened.
func (d *Dir) gcLater() {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Add(1)
	timer := time.AfterFunc(gcDelay, func() {
		defer running.Done()
		_, _ = d.GCTemporary(ctx) // what stays is in nobody's way
	})
	d.endGC = func() {
		cancel()
		if timer.Stop() {
			running.Done()
		}
		running.Wait()
	}
}

// GCTemporary removes the temporary files that interrupted replacements left,
// and returns how many: those that nobody has written to for an hour.
func (d *Dir) GCTemporary(ctx context.Context) (removed int, err error) {
	for _, top := range []string{stateFolder, artifactFolder, receiptFolder} {
		count, err := d.gcFolder(ctx, top, 2)
		removed += count
		if err != nil {
			return removed, err
		}
	}
	return removed, nil
}

// gcFolder removes the stale temporary files of a folder and of those below
// it, to a depth.
func (d *Dir) gcFolder(ctx context.Context, folder string, depth int) (removed int, err error) {
	if ctx.Err() != nil {
		return 0, interrupted(ctx, folder)
	}
	names, err := d.disk.Names(folder)
	if err != nil {
		return 0, nil // not there, or no folder
	}
	for _, name := range names {
		below := path.Join(folder, name)
		switch {
		case strings.HasPrefix(name, ".") && strings.HasSuffix(name, temporarySuffix): // as atomicfile names them
			removed += d.removeStale(below)
		case depth > 0 && mayBeFolder(name):
			count, err := d.gcFolder(ctx, below, depth-1)
			removed += count
			if err != nil {
				return removed, err
			}
		}
	}
	return removed, nil
}

// mayBeFolder tells the folders of the store from its files by their names, so
// that the collection need not ask the disk about each of thousands.
func mayBeFolder(name string) bool {
	return !strings.HasSuffix(name, journalSuffix) && !strings.HasSuffix(name, jsonSuffix) && !digestPattern().MatchString(name)
}

func (d *Dir) removeStale(name string) int {
	found, err := d.disk.Stat(name)
	if err != nil || d.now().Sub(found.modified) < staleAge || d.disk.Remove(name) != nil {
		return 0
	}
	return 1
}

// The bounds of the receipts that are kept. A receipt is of use between a call
// and the step it answers. Between two collections the folder may grow beyond
// them by some.
const (
	maxReceipts     = 2000
	maxReceiptBytes = 128 << 20
	maxReceiptAge   = 7 * 24 * time.Hour
)

// collectsReceipts picks one receipt in 1,024 to start a collection: it looks at
// 2,000 files, which takes as long as writing 100. Ids are random, so processes
// need not share a count.
func collectsReceipts(id string) bool { return id[:2] == "aa" }

// kept is a receipt's file.
type kept struct {
	name string
	stat stat
}

// gcReceipts removes the oldest receipts beyond the bounds. What cannot be
// removed stays until the next collection.
func (d *Dir) gcReceipts(ctx context.Context) {
	files := d.receipts(ctx)
	slices.SortFunc(files, func(a, b kept) int { return b.stat.modified.Compare(a.stat.modified) })
	var bytes int64
	for i, each := range files {
		bytes += each.stat.size
		if i >= maxReceipts || bytes > maxReceiptBytes || d.now().Sub(each.stat.modified) >= maxReceiptAge {
			_ = d.disk.Remove(each.name)
		}
	}
}

// receipts lists the receipts that are kept, unsorted; none once ctx ended.
func (d *Dir) receipts(ctx context.Context) []kept {
	names, err := d.disk.Names(receiptFolder)
	if err != nil {
		return nil
	}
	files := make([]kept, 0, len(names))
	for _, name := range names {
		if ctx.Err() != nil {
			return nil
		}
		id, ok := strings.CutSuffix(name, jsonSuffix)
		if !ok || !receiptPattern().MatchString(id) {
			continue
		}
		name = path.Join(receiptFolder, name)
		if found, err := d.disk.Stat(name); err == nil {
			files = append(files, kept{name, found})
		}
	}
	return files
}
