package files

import (
	"path"
	"path/filepath"
	"slices"
	"time"
)

// trustedFor is how long the kernel's events are trusted without a look at all
// files: it tells of a write through memory only when the file is closed, and
// not of what is mounted over a folder.
const trustedFor = time.Minute

// event is a change of one path.
type event struct {
	path string
	// appears: a file was made or moved here; folder: a folder itself changed.
	appears, folder bool
}

// verdict is what the events since the last look show.
type verdict int

const (
	unknown verdict = iota
	nothingChanged
	filesChanged
	listingChanged
)

// watched is the watch of a tree, where there is one.
type watched struct {
	watch *watch
	// failed says that the folders cannot be watched.
	failed bool
	// trustedFrom is when all files were last looked at; zero if the events since
	// then may be incomplete.
	trustedFrom time.Time
}

// begin watches folders, if that is possible. All files have to be looked at
// after that: the watch has not heard of earlier changes.
func (w *watched) begin(folder string, folders []string) {
	if w.failed || w.watch != nil {
		return
	}
	var err error
	if w.watch, err = newWatch(folder, folders); err != nil {
		w.watch, w.failed = nil, true
	}
}

func (w *watched) stop() error {
	if w.watch == nil {
		return nil
	}
	stopped := w.watch
	w.watch = nil
	return stopped.close()
}

// readEvents brings the tree up to date by the events since the last look. unknown:
// the events are not enough.
func (t *Tree) readEvents(now time.Time) verdict {
	w := &t.watched
	if w.watch == nil {
		return unknown
	}
	events, complete := w.watch.events()
	moved := slices.ContainsFunc(events, func(e event) bool { return e.folder })
	if moved || !complete {
		_ = w.stop() // its folders may have other names now
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

// touched returns which files of the listing the events are about; relist says
// that there may be others now.
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

// restamp looks at some files, and at the sources that are not in the watched
// folders: git's files, and which folder the path leads to.
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
