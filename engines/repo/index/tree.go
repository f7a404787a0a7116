package index

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// tree is what was last seen of the folder. The kernel tells which files change
// where it can; else files are looked at each time. They are listed anew only
// after one of the listing's sources has changed, since nothing else makes a
// file appear.
type tree struct {
	folder, git string
	listing     Listing
	stamps      []stamp   // of the listing's files; zero for what is no regular file
	unread      int       // files that cannot be looked at
	linked      []int     // files that have other names, under which they may change unheard
	sources     []source  // nil where nothing was listed yet
	listed      time.Time // the listing and its sources are those of this time
	taken       time.Time // the stamps are those of this time
	looks       int       // at all files
	hearing     hearing
}

// look brings the tree up to date with the disk. changed is false where it is
// known that nothing did.
func (t *tree) look(ctx context.Context) (changed bool, err error) {
	now := time.Now()
	t.adopt()
	said := t.hear(now)
	if said == nothingChanged || said == filesChanged {
		return said == filesChanged, ctx.Err()
	}
	t.hearing.trustedFrom = time.Time{} // what was heard is gone, also where this look fails
	changed, err = t.lookAtAll(ctx, now, said)
	if t.looks++; t.looks > 1 && err == nil { // a process that searches once is not worth a watch
		t.listen()
	}
	return changed, err
}

func (t *tree) lookAtAll(ctx context.Context, now time.Time, said verdict) (changed bool, err error) {
	if t.sources != nil && said == unknown {
		before := t.stamps
		if t.same(now) {
			t.hearing.trustedFrom = now
			return !slices.Equal(before, t.stamps), ctx.Err()
		}
	}
	return true, t.list(ctx, now)
}

// list lists and stamps all. What changes after now and before a stamp is
// taken has a stamp that is racy.
func (t *tree) list(ctx context.Context, now time.Time) error {
	listing, err := List(ctx, t.folder, t.git)
	if err != nil {
		return err
	}
	if !slices.Equal(listing.Folders, t.listing.Folders) {
		_ = t.hearing.stop() // nothing is lost with it
	}
	t.listing, t.listed, t.taken = listing, now, now
	t.sources = t.stampSources(sourcesOf(ctx, t.folder, t.git, listing))
	if err := t.stampFiles(); err != nil {
		t.sources = nil // the next look lists anew
		return err
	}
	if !t.unsure() {
		t.hearing.trustedFrom = now
	}
	return ctx.Err()
}

// same stamps the files and says whether the listing still holds.
func (t *tree) same(now time.Time) bool {
	if t.unsure() {
		return false
	}
	from := newSight(t.folder)
	defer from.close()
	var moved atomic.Bool
	inParallel(len(t.sources), func(begin, end int) {
		for _, each := range t.sources[begin:end] {
			if from.at(each.name).stamp != each.stamp {
				moved.Store(true)
				return
			}
		}
	})
	if moved.Load() {
		return false
	}
	t.taken = now
	return t.stampFiles() == nil
}

// unsure says whether files may appear without that showing.
func (t *tree) unsure() bool { return t.listing.Unsure || t.unread > 0 || t.anyRacy() }

// anyRacy says whether something that makes files appear may have changed
// since the listing without that showing.
func (t *tree) anyRacy() bool {
	return slices.ContainsFunc(t.sources, func(s source) bool { return s.stamp.racy(t.listed) })
}

func (t *tree) stampSources(names []string) []source {
	from := newSight(t.folder)
	defer from.close()
	sources := make([]source, len(names))
	inParallel(len(names), func(begin, end int) {
		for i := begin; i < end; i++ {
			sources[i] = source{names[i], from.at(names[i]).stamp}
		}
	})
	return sources
}

// stampFiles looks at every file. It fails where the folder cannot be looked at.
func (t *tree) stampFiles() error {
	from := newSight(t.folder)
	defer from.close()
	if from.failed != nil {
		return notRead(from.failed)
	}
	t.stamps, t.linked, t.unread = make([]stamp, len(t.listing.Files)), nil, 0
	var gathering sync.Mutex
	inParallel(len(t.stamps), func(begin, end int) {
		var linked []int
		unread := 0
		for i := begin; i < end; i++ {
			found := t.stampFile(from, i)
			if found.linked {
				linked = append(linked, i)
			}
			if found.unread {
				unread++
			}
		}
		gathering.Lock()
		defer gathering.Unlock()
		t.linked = append(t.linked, linked...)
		t.unread += unread
	})
	return nil
}

// stampFile looks at one file, and keeps the stamp of a regular one.
func (t *tree) stampFile(from sight, i int) seen {
	found := from.at(t.listing.Files[i])
	if !found.regular {
		found.stamp, found.linked = stamp{}, false
	}
	t.stamps[i] = found.stamp
	return found
}

// share is how many names one processor looks at before it takes others.
const share = 512

// inParallel divides a range among the processors.
func inParallel(length int, do func(begin, end int)) {
	var next atomic.Int64
	var group sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), maxWorkers, (length+share-1)/share) {
		group.Go(func() {
			for {
				begin := int(next.Add(share)) - share
				if begin >= length {
					return
				}
				do(begin, min(begin+share, length))
			}
		})
	}
	group.Wait()
}
