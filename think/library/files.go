package library

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"

	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/internal/ownfolder"
)

// maxWorkflowFile bounds what is read of one file; flow.Parse refuses more.
const maxWorkflowFile = 5 << 20

// fileKey names a file of a layer.
type fileKey struct {
	layer int
	name  string
}

// file is a file as it was read last. It is read again when its size or its
// time of change differs.
type file struct {
	name    string
	size    int64
	changed time.Time
	digest  string
	src     []byte
}

// workflowFile returns the file of a layer that holds a workflow: fs.ErrNotExist;
// YAML_SCHEMA_VIOLATION or LIMIT_EXCEEDED if it exists and cannot be read, so that it
// still hides the file of a lower layer. in are the places of all files; nil: they are
// looked up if workflows/ itself has none.
func (l *Library) workflowFile(in places, at int, name string) (file, error) {
	if name == "" || strings.ContainsAny(name, "/\\") || !fs.ValidPath(name) {
		return file{}, fs.ErrNotExist
	}
	for _, extension := range extensions {
		read, err := l.readFile(fileKey{at, path.Join(workflowFolder, name+extension)})
		if !errors.Is(err, fs.ErrNotExist) {
			return read, err
		}
	}
	if in == nil {
		in = l.places()
	}
	for _, each := range in[at][name] {
		read, err := l.readFile(fileKey{at, each})
		if !errors.Is(err, fs.ErrNotExist) {
			return read, err
		}
	}
	return file{}, fs.ErrNotExist
}

// places are the files of each layer that hold a workflow, by its name.
type places []map[string][]string

func (l *Library) places() places {
	made := make(places, len(l.layers))
	for at, layer := range l.layers {
		made[at] = map[string][]string{}
		for _, each := range WorkflowFiles(layer.Files) {
			made[at][stemOf(each)] = append(made[at][stemOf(each)], each)
		}
	}
	return made
}

// unique returns YAML_SCHEMA_VIOLATION if several files of a layer hold a workflow of a
// name.
func (p places) unique(at int, name string) error {
	if files := p[at][name]; len(files) > 1 {
		return fault.New(fault.YAMLSchemaViolation, "the workflow %q has several files, %s: rename all but one", name, strings.Join(files, " and "))
	}
	return nil
}

// stemOf returns the name of the workflow that a file holds.
func stemOf(file string) string { return strings.TrimSuffix(path.Base(file), path.Ext(file)) }

// Bounds of a search for workflows: how deep folders are followed, and how many of
// them.
const (
	maxDepth   = 4
	maxFolders = 200
)

// workflowFolders returns workflows/ and the folders in it, except hidden ones and
// links.
func workflowFolders(files fs.FS) []string {
	found := []string{workflowFolder}
	for at := 0; at < len(found); at++ {
		entries, _ := fs.ReadDir(files, found[at])
		for _, entry := range entries {
			below := path.Join(found[at], entry.Name())
			if entry.IsDir() && !strings.HasPrefix(entry.Name(), ".") && strings.Count(below, "/") <= maxDepth && len(found) < maxFolders {
				found = append(found, below)
			}
		}
	}
	return found
}

// WorkflowFiles returns the names of the workflow files of a layer: those in workflows/,
// and then those in its folders.
func WorkflowFiles(files fs.FS) (found []string) {
	for _, folder := range workflowFolders(files) {
		entries, _ := fs.ReadDir(files, folder)
		for _, entry := range entries {
			if !entry.IsDir() && slices.Contains(extensions, path.Ext(entry.Name())) && !strings.HasSuffix(entry.Name(), CasesSuffix) {
				found = append(found, path.Join(folder, entry.Name()))
			}
		}
	}
	return found
}

// CasesSuffix ends the names of the files with a workflow's tests, which lie beside it:
// NAME.cases.yaml, and NAME.WORD.cases.yaml.
const CasesSuffix = ".cases.yaml"

// CasesFiles returns the names of the cases files of a layer.
func CasesFiles(files fs.FS) (found []string) {
	for _, folder := range workflowFolders(files) {
		entries, _ := fs.ReadDir(files, folder)
		for _, entry := range entries {
			if !entry.IsDir() && strings.HasSuffix(entry.Name(), CasesSuffix) {
				found = append(found, path.Join(folder, entry.Name()))
			}
		}
	}
	return found
}

// CasesOf returns the name of the workflow that a cases file tests.
func CasesOf(file string) string {
	name, _, _ := strings.Cut(path.Base(file), ".")
	return name
}

// readFile reads a file, from memory while it has not changed.
func (l *Library) readFile(key fileKey) (file, error) {
	files := l.layers[key.layer].Files
	info, err := fs.Stat(files, key.name)
	switch {
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || err == nil && info.IsDir():
		return file{}, fs.ErrNotExist
	case err != nil:
		return file{}, unreadable(key.name, err)
	case info.Size() > maxWorkflowFile:
		return file{}, fault.New(fault.LimitExceeded, "%s has %d bytes; at most %d are read", key.name, info.Size(), maxWorkflowFile)
	}
	l.mu.Lock()
	known, ok := l.files[key]
	l.mu.Unlock()
	if ok && known.size == info.Size() && known.changed.Equal(info.ModTime()) {
		return known, nil
	}
	src, err := fs.ReadFile(files, key.name)
	if err != nil {
		return file{}, unreadable(key.name, err)
	}
	fresh := file{key.name, info.Size(), info.ModTime(), jsonvalue.HexSum(src), src}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.files[key] = fresh
	return fresh, nil
}

// Text returns the text of a file by its name in diagnostics, or "".
func (l *Library) Text(name string) string {
	for at := range slices.Backward(l.layers) {
		if read, err := l.readFile(fileKey{at, name}); err == nil {
			return string(read.src)
		}
	}
	return ""
}

func unreadable(name string, err error) error {
	if ownfolder.Displaced(err) && !errors.Is(err, syscall.ELOOP) {
		return fault.New(fault.YAMLSchemaViolation, "%s is a link that leads out of SAVANT_PATH", name)
	}
	return fault.New(fault.YAMLSchemaViolation, "%s cannot be read: %w", name, withoutPath(err))
}

// withoutPath removes the name of the file from an error whose message names it
// already.
func withoutPath(err error) error {
	var failed *fs.PathError
	if errors.As(err, &failed) {
		return failed.Err
	}
	return err
}

// Current reports whether a workflow's file still has a digest. A reference with a
// version may resolve to any layer.
func (l *Library) Current(reference, digest string) bool {
	name, _, versioned := strings.Cut(reference, "@")
	for at := range slices.Backward(l.layers) {
		read, err := l.workflowFile(nil, at, name)
		if err == nil && (read.digest == digest || !versioned) {
			return read.digest == digest
		}
	}
	return false
}

// Source returns the text of a workflow's file, of any layer: the one with a
// digest, or the uppermost where digest is empty. It also returns a text that
// does not parse; nil where there is none.
func (l *Library) Source(reference, digest string) []byte {
	name, _, _ := strings.Cut(reference, "@")
	for at := range slices.Backward(l.layers) {
		if read, err := l.workflowFile(nil, at, name); err == nil && (digest == "" || read.digest == digest) {
			return read.src
		}
	}
	return nil
}

// readAny returns a file of the last layer that has it: fs.ErrNotExist.
func (l *Library) readAny(name string) ([]byte, error) {
	for _, layer := range slices.Backward(l.layers) {
		data, err := fs.ReadFile(layer.Files, name)
		if err == nil {
			return data, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, fault.New(fault.Internal, "%s cannot be read", name)
		}
	}
	return nil, fs.ErrNotExist
}
