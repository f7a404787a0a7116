package think

import (
	"fmt"
	"io/fs"
	"path"
	"strings"

	"savant/schemas"
)

// schemaFolder is where the named schemas of a layer are.
const schemaFolder = "schemas"

// Schemas returns the named schemas of all layers. A file of no use among them
// concerns those alone who refer to it, see schemas.Set.Broken.
func (l *Library) Schemas() (*schemas.Set, error) {
	seen := l.fingerprint(schemaFolder)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.set != nil && l.seen == seen && l.set.Unread() == "" {
		return l.set, nil
	}
	layers := make([]fs.FS, len(l.layers))
	for i, layer := range l.layers {
		layers[i] = layer.Files
	}
	set, err := schemas.LoadFolder(schemaFolder, layers...)
	if err != nil {
		return nil, err
	}
	if l.set != nil && l.seen == seen && l.set.Unread() == set.Unread() {
		return l.set, nil // what kept a file from being read is still so
	}
	l.set, l.seen = set, seen
	l.forget()
	return set, nil
}

// fingerprint describes the watched files of all layers.
func (l *Library) fingerprint(folder string) string {
	var seen strings.Builder
	for _, layer := range l.layers {
		entries, _ := fs.ReadDir(layer.Files, folder)
		for _, entry := range entries {
			info, err := entry.Info()
			if err == nil && info.Mode().Type() == fs.ModeSymlink {
				info, err = fs.Stat(layer.Files, path.Join(folder, entry.Name())) // what it leads to may change
			}
			if err == nil {
				fmt.Fprintf(&seen, "%s %v %d %d\n", entry.Name(), info.Mode(), info.Size(), info.ModTime().UnixNano())
			}
		}
	}
	return seen.String()
}
