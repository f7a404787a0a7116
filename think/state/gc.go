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

// staleAge is the age from which a temporary file counts as abandoned; no replacement
// takes that long.
const staleAge = time.Hour

// gcLater removes stale temporary files a moment after the store was opened.
func (d *Dir) gcLater() {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		select {
		case <-ctx.Done():
		case <-time.After(gcDelay):
			_, _ = d.GCTemporary(ctx) // remaining files do no harm
		}
	})
	d.endGC = func() {
		cancel()
		running.Wait()
	}
}

// GCTemporary removes the temporary files of interrupted replacements, those unmodified
// for an hour, and returns their number.
func (d *Dir) GCTemporary(ctx context.Context) (removed int, err error) {
	for _, top := range []string{stateFolder, artifactFolder, receiptFolder} {
		err := d.walk(ctx, top, func(name string, found stat) error {
			base := path.Base(name) // as atomicfile names them
			if strings.HasPrefix(base, ".") && strings.HasSuffix(base, temporarySuffix) &&
				d.options.Now().Sub(found.modified) >= staleAge && d.disk.Remove(name) == nil {
				removed++
			}
			return nil
		})
		if err != nil {
			return removed, err
		}
	}
	return removed, nil
}

// walk visits the files below a folder. A folder that is not there has none.
func (d *Dir) walk(ctx context.Context, folder string, visit func(name string, found stat) error) error {
	if ctx.Err() != nil {
		return interrupted(ctx, folder)
	}
	entries, err := d.disk.Entries(folder)
	if err != nil && !absent(err) {
		return notRead(folder, err)
	}
	for _, each := range entries {
		name := path.Join(folder, each.name)
		if each.folder {
			err = d.walk(ctx, name, visit)
		} else {
			err = visit(name, each.stat)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// The bounds of the receipts that are kept. A receipt is of use between a call
// and the step it answers. Between two collections the folder may grow beyond
// them by some.
const (
	maxReceipts     = 2000
	maxReceiptBytes = 128 << 20
	maxReceiptAge   = 7 * 24 * time.Hour
)

// gcID prefixes the ids of receipts that trigger a collection, one in 1,024. A
// collection stats 2,000 files, which costs as much as writing 100. Ids are random, so
// processes need no shared counter.
const gcID = "aa"

// gcReceipts removes the oldest receipts beyond the bounds. A failed removal is left to
// the next collection.
func (d *Dir) gcReceipts() {
	files, err := d.disk.Entries(receiptFolder)
	if err != nil {
		return
	}
	receipts, latest, uses := []entry{}, []entry{}, []entry{}
	for _, each := range files {
		id, isJSON := strings.CutSuffix(each.name, jsonSuffix)
		switch {
		case isLatestCall(each.name):
			latest = append(latest, each)
		case strings.HasPrefix(each.name, usePrefix):
			uses = append(uses, each)
		case isJSON && receiptPattern().MatchString(id):
			receipts = append(receipts, each)
		}
	}
	d.removeOldest(receipts)
	d.removeOldest(latest)
	d.removeOldest(uses)
}

// removeOldest removes the oldest of some files beside the receipts beyond the bounds.
func (d *Dir) removeOldest(files []entry) {
	slices.SortFunc(files, func(a, b entry) int { return b.stat.modified.Compare(a.stat.modified) })
	var bytes int64
	for i, each := range files {
		bytes += each.stat.size
		if i >= maxReceipts || bytes > maxReceiptBytes || d.options.Now().Sub(each.stat.modified) >= maxReceiptAge {
			_ = d.disk.Remove(path.Join(receiptFolder, each.name))
		}
	}
}
