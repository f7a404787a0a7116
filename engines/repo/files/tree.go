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

// Tree is a folder's listing with the stamp of each file, as last seen. Files
// are listed again only after one of the listing's sources has changed, since
// nothing else makes a file appear. Where the kernel tells which files change,
// only those are looked at; else all are, each time. A Tree is used by one
// goroutine at a time.
type Tree struct {
	folder  string
	kept    withheld.Files
	listing Listing
	stamps  []Stamp   // of the listing's files; zero for what is no regular file
	unread  int       // files whose status cannot be read
	linked  []int     // files that have other names
	sources []source  // nil before the first listing
	listed  time.Time // when the listing and the stamps of its sources were taken
	taken   time.Time // when the stamps of the files were taken
	watched watched
}

// NewTree returns the Tree of a folder, without the files that are withheld. Nothing
// is looked at before Look.
func NewTree(folder string, kept withheld.Files) *Tree { return &Tree{folder: folder, kept: kept} }

// Names returns the files, sorted; Stamps has a stamp for each, zero for what is
// no regular file; Taken is when the stamps were taken. Nobody may change them.
func (t *Tree) Names() []string { return t.listing.Files }

func (t *Tree) Stamps() []Stamp { return t.stamps }

func (t *Tree) Taken() time.Time { return t.taken }

// Unread counts the files and folders that are there and cannot be read.
func (t *Tree) Unread() (files, folders int) { return t.unread, t.listing.Unread }

// Listed is when the files were last listed.
func (t *Tree) Listed() time.Time { return t.listed }

// Watching says whether the next Look needs only the kernel's events.
func (t *Tree) Watching() bool { return t.watched.watch != nil && !t.watched.trustedFrom.IsZero() }

// StopWatching ends the watch: from now on each Look looks at all files.
func (t *Tree) StopWatching() error {
	t.watched.failed = true
	return t.watched.stop()
}

// Close ends the watch.
func (t *Tree) Close() error { return t.watched.stop() }

// Look brings the tree up to date with the disk. changed is false if it is
// certain that nothing did. Errors are those of List.
func (t *Tree) Look(ctx context.Context) (changed bool, err error) {
	now := time.Now()
	result := t.readEvents(now)
	if result == nothingChanged || result == filesChanged {
		return result == filesChanged, ctx.Err()
	}
	t.watched.trustedFrom = time.Time{} // the events are gone, also if this look fails
	if t.sources != nil {
		t.watched.begin(t.folder, t.listing.Folders)
	}
	if result == unknown && t.sources != nil && !t.unsure() {
		before := t.stamps
		same, err := t.same(now)
		if err != nil || same {
			return !slices.Equal(before, t.stamps), err
		}
	}
	return true, t.list(ctx, now)
}

// list lists and stamps all files. What changes after now and before its stamp
// is taken has a stamp that is racy.
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

// same says whether the listing still holds; if so it stamps the files.
func (t *Tree) same(now time.Time) (bool, error) {
	names := make([]string, len(t.sources))
	for i := range t.sources {
		names[i] = t.sources[i].Name
	}
	sources, err := t.stampSources(names)
	if err != nil || !slices.Equal(sources, t.sources) {
		return false, nil // where the folder is gone, listing it says why
	}
	if err := t.stampFiles(now); err != nil {
		return false, err
	}
	t.watched.trustedFrom = now
	return true, nil
}

// unsure says whether files may appear without any source changing: something
// cannot be read, or a source changed too recently for its stamp to tell.
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
	inParallel(len(names), func(i int) { sources[i] = source{names[i], from.status(names[i]).stamp} })
	return sources, nil
}

// stampFiles looks at every file.
func (t *Tree) stampFiles(now time.Time) error {
	from, err := newStatter(t.folder)
	if err != nil {
		return err
	}
	defer from.close()
	all := make([]status, len(t.listing.Files))
	inParallel(len(all), func(i int) { all[i] = from.status(t.listing.Files[i]) })
	t.stamps, t.linked, t.unread, t.taken = make([]Stamp, len(all)), nil, 0, now
	for i := range all {
		t.keep(i, all[i])
	}
	return nil
}

// keep notes the status of a file.
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

// maxWorkers bounds how many goroutines look at files.
const maxWorkers = 4

// inParallel calls do with each number below length, on several processors.
func inParallel(length int, do func(i int)) {
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

// state is what a process leaves to the next one: the listing without its
// files, and the stamps of its sources.
type state struct {
	Listing Listing
	Sources []source
	Listed  time.Time
	Shown   []string // of what would be withheld
}

// State returns the listing without its files, for Restore in another process;
// nil while files may appear without that showing.
func (t *Tree) State() []byte {
	if t.sources == nil || t.unsure() {
		return nil
	}
	kept := state{Listing: t.listing, Sources: t.sources, Listed: t.listed, Shown: t.kept.Shown()}
	kept.Listing.Files = nil
	var data bytes.Buffer
	if err := gob.NewEncoder(&data).Encode(kept); err != nil {
		return nil // the next process lists the files itself
	}
	return data.Bytes()
}

// Restore begins with a State of another process and the regular files it had
// listed. A damaged State is ignored, and one that withheld other files. The next Look trusts the listing only if
// none of its sources has changed.
func (t *Tree) Restore(data []byte, names []string) {
	var kept state
	if t.sources != nil || gob.NewDecoder(bytes.NewReader(data)).Decode(&kept) != nil || !slices.Equal(kept.Shown, t.kept.Shown()) {
		return
	}
	t.listing, t.sources, t.listed = kept.Listing, kept.Sources, kept.Listed
	t.listing.Files = names
}
