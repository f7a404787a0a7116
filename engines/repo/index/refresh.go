package index

import (
	"context"
	"errors"
	"time"
)

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
	stamp stamp
	racy  bool
	known *file // as it is in the catalog, or nil
}

func (w work) empty() bool { return len(w.updated) == 0 && len(w.removed) == 0 }

// Refresh brings the index up to date with the folder: all files the first
// time, then those whose stamp changed. It is cheap when nothing has changed.
// What was done when ctx ends is kept, and the next Refresh goes on from there.
// Of several processes one writes, the others wait. Progress may be nil.
func (ix *Index) Refresh(ctx context.Context, progress Progress) (Changes, error) {
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
	if err == nil {
		ix.tidy(ctx, changes)
	}
	return changes, coded(err)
}

// begin waits until nobody else refreshes; end lets the next one.
func (ix *Index) begin(ctx context.Context) error {
	select {
	case ix.refreshing <- struct{}{}:
		return nil
	case <-ctx.Done():
		return stopped(ctx.Err())
	}
}

func (ix *Index) end() { <-ix.refreshing }

func (ix *Index) refresh(ctx context.Context, progress Progress) (Changes, error) {
	changed, err := ix.tree.look(ctx)
	if changed || err != nil {
		ix.settled = unsettled // also where this refresh fails further on
	}
	if err != nil {
		return Changes{}, err
	}
	ix.mutex.Lock()
	ix.unseen = Unread{Files: ix.tree.unread, Folders: ix.tree.listing.Unread}
	ix.mutex.Unlock()
	if err := ix.follow(ctx); err != nil {
		return Changes{}, err
	}
	if ix.settled == ix.catalog.edition || ix.compare().empty() {
		return Changes{}, nil
	}
	release, err := lock(ctx, ix.file)
	if err != nil {
		return Changes{}, err
	}
	defer release()
	if err := ix.follow(ctx); err != nil { // while waiting another process may have done it
		return Changes{}, err
	}
	todo := ix.compare()
	if todo.empty() {
		return Changes{}, nil
	}
	changes, err := ix.write(ctx, todo, progress)
	if changes.Updated >= worthSaving {
		ix.save() // should this process be killed
	}
	return changes, err
}

// worthSaving is from how many changed files on the snapshot is not left to
// Close, and the index is merged.
const worthSaving = 1000

// follow reads the catalog again where another process has written. errStale
// is where the index is another now.
func (ix *Index) follow(ctx context.Context) error {
	if ix.replaced() {
		return errStale
	}
	now, err := editionOf(ctx, ix.db)
	if err != nil || now == ix.catalog.edition {
		return err
	}
	read, err := readCatalog(ctx, ix.db)
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
	ix.catalog = next
}

// unsettled is the edition of no index.
var unsettled = edition{generation: -1}

// compare returns what differs between the folder and the index. A racy file
// is read again until its stamp can be trusted, and so is one that could not be
// read; without one, an index that
// does not differ is settled until the folder or the index changes.
func (ix *Index) compare() work {
	var todo work
	anyRacy := false
	left := ix.catalog.files // both are sorted
	for i, path := range ix.tree.listing.Files {
		seen := ix.tree.stamps[i]
		if seen == (stamp{}) {
			continue
		}
		for len(left) > 0 && left[0].path < path {
			todo.removed, left = append(todo.removed, left[0]), left[1:]
		}
		var known *file
		if len(left) > 0 && left[0].path == path {
			known, left = left[0], left[1:]
		}
		racy := seen.racy(ix.tree.taken)
		unread := known != nil && known.skipped == skippedUnreadable // its disk may be well again
		anyRacy = anyRacy || racy || unread || known != nil && known.racy
		if known == nil || known.stamp != seen || known.racy && !racy || (known.racy || unread) && ix.differs(known) {
			todo.updated = append(todo.updated, candidate{path, seen, racy, known})
		}
	}
	todo.removed = append(todo.removed, left...)
	ix.settled = unsettled
	if todo.empty() && !anyRacy {
		ix.settled = ix.catalog.edition
	}
	return todo
}

// differs reads a file whose stamp cannot be trusted yet.
func (ix *Index) differs(known *file) bool {
	text, skipped := ix.read(known.path)
	return skipped != known.skipped || hashOf(text) != known.hash
}

// write applies work in batches, each a transaction.
func (ix *Index) write(ctx context.Context, todo work, progress Progress) (Changes, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	documents, finish := ix.readAll(ctx, todo.updated)
	changes, err := ix.writeAll(ctx, documents, todo, progress)
	cancel()
	finish()
	return changes, err
}

func (ix *Index) writeAll(ctx context.Context, documents <-chan document, todo work, progress Progress) (Changes, error) {
	b := &batch{index: ix, removed: todo.removed, done: Changes{First: ix.catalog.edition.generation == 0}}
	for done := 0; ; {
		each, more := <-documents
		if more {
			done++
			b.add(each)
		}
		if !more || b.full() {
			if err := errors.Join(ctx.Err(), b.commit(ctx, time.Now())); err != nil {
				return b.done, err
			}
			if progress != nil {
				progress(done, len(todo.updated))
			}
		}
		if !more {
			return b.done, nil
		}
	}
}
