package index

import (
	"context"
	"errors"
	"slices"

	"savant/engines/repo/files"
)

// Progress is told how far building has come: files done of all there are.
type Progress func(done, total int)

// Changes says what a Refresh found.
type Changes struct {
	// Updated files are new or have other content; Removed ones are gone.
	Updated, Removed int
	// First is a Refresh that found nothing indexed before it.
	First bool
}

// work is what a refresh has to do.
type work struct {
	updated []candidate
	removed []*file
}

// candidate is a file that may have changed.
type candidate struct {
	path  string
	stamp files.Stamp
	racy  bool
	known *file // as it is in the catalog, or nil
}

func (w work) empty() bool { return len(w.updated) == 0 && len(w.removed) == 0 }

// Refresh brings the index up to date with the folder: all files the first
// time, then those whose stamp changed. It is cheap when nothing has changed.
// What was done when ctx ends is kept, and the next Refresh goes on from there.
// Of several processes one writes, the others wait. A damaged index is built
// anew. Progress may be nil. Errors are TOOL_FAILED.
func (ix *Index) Refresh(ctx context.Context, progress Progress) (Changes, error) {
	if progress == nil {
		progress = func(int, int) {}
	}
	if err := ix.begin(ctx); err != nil {
		return Changes{}, err
	}
	defer ix.end()
	changes, err := ix.refresh(ctx, progress)
	if isStale(err) && ctx.Err() == nil {
		if err = ix.renew(ctx); err == nil {
			changes, err = ix.refresh(ctx, progress)
		}
	}
	return changes, coded(err)
}

// begin waits until nobody else refreshes; end lets the next one.
func (ix *Index) begin(ctx context.Context) error {
	select {
	case ix.refreshing <- struct{}{}:
		return nil
	case <-ctx.Done():
		return files.Stopped(ctx.Err())
	}
}

func (ix *Index) end() { <-ix.refreshing }

func (ix *Index) refresh(ctx context.Context, progress Progress) (Changes, error) {
	changed, err := ix.tree.Look(ctx)
	if changed || err != nil {
		ix.current = false
	}
	if err != nil {
		return Changes{}, err
	}
	ix.mutex.Lock()
	ix.unseen.Files, ix.unseen.Folders = ix.tree.Unread()
	ix.mutex.Unlock()
	if err := ix.follow(ctx); err != nil {
		return Changes{}, err
	}
	if ix.current {
		return Changes{}, nil
	}
	if ix.compare().empty() {
		ix.saveListing(ctx)
		return Changes{}, nil
	}
	release, err := lock(ctx, ix.file)
	if err != nil {
		return Changes{}, err
	}
	defer release()
	if err := ix.follow(ctx); err != nil { // another process may have written while this one waited
		return Changes{}, err
	}
	return ix.write(ctx, ix.compare(), progress)
}

// follow reads the catalog again if another process has written. errStale: the
// file of the index was replaced.
func (ix *Index) follow(ctx context.Context) error {
	if ix.replaced() {
		return errStale
	}
	now, err := editionOf(ctx, ix.db)
	if err != nil || now == ix.catalog.edition {
		return err
	}
	read, _, err := readCatalog(ctx, ix.db)
	if err != nil {
		return err
	}
	ix.publish(read)
	return nil
}

// publish lets searches see another catalog.
func (ix *Index) publish(next *catalog) {
	ix.mutex.Lock()
	defer ix.mutex.Unlock()
	ix.catalog, ix.current = next, false
}

// compare returns what differs between the folder and the index. A racy file is
// read again until its stamp can be trusted, and so is one that could not be
// read. Without one, an index that does not differ is current until the folder
// or the index changes.
func (ix *Index) compare() work {
	var todo work
	certain := true
	left, stamps := ix.catalog.files, ix.tree.Stamps() // names and left are both sorted
	for i, path := range ix.tree.Names() {
		seen := stamps[i]
		if seen == (files.Stamp{}) {
			continue
		}
		for len(left) > 0 && left[0].path < path {
			todo.removed, left = append(todo.removed, left[0]), left[1:]
		}
		var known *file
		if len(left) > 0 && left[0].path == path {
			known, left = left[0], left[1:]
		}
		racy := seen.Racy(ix.tree.Taken())
		doubtful := known != nil && (known.racy || known.skipped == skippedUnreadable)
		if known == nil || known.stamp != seen || doubtful {
			todo.updated = append(todo.updated, candidate{path, seen, racy, known})
		}
		certain = certain && !racy && !doubtful
	}
	todo.removed = append(todo.removed, left...)
	ix.current = certain && todo.empty()
	return todo
}

// saveListing leaves a new listing to the next process, unless another process
// has written meanwhile. The index has its files. If saving fails, the next
// process lists the files itself.
func (ix *Index) saveListing(ctx context.Context) {
	if ix.saved.Equal(ix.tree.Listed()) {
		return
	}
	listing := ix.tree.State()
	if listing == nil {
		return
	}
	now := ix.catalog.edition
	_, err := ix.db.ExecContext(ctx, "UPDATE meta SET listing = ? WHERE generation = ? AND built = ?", listing, now.generation, now.built)
	if err == nil {
		ix.saved = ix.tree.Listed()
	}
}

// write applies work in several transactions, while files are read for the next.
func (ix *Index) write(ctx context.Context, todo work, progress Progress) (Changes, error) {
	ctx, cancel := context.WithCancel(ctx)
	byID(todo.updated)
	slices.SortFunc(todo.removed, func(x, y *file) int { return int(x.id - y.id) })
	b := &batches{index: ix, done: Changes{First: ix.catalog.edition.generation == 0}}
	documents := ix.readAll(ctx, todo.updated)
	defer func() { // ends the reading and waits for it
		cancel()
		for range documents {
		}
	}()
	defer b.rollback()
	b.remove(ctx, todo.removed)
	done := 0
	for read := range documents {
		done += len(read)
		for _, each := range read {
			b.add(ctx, each)
		}
		if !b.full() {
			continue
		}
		if err := b.commit(ctx); err != nil {
			return b.done, err
		}
		progress(done, len(todo.updated))
	}
	if err := errors.Join(ctx.Err(), b.commit(ctx)); err != nil {
		return b.done, err
	}
	if 2*b.done.Updated >= len(ix.catalog.files) {
		_, _ = ix.db.ExecContext(ctx, optimize) // an index in several segments is as correct, only slower
	}
	progress(done, len(todo.updated))
	ix.saveListing(ctx)
	return b.done, nil
}
