package library

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/schemas"
	"savant/think/flow"
)

// Schemas returns the named schemas of all layers. A broken file concerns only
// those who refer to it, see schemas.Set.Broken.
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
		return l.set, nil // the same file still cannot be read
	}
	l.set, l.seen = set, seen
	l.forget()
	return set, nil
}

// fingerprint describes the files of a folder in all layers.
func (l *Library) fingerprint(folder string) string {
	var seen strings.Builder
	for _, layer := range l.layers {
		folders := []string{folder}
		if folder == workflowFolder {
			folders = list(layer.Files).folders
		}
		for _, each := range folders {
			entries, _ := fs.ReadDir(layer.Files, each)
			for _, entry := range entries {
				info, err := entry.Info()
				if err == nil && info.Mode().Type() == fs.ModeSymlink {
					info, err = fs.Stat(layer.Files, path.Join(each, entry.Name())) // its target may change
				}
				if err == nil {
					fmt.Fprintf(&seen, "%s/%s %v %d %d\n", each, entry.Name(), info.Mode(), info.Size(), info.ModTime().UnixNano())
				}
			}
		}
	}
	return seen.String()
}

// Named are the named schemas of one moment and their text: one JSON object by
// name. For an invalid schema the text holds the error message, so a replayed
// run reports the same error.
type Named struct {
	Set  *schemas.Set
	Text []byte
	// Digest is the hex SHA-256 of Text.
	Digest string
}

// NamedSchemas returns the current named schemas with their text.
func (l *Library) NamedSchemas() (Named, error) {
	set, err := l.Schemas()
	if err != nil {
		return Named{}, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.named.Set == set {
		return l.named, nil
	}
	all := map[string]any{}
	for _, name := range set.Names() {
		all[name], _ = set.Source(name)
		if broken := set.Broken(name); broken != nil {
			all[name] = broken.Message()
			l.Logger.Warn("a schema file cannot be used; workflows that refer to it are refused", "error", broken.Message())
		}
	}
	text, err := jsonvalue.Encode(all)
	if err != nil {
		return Named{}, fault.New(fault.Internal, "encoding the named schemas: %w", err)
	}
	l.named = Named{set, text, jsonvalue.HexSum(text)}
	return l.named, nil
}

// ReadNamed reads the text of named schemas: STATE_CORRUPT.
func ReadNamed(text []byte) (*schemas.Set, error) {
	value, err := jsonvalue.Decode(text)
	all, ok := value.(map[string]any)
	if err != nil || !ok {
		return nil, fault.New(fault.StateCorrupt, "the schemas that a run is pinned to cannot be read")
	}
	broken := map[string]string{}
	for name, each := range all {
		if reason, isText := each.(string); isText {
			broken[name] = reason
			delete(all, name)
		}
	}
	empty, err := schemas.Load()
	if err != nil {
		return nil, err
	}
	set, err := empty.With(all)
	if err != nil {
		return nil, err
	}
	return set.WithBroken(broken), nil
}

// Snapshot returns the graph of a workflow and the named schemas that it was read with.
// Both are consistent, even if a file changes meanwhile.
func (l *Library) Snapshot(ctx context.Context, workflow string) (*flow.Graph, Named, error) {
	for {
		before, err := l.NamedSchemas()
		if err != nil {
			return nil, Named{}, err
		}
		graph, err := l.Graph(workflow)
		if err != nil {
			return nil, Named{}, err
		}
		after, err := l.NamedSchemas()
		if err != nil || after.Set == before.Set || ctx.Err() != nil {
			return graph, after, err
		}
	}
}
