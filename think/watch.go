package think

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"

	"savant/fault"
)

// settleTime gathers the events of one save: editors write, rename and touch.
const settleTime = 50 * time.Millisecond

// watch tells which lists changed when files under SAVANT_PATH change, until
// ctx ends. A folder that does not exist yet is noticed when it appears.
func (e *Engine) watch(ctx context.Context, changed func(list string)) error {
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return fault.New(fault.Internal, "watching files: %w", err)
	}
	defer watcher.Close()
	known := map[string]string{}
	for folder := range watched {
		known[folder] = e.Library.fingerprint(folder)
	}
	e.watchFolders(watcher)
	timer := time.NewTimer(time.Hour)
	timer.Stop()
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case _, ok := <-watcher.Events:
			if !ok {
				return nil
			}
			timer.Reset(settleTime)
		case err, ok := <-watcher.Errors:
			if !ok {
				return nil
			}
			e.Logger.Warn("watching files", "error", err)
		case <-timer.C:
			e.watchFolders(watcher)
			e.tell(known, changed)
		}
	}
}

// tell compares what is there with what was known and names each list once.
func (e *Engine) tell(known map[string]string, changed func(list string)) {
	lists := map[string]bool{}
	for folder, names := range watched {
		now := e.Library.fingerprint(folder)
		if now == known[folder] {
			continue
		}
		known[folder] = now
		for _, name := range names {
			lists[name] = true
		}
	}
	for _, name := range sortedKeys(lists) {
		changed(name)
	}
}

// watchFolders watches the folders there are; adding one twice does nothing.
func (e *Engine) watchFolders(watcher *fsnotify.Watcher) {
	if e.Root == "" {
		return
	}
	folders := []string{e.Root}
	for folder := range watched {
		folders = append(folders, filepath.Join(e.Root, folder))
	}
	for _, folder := range folders {
		if info, err := os.Stat(folder); err == nil && info.IsDir() {
			if err := watcher.Add(folder); err != nil {
				e.Logger.Debug("watching a folder", "folder", filepath.Base(folder), "error", err)
			}
		}
	}
}
