package state

import (
	"context"
	"path"
	"slices"
	"strings"
	"time"
)

// The bounds of the receipts that are kept. A receipt is of use between a call
// and the step it answers; a run that a person left standing goes on with a new
// call. Between two prunings the folder may grow beyond by some.
const (
	maxReceipts     = 2000
	maxReceiptBytes = 128 << 20
	maxReceiptAge   = 7 * 24 * time.Hour
)

// prunesAlong picks one receipt in 1,024 to prune with: looking at 2,000 files
// takes as long as writing 100. Ids are random, so this needs no count that
// processes would have to share: also where each call is a process of its own,
// the folder is pruned.
func prunesAlong(id string) bool { return id[:2] == "aa" }

// kept is a receipt's file.
type kept struct {
	name string
	stat stat
}

// pruneReceipts removes the oldest receipts beyond the bounds. What cannot be
// removed stays: it is in nobody's way, and the next pruning tries again.
func (d *Dir) pruneReceipts(ctx context.Context) {
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
