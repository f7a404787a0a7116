package index

import (
	"context"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"
)

// tree is what was last seen of the folder. Files are looked at each time;
// they are listed anew only after a folder, a .gitignore or git's own index
// has changed, since nothing else makes a file appear.
type tree struct {
	folder, git string
	listing     Listing
	stamps      []stamp // of the listing's files; zero for what is no regular file
	watched     map[string]stamp
	taken       time.Time
}

// look brings the tree up to date with the disk.
func (t *tree) look(ctx context.Context) error {
	if t.watched != nil && t.same() {
		return ctx.Err()
	}
	listing, err := List(ctx, t.folder, t.git)
	if err != nil {
		return err
	}
	// Watching begins before the files are stamped: what changes in between
	// is seen as a change next time.
	t.listing, t.taken = listing, time.Now()
	t.watched = stampsOf(t.folder, t.watches())
	t.stamps = t.stampFiles()
	return ctx.Err()
}

// same stamps the files and says whether the listing still holds.
func (t *tree) same() bool {
	taken := time.Now()
	for name, before := range t.watched {
		// A change within the tick that a stamp was taken in does not show.
		if now := stampAt(t.folder, name); now != before || before.racy(t.taken) {
			return false
		}
	}
	t.taken, t.stamps = taken, t.stampFiles()
	return true
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
func (t *tree) stampFiles() []stamp {
	files := t.listing.Files
	stamps := make([]stamp, len(files))
	workers := min(runtime.GOMAXPROCS(0), maxWorkers)
	var group sync.WaitGroup
	for worker := range workers {
		from, to := worker*len(files)/workers, (worker+1)*len(files)/workers
		group.Go(func() {
			for i := from; i < to; i++ {
				info, err := os.Lstat(t.folder + string(filepath.Separator) + files[i])
				if err == nil && info.Mode().IsRegular() {
					stamps[i] = stampOf(info)
				}
			}
		})
	}
	group.Wait()
	return stamps
}
