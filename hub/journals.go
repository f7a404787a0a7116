package hub

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/fsnotify/fsnotify"
)

// journals counts the changes of runs of workflows, so that pages learn of them. It is
// safe for concurrent use.
type journals struct {
	folder string // of the journals; "" if they are elsewhere: then any run may have changed

	mu      sync.Mutex
	number  uint64            // of the last change
	changed map[string]uint64 // the number of the last change of a run, by "workflow/run"
	all     uint64            // the number of the last change that may be of any run
	watched []string
}

// maxChanged is how many runs are remembered by name.
const maxChanged = 1000

func (j *journals) now() uint64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.number
}

// since returns the runs that changed after a number, and the present number; with all,
// any run may have changed.
func (j *journals) since(number uint64) (runs []string, all bool, now uint64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for name, at := range j.changed {
		if at > number {
			runs = append(runs, name)
		}
	}
	slices.Sort(runs)
	return runs, j.all > number || number > j.number, j.number
}

// note counts a change of a file.
func (j *journals) note(file string) {
	folder, name := filepath.Split(file)
	run, is := strings.CutSuffix(name, ".journal")
	if !is || j.folder == "" || filepath.Dir(filepath.Clean(folder)) != j.folder {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.number++
	if j.changed == nil || len(j.changed) >= maxChanged {
		j.changed, j.all = map[string]uint64{}, j.number
	}
	j.changed[filepath.Base(folder)+"/"+run] = j.number
}

// watch adds the folders of workflows to a watcher. Where files cannot be watched, any
// run may have changed whenever somebody listens.
func (j *journals) watch(watcher *fsnotify.Watcher, observed bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if watcher == nil || j.folder == "" {
		if observed {
			j.number++
			j.all = j.number
		}
		return
	}
	_ = watcher.Add(j.folder) // it may not exist yet
	entries, _ := os.ReadDir(j.folder)
	for _, each := range entries {
		path := filepath.Join(j.folder, each.Name())
		if !each.IsDir() || slices.Contains(j.watched, path) || watcher.Add(path) != nil {
			continue
		}
		j.watched = append(j.watched, path)
		j.number++
		j.all = j.number // a run may have begun before
	}
	present := watcher.WatchList()
	j.watched = slices.DeleteFunc(j.watched, func(path string) bool { return !slices.Contains(present, path) }) // deleted folders
}
