package files

import (
	"bytes"
	"context"
	"encoding/gob"
	"slices"
	"sync"
	"time"

	"savant/internal/withheld"
)

// Tree is a folder's listing with a stamp of each file. Files are listed again only
// after one of the listing's sources has changed, since only that makes a file appear.
// With kernel events only changed files are checked; else all are, each time. A Tree is
// not safe for concurrent use.
type Tree struct {
	folder  string
	kept    withheld.Files
	listing Listing
	stamps  []Stamp   // of the listing's files; zero unless it is a regular file
	unread  int       // number of files with unreadable status
	linked  []int     // files with several hard links
	sources []source  // nil before the first listing
	listed  time.Time // when the listing and the stamps of its sources were taken
	taken   time.Time // when the stamps of the files were taken
	watched watchState
}

// NewTree returns the Tree of a folder, without withheld files. It reads nothing before
// Look.
func NewTree(folder string, kept withheld.Files) *Tree { return &Tree{folder: folder, kept: kept} }

// Names returns the sorted files, Stamps a stamp for each (zero unless it is a regular
// file), Taken the time of the stamps. The results must not be modified.
func (t *Tree) Names() []string { return t.listing.Files }

func (t *Tree) Stamps() []Stamp { return t.stamps }

func (t *Tree) StampedAt() time.Time { return t.taken }

// Unread counts the unreadable files and folders.
func (t *Tree) Unread() (files, folders int) { return t.unread, t.listing.Unread }

// Oversize returns the files of rules that are too large to be read.
func (t *Tree) Oversize() []string { return t.listing.Oversize }

// ListedAt returns when the files were last listed.
func (t *Tree) ListedAt() time.Time { return t.listed }

// Watching reports whether the next Look needs only the kernel's events.
func (t *Tree) Watching() bool { return t.watched.watch != nil && !t.watched.trustedFrom.IsZero() }

// StopWatching ends the watch: each further Look checks all files.
func (t *Tree) StopWatching() error {
	t.watched.failed = true
	return t.watched.stop()
}

// Close ends the watch.
func (t *Tree) Close() error { return t.watched.stop() }

// Look updates the tree from the disk. changed is false only if certainly nothing has
// changed. Errors are those of List.
func (t *Tree) Look(ctx context.Context) (changed bool, err error) {
	now := time.Now()
	result := t.readEvents(now)
	if result == nothingChanged || result == filesChanged {
		return result == filesChanged, ctx.Err()
	}
	t.watched.trustedFrom = time.Time{} // the events are consumed, even if this look fails
	if t.sources != nil {
		t.watched.begin(t.folder, t.listing.Folders)
	}
	if result == unknown && t.sources != nil && !t.unsure() {
		before := t.stamps
		same, err := t.isCurrent(now)
		if err != nil || same {
			return !slices.Equal(before, t.stamps), err
		}
	}
	return true, t.list(ctx, now)
}

// list lists and stamps all files. A file that changes between now and its stamp gets a
// racy stamp.
func (t *Tree) list(ctx context.Context, now time.Time) error {
	listing, err := List(ctx, t.folder, t.kept)
	if err != nil {
		return err
	}
	if !slices.Equal(listing.Folders, t.listing.Folders) {
		_ = t.watched.stop()
		t.watched.begin(t.folder, listing.Folders)
	}
	sources, err := t.stampSources(sourcesOf(ctx, t.folder, listing))
	if err != nil {
		return err
	}
	t.listing, t.sources, t.listed = listing, sources, now
	if err := t.stampFiles(now); err != nil {
		t.sources = nil
		return err
	}
	if !t.unsure() {
		t.watched.trustedFrom = now
	}
	return ctx.Err()
}

// isCurrent reports whether the listing is still valid; if so it stamps the files.
func (t *Tree) isCurrent(now time.Time) (bool, error) {
	names := make([]string, len(t.sources))
	for i := range t.sources {
		names[i] = t.sources[i].Name
	}
	sources, err := t.stampSources(names)
	if err != nil || !slices.Equal(sources, t.sources) {
		return false, nil // listing reports a missing folder
	}
	if err := t.stampFiles(now); err != nil {
		return false, err
	}
	t.watched.trustedFrom = now
	return true, nil
}

// unsure reports whether files may appear without a change of a source: something is
// unreadable, or a source's stamp is racy.
func (t *Tree) unsure() bool {
	return t.listing.Unsure || t.unread > 0 || slices.ContainsFunc(t.sources, func(s source) bool { return s.Stamp.Racy(t.listed) })
}

func (t *Tree) stampSources(names []string) ([]source, error) {
	from, err := newStatter(t.folder)
	if err != nil {
		return nil, err
	}
	defer from.close()
	sources := make([]source, len(names))
	InParallel(len(names), func(i int) { sources[i] = source{names[i], from.status(names[i]).stamp} })
	return sources, nil
}

// stampFiles stamps every file.
func (t *Tree) stampFiles(now time.Time) error {
	from, err := newStatter(t.folder)
	if err != nil {
		return err
	}
	defer from.close()
	all := make([]status, len(t.listing.Files))
	InParallel(len(all), func(i int) { all[i] = from.status(t.listing.Files[i]) })
	t.stamps, t.linked, t.unread, t.taken = make([]Stamp, len(all)), nil, 0, now
	for i := range all {
		t.keep(i, all[i])
	}
	return nil
}

// keep stores the status of a file.
func (t *Tree) keep(i int, found status) {
	t.stamps[i] = Stamp{}
	if found.unread {
		t.unread++
	}
	if !found.regular {
		return
	}
	t.stamps[i] = found.stamp
	if found.linked && !slices.Contains(t.linked, i) {
		t.linked = append(t.linked, i)
	}
}

// maxWorkers is the maximum number of goroutines that stamp files.
const maxWorkers = 4

// InParallel calls do with each number below length, concurrently.
func InParallel(length int, do func(i int)) {
	var group sync.WaitGroup
	for worker := range maxWorkers {
		group.Go(func() {
			for i := worker; i < length; i += maxWorkers {
				do(i)
			}
		})
	}
	group.Wait()
}

// state is stored for the next process: the listing without its files, and the stamps
// of its sources.
type state struct {
	Listing Listing
	Sources []source
	Listed  time.Time
	Shown   []string // of what would be withheld
}

// State returns the listing without its files, for Restore in another process; nil
// while files may appear undetected.
func (t *Tree) State() []byte {
	if t.sources == nil || t.unsure() {
		return nil
	}
	kept := state{Listing: t.listing, Sources: t.sources, Listed: t.listed, Shown: t.kept.Patterns()}
	kept.Listing.Files = nil
	var data bytes.Buffer
	if err := gob.NewEncoder(&data).Encode(kept); err != nil {
		return nil // the next process lists the files itself
	}
	return data.Bytes()
}

// Restore initializes the tree with a State of another process and its regular files.
// It ignores a damaged State, and one with other withheld files. The next Look trusts
// the listing only if none of its sources has changed.
func (t *Tree) Restore(data []byte, names []string) {
	var kept state
	if t.sources != nil || gob.NewDecoder(bytes.NewReader(data)).Decode(&kept) != nil || !slices.Equal(kept.Shown, t.kept.Patterns()) {
		return
	}
	t.listing, t.sources, t.listed = kept.Listing, kept.Sources, kept.Listed
	t.listing.Files = names
}
