package index

import (
	"context"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

// tree is what was last seen of the folder. The kernel tells which files change
// where it can; else files are looked at each time. They are listed anew only
// after a folder, a .gitignore or git's own index has changed, since nothing
// else makes a file appear.
type tree struct {
	folder, git string
	listing     Listing
	stamps      []stamp // of the listing's files; zero for what is no regular file
	linked      []int   // files that have other names, under which they may change unheard
	watched     map[string]stamp
	taken       time.Time // the stamps are those of this time
	hearing     hearing
}

// look brings the tree up to date with the disk. changed is false where it is
// known that nothing did.
func (t *tree) look(ctx context.Context) (changed bool, err error) {
	now := time.Now()
	said := t.hear(now)
	if said == nothingChanged || said == filesChanged {
		return said == filesChanged, ctx.Err()
	}
	t.hearing.trustedFrom = time.Time{} // what was heard is gone, also where this look fails
	if t.watched != nil && said == unknown {
		t.listen()
		before := t.stamps
		if t.same(now) {
			t.hearing.trustedFrom = now
			return !slices.Equal(before, t.stamps), ctx.Err()
		}
	}
	return true, t.list(ctx, now)
}

// list lists and stamps all. Watching begins before the files are stamped:
// what changes in between is seen as a change next time.
func (t *tree) list(ctx context.Context, now time.Time) error {
	listing, err := List(ctx, t.folder, t.git)
	if err != nil {
		return err
	}
	again := t.watched != nil // a process that searches once is not worth a watch
	if !slices.Equal(listing.Folders, t.listing.Folders) {
		_ = t.hearing.stop() // nothing is lost with it
	}
	t.listing, t.taken = listing, now
	if again {
		t.listen()
	}
	t.watched = stampsOf(t.folder, t.watches())
	t.stampFiles()
	if !t.anyRacy() {
		t.hearing.trustedFrom = now
	}
	return ctx.Err()
}

// same stamps the files and says whether the listing still holds.
func (t *tree) same(now time.Time) bool {
	if t.anyRacy() {
		return false
	}
	for name, before := range t.watched {
		if stampAt(t.folder, name) != before {
			return false
		}
	}
	t.taken = now
	t.stampFiles()
	return true
}

// anyRacy says whether something that makes files appear may have changed
// since the listing without that showing.
func (t *tree) anyRacy() bool {
	for _, each := range t.watched {
		if each.racy(t.taken) {
			return true
		}
	}
	return false
}

// watches returns what makes files appear and go: folders, rules, git's files.
func (t *tree) watches() []string {
	watches := append([]string{}, t.listing.Folders...)
	for _, file := range t.listing.Files {
		if path.Base(file) == ignoreFile {
			watches = append(watches, file)
		}
	}
	if git := gitFolder(t.folder); t.listing.Git && git != "" {
		watches = append(watches, filepath.Join(git, "index"), filepath.Join(git, "info", "exclude"))
	}
	return watches
}

// gitFolder returns where git keeps what it knows of a working tree, "" where
// that is not known.
func gitFolder(folder string) string {
	for ; ; folder = filepath.Dir(folder) {
		named := filepath.Join(folder, ".git")
		info, err := os.Lstat(named)
		if err == nil && info.IsDir() {
			return named
		}
		if err == nil && info.Mode().IsRegular() {
			return linkedFolder(folder, named)
		}
		if folder == filepath.Dir(folder) {
			return ""
		}
	}
}

// linkedFolder reads the .git file of a linked working tree.
func linkedFolder(folder, named string) string {
	text, err := os.ReadFile(named)
	target, ok := strings.CutPrefix(strings.TrimSpace(string(text)), "gitdir: ")
	if err != nil || !ok {
		return ""
	}
	if filepath.IsAbs(target) {
		return target
	}
	return filepath.Join(folder, target)
}

func stampsOf(folder string, names []string) map[string]stamp {
	stamps := make(map[string]stamp, len(names))
	for _, name := range names {
		stamps[name] = stampAt(folder, name)
	}
	return stamps
}

// stampAt returns the stamp of a path, absolute or in the folder.
func stampAt(folder, name string) stamp {
	if !filepath.IsAbs(name) {
		name = filepath.Join(folder, filepath.FromSlash(name))
	}
	info, err := os.Lstat(name)
	if err != nil {
		return stamp{}
	}
	return stampOf(info)
}

// stampFiles looks at every file, on several processors.
func (t *tree) stampFiles() {
	t.stamps = make([]stamp, len(t.listing.Files))
	linked := make([][]int, min(runtime.GOMAXPROCS(0), maxWorkers))
	var group sync.WaitGroup
	for worker := range linked {
		from, to := worker*len(t.stamps)/len(linked), (worker+1)*len(t.stamps)/len(linked)
		group.Go(func() {
			for i := from; i < to; i++ {
				if t.stampFile(i) {
					linked[worker] = append(linked[worker], i)
				}
			}
		})
	}
	group.Wait()
	t.linked = slices.Concat(linked...)
}

// stampFile looks at one file and says whether it has other names.
func (t *tree) stampFile(i int) (linked bool) {
	t.stamps[i] = stamp{}
	info, err := os.Lstat(t.folder + string(filepath.Separator) + t.listing.Files[i])
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	t.stamps[i] = stampOf(info)
	return links(info) > 1
}
