package index

import (
	"path"
	"path/filepath"
	"slices"
	"time"
)

// trusted is for how long nothing is looked at where the kernel tells of
// changes: it keeps silent of writing through memory until the file is closed,
// and of what is mounted over a folder.
const trusted = time.Minute

// event is what was heard of one path.
type event struct {
	path string
	// appears is a file that was made or moved here, folder a change of a
	// folder itself.
	appears, folder bool
}

// verdict is what the events since the last look come to.
type verdict int

const (
	unknown verdict = iota
	nothingChanged
	filesChanged
	listingChanged
)

// hearing is what is needed to trust the kernel with telling of changes.
type hearing struct {
	watch *watch
	begun chan *watch // gives the watch that is being begun; nil where none is
	// failed says that the folder is not to be watched, or cannot.
	failed bool
	// trustedFrom is when the tree was last looked at without a doubt; zero
	// where there is one.
	trustedFrom time.Time
}

func (h *hearing) stop() error {
	if h.begun != nil {
		h.watch, h.begun = <-h.begun, nil // it is only begun where there is no other
	}
	if h.watch == nil {
		return nil
	}
	stopped := h.watch
	h.watch = nil
	return stopped.close()
}

// listen begins to watch the folders of the listing, where that can be. That
// takes longer than a look, and goes on beside the search that follows.
func (t *tree) listen() {
	if t.hearing.failed || t.hearing.watch != nil || t.hearing.begun != nil {
		return
	}
	begun, folders := make(chan *watch, 1), t.listing.Folders
	t.hearing.begun = begun
	go func() {
		watch, err := newWatch(t.folder, folders)
		if err != nil {
			watch = nil
		}
		begun <- watch
	}()
}

// adopt takes a watch that stands by now. It is trusted after the next look at
// all files: it has not heard what went before it.
func (t *tree) adopt() {
	select {
	case t.hearing.watch = <-t.hearing.begun:
		t.hearing.begun, t.hearing.failed = nil, t.hearing.watch == nil
		t.hearing.trustedFrom = time.Time{}
	default:
	}
}

// hear brings the tree up to date with what was heard since the last look,
// where that is all there is to know.
func (t *tree) hear(now time.Time) verdict {
	if t.hearing.watch == nil {
		return unknown
	}
	events, ok := t.hearing.watch.heard()
	moved := slices.ContainsFunc(events, func(e event) bool { return e.folder })
	if moved || !ok {
		_ = t.hearing.stop() // its folders may have other names now
	}
	if moved {
		return listingChanged
	}
	from := t.hearing.trustedFrom
	if !ok || from.IsZero() || now.Sub(from) > trusted {
		return unknown
	}
	touched, relist := t.touched(events)
	if relist || t.movedBeyond() {
		return listingChanged
	}
	t.taken = now
	return t.restamp(append(touched, t.linked...))
}

// touched returns which files of the listing events are about; relist says that
// there may be others now.
func (t *tree) touched(events []event) (touched []int, relist bool) {
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

// movedBeyond says whether something has changed that is not in the watched
// folders: git's files, or which folder the path leads to.
func (t *tree) movedBeyond() bool {
	from := newSight(t.folder)
	defer from.close()
	return slices.ContainsFunc(t.sources, func(each source) bool {
		return (each.name == "." || filepath.IsAbs(each.name)) && from.at(each.name).stamp != each.stamp
	})
}

func (t *tree) restamp(files []int) verdict {
	from := newSight(t.folder)
	defer from.close()
	said := nothingChanged
	slices.Sort(files)
	for _, i := range slices.Compact(files) {
		before := t.stamps[i]
		found := t.stampFile(from, i)
		if found.unread {
			return unknown
		}
		if found.linked && !slices.Contains(t.linked, i) {
			t.linked = append(t.linked, i)
		}
		if t.stamps[i] != before {
			said = filesChanged
		}
	}
	return said
}
