package library

import (
	"errors"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"syscall"

	"savant/fault"
	"savant/think/flow"
)

// Entry is one workflow of a listing. Err tells why its file is not valid.
type Entry struct {
	Name, File string
	Workflow   *flow.Workflow
	Err        error
	// Origin, Replaces and Held are those of a CatalogEntry.
	Origin, Held string
	Replaces     bool
}

// originOf says whose the workflow of a name is, and whether it takes the place of
// another origin's.
func (l *Library) originOf(name string) (origin string, replaces bool) {
	for at, layer := range slices.Backward(l.layers) {
		if _, err := l.workflowFile(at, name); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if origin != "" {
			return origin, true
		}
		if origin = layer.Origin; origin == "" {
			return "", false
		}
	}
	return origin, false
}

// held returns the file of a name that a layer has and does not show, or "".
func (l *Library) held(name string) string {
	for _, layer := range l.layers {
		for _, extension := range extensions {
			file := path.Join(workflowFolder, name+extension)
			if layer.Held != nil && layer.Held(file) {
				return file
			}
		}
	}
	return ""
}

// List returns every workflow by name, those with errors too.
func (l *Library) List() []Entry {
	var entries []Entry
	for _, name := range l.Names() {
		workflow, err := l.Find(name, "")
		entry := Entry{Name: name, Workflow: workflow, Err: err, File: path.Join(workflowFolder, name+".yaml"), Held: l.held(name)}
		entry.Origin, entry.Replaces = l.originOf(name)
		if workflow != nil {
			entry.File = workflow.File
		}
		entries = append(entries, entry)
	}
	return entries
}

// Names returns the names of all workflow files, sorted.
func (l *Library) Names() []string {
	seen := map[string]bool{}
	for _, layer := range l.layers {
		entries, _ := fs.ReadDir(layer.Files, workflowFolder)
		for _, entry := range entries {
			extension := path.Ext(entry.Name())
			if slices.Contains(extensions, extension) && !entry.IsDir() {
				seen[strings.TrimSuffix(entry.Name(), extension)] = true
			}
		}
	}
	return sortedKeys(seen)
}

// Unlisted returns why the names are not complete, YAML_SCHEMA_VIOLATION: a
// folder exists and cannot be listed. Its workflows may still be found by name.
func (l *Library) Unlisted() error {
	for _, layer := range l.layers {
		_, err := fs.ReadDir(layer.Files, workflowFolder)
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) && !isFile(layer.Files, workflowFolder) {
			return fault.New(fault.YAMLSchemaViolation, "the folder %s cannot be listed, and what is in it is missing here: %w; make it readable, or move it away",
				workflowFolder, withoutPath(err))
		}
	}
	return nil
}

func isFile(files fs.FS, name string) bool {
	info, err := fs.Stat(files, name)
	return err == nil && !info.IsDir()
}

// Versions returns the versions of a workflow over all layers, uppermost layer
// first.
func (l *Library) Versions(name string) []string {
	var versions []string
	for at := range slices.Backward(l.layers) {
		workflow, err := l.inLayer(at, name)
		if err == nil && !slices.Contains(versions, workflow.Version) {
			versions = append(versions, workflow.Version)
		}
	}
	return versions
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
