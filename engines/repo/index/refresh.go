package index

import (
	"context"
	"errors"
	"slices"

	"savant/engines/repo/files"
)

// Progress is called while the index is built: done files of total.
type Progress func(done, total int)

// Changes says what a Refresh found.
type Changes struct {
	// Updated files are new or have other content; Removed ones are gone.
	Updated, Removed int
	// First is true if nothing was indexed before this Refresh.
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
	known *file // its entry in the catalog, or nil
}

func (w work) empty() bool { return len(w.updated) == 0 && len(w.removed) == 0 }

// Refresh brings the index up to date with the folder: all files the first time,
// later those whose stamp changed. It is cheap if nothing changed. If ctx ends,
// the work done is kept and the next Refresh continues it. One process writes at a
// time; the others wait. A damaged index is rebuilt. progress may be nil. Errors
// are TOOL_FAILED.
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

// begin takes the lock refreshing; end releases it.
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
	ix.unseen.oversize = ix.tree.Oversize()
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

// follow reads the catalog again if another process has written. It returns errStale
// if the file of the index was replaced.
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

// publish makes searches use another catalog.
func (ix *Index) publish(next *catalog) {
	ix.mutex.Lock()
	defer ix.mutex.Unlock()
	ix.catalog, ix.current = next, false
}

// compare returns what differs between the folder and the index. A racy file, and
// one that could not be read, counts as changed in every refresh until its stamp
// can be trusted. If there is no such file and nothing differs, the index is
// current until the folder or the index changes.
func (ix *Index) compare() work {
	var todo work
	certain := true
	left, stamps := ix.catalog.files, ix.tree.Stamps() // left and the names are sorted
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
		racy := seen.Racy(ix.tree.StampedAt())
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

// saveListing saves a new listing in the index for the next process, unless another
// process has written meanwhile. The index must have the listing's files. If saving
// fails, the next process lists the files itself.
func (ix *Index) saveListing(ctx context.Context) {
	if ix.saved.Equal(ix.tree.ListedAt()) {
		return
	}
	listing := ix.tree.State()
	if listing == nil {
		return
	}
	now := ix.catalog.edition
	_, err := ix.db.ExecContext(ctx, "UPDATE meta SET listing = ? WHERE generation = ? AND built = ?", listing, now.generation, now.built)
	if err == nil {
		ix.saved = ix.tree.ListedAt()
	}
}

// write applies the work in several transactions. It reads files for the next one
// meanwhile.
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
		_, _ = ix.db.ExecContext(ctx, optimize) // without it, the index is correct but slower
	}
	progress(done, len(todo.updated))
	ix.saveListing(ctx)
	return b.done, nil
}
