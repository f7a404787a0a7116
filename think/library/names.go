package library

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"syscall"

	"savant/fault"
	"savant/think/flow"
)

// Entry is one workflow of a listing. Err is why its file is invalid.
type Entry struct {
	Name, File string
	Workflow   *flow.Workflow
	Err        error
	// Origin, Replaces and Held: see CatalogEntry.
	Origin, Held string
	Replaces     bool
}

// originOf says whose the workflow of a name is, and whether it takes the place of
// another origin's.
func (l *Library) originOf(in places, name string) (origin string, replaces bool) {
	for at, layer := range slices.Backward(l.layers) {
		file, size := l.sizeOf(in, at, name)
		if size < 0 {
			continue
		}
		if origin != "" {
			return origin, true
		}
		if each, is := layer.Files.(Originated); is {
			origin = each.OriginOf(file)
		}
		if origin = cmp.Or(origin, layer.Origin); origin == "" {
			return "", false
		}
	}
	return origin, false
}

// hiddenFile returns the file of a name that a layer has and does not show, or "".
func (l *Library) hiddenFile(name string) string {
	for _, layer := range l.layers {
		if layer.Held == nil {
			continue
		}
		if file := layer.Held(name); file != "" {
			return file
		}
	}
	return ""
}

// large is the size in bytes from which a listing reads only the beginning of a file,
// and beginning is how much of it.
const (
	large     = 256 << 10
	beginning = 64 << 10
)

// sizeOf returns the file of a layer that holds a workflow, and its size; -1 if there
// is no file. The size of an inaccessible file is 0.
func (l *Library) sizeOf(in places, at int, name string) (file string, size int64) {
	for _, file = range in[at][name] {
		info, err := fs.Stat(l.layers[at].Files, file)
		switch {
		case errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || err == nil && info.IsDir():
			continue
		case err != nil:
			return file, 0
		}
		return file, info.Size()
	}
	return "", -1
}

// listingOf returns the workflow of a name for a listing. Of a large file it reads only
// the beginning: whether the rest is valid shows when it is used or validated.
func (l *Library) listingOf(in places, name string) (*flow.Workflow, error) {
	if strings.Contains(name, "@") { // Find would take another file for it
		return nil, fault.New(fault.YAMLSchemaViolation, "%s/%s.yaml: the name of a file has no @, which separates a name from a version: rename it", workflowFolder, name)
	}
	for at := range slices.Backward(l.layers) {
		file, size := l.sizeOf(in, at, name)
		switch {
		case size < 0:
			continue
		case size < large || size > maxWorkflowFile:
			return l.find(in, name, "")
		}
		if err := in.unique(at, name); err != nil {
			return nil, err
		}
		return l.beginningOf(at, file, size)
	}
	return l.find(in, name, "")
}

func (l *Library) beginningOf(at int, name string, size int64) (*flow.Workflow, error) {
	set, err := l.Schemas()
	if err != nil {
		return nil, err
	}
	opened, err := l.layers[at].Files.Open(name)
	if err != nil {
		return nil, unreadable(name, err)
	}
	defer func() { _ = opened.Close() }() // only read
	src, err := io.ReadAll(io.LimitReader(opened, beginning))
	if err != nil {
		return nil, unreadable(name, err)
	}
	workflow, err := flow.ParseHead(name, src, set)
	if errors.Is(err, flow.ErrNoHead) {
		return nil, fault.New(fault.LimitExceeded, "%s has %d bytes, and its steps do not begin within the first %d, so the list lacks its details; savant workflows validate checks it", name, size, beginning)
	}
	return workflow, err
}

// List returns every workflow by name, those with errors too. Of large files only the
// beginning is read.
func (l *Library) List() []Entry {
	var entries []Entry
	in := l.places()
	for _, name := range in.names() {
		workflow, err := l.listingOf(in, name)
		entry := Entry{Name: name, Workflow: workflow, Err: err, File: path.Join(workflowFolder, name+".yaml"), Held: l.hiddenFile(name)}
		entry.Origin, entry.Replaces = l.originOf(in, name)
		if workflow != nil {
			entry.File = workflow.File
		}
		entries = append(entries, entry)
	}
	return entries
}

// All returns every workflow that can be read, by name.
func (l *Library) All() (all []*flow.Workflow) {
	in := l.places()
	for _, name := range in.names() {
		if workflow, err := l.find(in, name, ""); err == nil {
			all = append(all, workflow)
		}
	}
	return all
}

// Names returns the names of all workflow files, sorted.
func (l *Library) Names() []string { return l.places().names() }

func (p places) names() []string {
	seen := map[string]bool{}
	for _, layer := range p {
		for name := range layer {
			seen[name] = true
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

// Unlisted returns why the names are not complete, YAML_SCHEMA_VIOLATION: a
// folder exists and cannot be listed. Its workflows may still be found by name.
func (l *Library) Unlisted() error {
	for _, layer := range l.layers {
		if err := list(layer.Files).leftOut; err != nil {
			return err
		}
	}
	return nil
}

// Versions returns the versions of a workflow over all layers, uppermost layer
// first.
func (l *Library) Versions(name string) []string {
	var versions []string
	in := l.places()
	for at := range slices.Backward(l.layers) {
		workflow, err := l.inLayer(in, at, name)
		if err == nil && !slices.Contains(versions, workflow.Version) {
			versions = append(versions, workflow.Version)
		}
	}
	return versions
}
