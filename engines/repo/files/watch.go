package files

import (
	"path"
	"path/filepath"
	"slices"
	"time"
)

// trustedFor is how long the kernel's events are trusted between full checks: a write
// through mmap is reported only at close, and a mount over a folder never.
const trustedFor = time.Minute

// event is a change of one path.
type event struct {
	path string
	// appears: a file was created or moved here; folder: a folder itself changed.
	appears, folder bool
}

// verdict is what the events since the last look mean.
type verdict int

const (
	unknown verdict = iota
	nothingChanged
	filesChanged
	listingChanged
)

// watchState is the watch of a tree, if there is one.
type watchState struct {
	watch *watch
	// failed: the folders cannot be watched.
	failed bool
	// trustedFrom is the time of the last full check; zero if later events may be
	// incomplete.
	trustedFrom time.Time
}

// begin watches folders, if possible. The caller must check all files afterwards, since
// earlier changes have no events.
func (w *watchState) begin(folder string, folders []string) {
	if w.failed || w.watch != nil {
		return
	}
	var err error
	if w.watch, err = newWatch(folder, folders); err != nil {
		w.watch, w.failed = nil, true
	}
}

func (w *watchState) stop() error {
	if w.watch == nil {
		return nil
	}
	stopped := w.watch
	w.watch = nil
	return stopped.close()
}

// readEvents updates the tree from the events since the last look. unknown: the events
// are not sufficient.
func (t *Tree) readEvents(now time.Time) verdict {
	w := &t.watched
	if w.watch == nil {
		return unknown
	}
	events, complete := w.watch.events()
	moved := slices.ContainsFunc(events, func(e event) bool { return e.folder })
	if moved || !complete {
		_ = w.stop() // its folders may have been renamed
	}
	if moved {
		return listingChanged
	}
	if !complete || w.trustedFrom.IsZero() || now.Sub(w.trustedFrom) > trustedFor {
		return unknown
	}
	touched, relist := t.touched(events)
	if relist {
		return listingChanged
	}
	return t.restamp(append(touched, t.linked...), now)
}

// touched returns the files that the events concern; relist: other files may exist now.
func (t *Tree) touched(events []event) (touched []int, relist bool) {
	for _, each := range events {
		i, listed := slices.BinarySearch(t.listing.Files, each.path)
		if path.Base(each.path) == ignoreFile || each.appears && !listed {
			return nil, true
		}
		if listed {
			touched = append(touched, i)
		}
	}
	return touched, false
}

// restamp checks some files, and the sources outside the watched folders: git's files,
// and the target of the path.
func (t *Tree) restamp(touched []int, now time.Time) verdict {
	from, err := newStatter(t.folder)
	if err != nil {
		return unknown
	}
	defer from.close()
	if slices.ContainsFunc(t.sources, func(each source) bool {
		return (each.Name == "." || filepath.IsAbs(each.Name)) && from.status(each.Name).stamp != each.Stamp
	}) {
		return listingChanged
	}
	result := nothingChanged
	slices.Sort(touched)
	for _, i := range slices.Compact(touched) {
		before := t.stamps[i]
		t.keep(i, from.status(t.listing.Files[i]))
		if t.unread > 0 {
			return unknown
		}
		if t.stamps[i] != before {
			result = filesChanged
		}
	}
	t.taken = now
	return result
}
