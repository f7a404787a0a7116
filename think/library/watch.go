package library

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/fsnotify/fsnotify"

	"savant/fault"
)

// debounce is how long events are collected after a change: to save a file, editors
// write, rename and touch it.
const debounce = 50 * time.Millisecond

// watched lists the folders whose changes are reported.
var watched = []string{workflowFolder, schemaFolder, promptFolder}

// Watch calls changed with the folders whose files changed (workflows, schemas,
// prompts) after each burst of events below the layers' folders, until ctx
// ends. A folder that does not exist yet is noticed when it appears. INTERNAL
// where files cannot be watched.
func (l *Library) Watch(ctx context.Context, changed func(folders []string)) error {
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return fault.New(fault.Internal, "watching files: %w", err)
	}
	defer watcher.Close()
	known := map[string]string{}
	l.changes(known)
	l.watchFolders(watcher)
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
			timer.Reset(debounce)
		case err, ok := <-watcher.Errors:
			if !ok {
				return nil
			}
			l.Logger.Warn("watching files", "error", err)
		case <-timer.C:
			l.watchFolders(watcher)
			if folders := l.changes(known); len(folders) > 0 {
				changed(folders)
			}
		}
	}
}

// changes returns the folders that differ from their known fingerprints, and
// updates those.
func (l *Library) changes(known map[string]string) []string {
	var folders []string
	for _, folder := range watched {
		if now := l.fingerprint(folder); now != known[folder] {
			known[folder] = now
			folders = append(folders, folder)
		}
	}
	return folders
}

// watchFolders watches the folders that exist; adding one twice does nothing.
func (l *Library) watchFolders(watcher *fsnotify.Watcher) {
	for _, layer := range l.layers {
		if layer.Folder == "" {
			continue
		}
		for _, name := range slices.Concat([]string{".", schemaFolder, promptFolder}, list(layer.Files).folders) {
			folder := filepath.Join(layer.Folder, name)
			if info, err := os.Stat(folder); err != nil || !info.IsDir() {
				continue
			}
			if err := watcher.Add(folder); err != nil {
				l.Logger.Debug("watching a folder", "folder", filepath.Base(folder), "error", err)
			}
		}
	}
}
