package state

import (
	"path"
	"strings"
)

// ensureFolder makes a folder and those above it, durably.
func (d *Dir) ensureFolder(folder string) error {
	d.mu.Lock()
	known := d.synced[folder]
	d.mu.Unlock()
	if _, err := d.disk.Stat(folder); known && err == nil {
		return nil
	}
	made := "."
	for _, part := range strings.Split(folder, "/") {
		above := made
		made = path.Join(made, part)
		if err := d.disk.Mkdir(made); err != nil && !exists(err) {
			return notSaved(made, err)
		}
		// Also where it exists: who made it may have died before the sync.
		if err := d.disk.SyncFolder(above); err != nil {
			return notSaved(made, err)
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.synced[folder] = true
	return nil
}
