package library

import (
	"errors"
	"io/fs"
	"os"
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
	if name == "" || strings.Contains(name, "\\") || !fs.ValidPath(name) {
		return file{}, fs.ErrNotExist
	}
	if strings.Contains(name, "/") {
		if in == nil {
			in = l.places()
		}
		for _, each := range in[at][path.Base(name)] {
			if NameInFolder(each) == name {
				return l.readFile(fileKey{at, each})
			}
		}
		return file{}, fs.ErrNotExist
	}
	for _, extension := range extensions {
		read, err := l.readFile(fileKey{at, path.Join(workflowFolder, name+extension)})
		if !errors.Is(err, fs.ErrNotExist) && !leadsOut(err) { // the folder may lead out
			return read, err
		}
	}
	if in == nil {
		in = l.places()
	}
	listed := in[at][name]
	if len(listed) == 0 {
		return file{}, fs.ErrNotExist
	}
	read, err := l.readFile(fileKey{at, listed[0]})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = fault.New(fault.YAMLSchemaViolation, "%s is a link that leads nowhere", listed[0])
	case leadsOut(err):
		err = unreadable(listed[0], err)
	}
	return read, err
}

// places are the files of each layer that hold a workflow, by its name.
type places []map[string][]string

func (l *Library) places() places {
	if l.listed != nil {
		return l.listed
	}
	made := make(places, len(l.layers))
	for at, layer := range l.layers {
		made[at] = map[string][]string{}
		for _, each := range list(layer.Files).files {
			made[at][NameOf(each)] = append(made[at][NameOf(each)], each)
		}
	}
	return made
}

// unique returns YAML_SCHEMA_VIOLATION if several files of a layer hold a workflow of a
// name.
func (p places) unique(at int, name string) error {
	if files := p[at][name]; len(files) > 1 {
		return SeveralFiles(name, files)
	}
	return nil
}

// SeveralFiles is the error for a name that several files have.
func SeveralFiles(name string, files []string) *fault.Error {
	named := ""
	if slices.ContainsFunc(files, func(each string) bool { return path.Dir(each) != path.Dir(files[0]) }) {
		inFolder := slices.IndexFunc(files, func(each string) bool { return path.Dir(each) != workflowFolder })
		named = "name one with its folder (" + NameInFolder(files[inFolder]) + "), or "
	}
	return fault.New(fault.YAMLSchemaViolation, "the workflow %q has several files, %s: %srename all but one", name, strings.Join(files, " and "), named)
}

// NameOf returns the name of the workflow that a file holds.
func NameOf(file string) string { return strings.TrimSuffix(path.Base(file), path.Ext(file)) }

// NameInFolder returns the name with its folder, such as team/deploy.
func NameInFolder(file string) string {
	return strings.TrimPrefix(strings.TrimSuffix(file, path.Ext(file)), workflowFolder+"/")
}

// Bounds of a search for workflows: how deep folders are followed, and how many of
// them.
const (
	maxDepth   = 4
	maxFolders = 200
)

// listing is what a layer has in workflows/ and the folders in it, except hidden ones.
type listing struct {
	folders, files, cases []string
	// beyond is a folder that is not followed: it is too deep, or one too many. nowhere is a link
	// that cannot be followed, and that no name tells from one to a folder.
	beyond, nowhere string
	// leftOut is why a folder is missing, or nil: YAML_SCHEMA_VIOLATION.
	leftOut error
}

// list lists the workflows of a layer.
func list(layer fs.FS) listing { return listBelow(layer, workflowFolder) }

// listBelow lists a folder of a layer. A link to a folder of the layer is followed once.
func listBelow(layer fs.FS, top string) (out listing) {
	var seen []fs.FileInfo
	for queue := []string{top}; len(queue) > 0; queue = queue[1:] {
		folder := queue[0]
		info, err := fs.Stat(layer, folder)
		if err == nil && (!info.IsDir() || slices.ContainsFunc(seen, func(each fs.FileInfo) bool { return os.SameFile(each, info) })) {
			continue
		}
		entries, err := fs.ReadDir(layer, folder)
		if err != nil {
			if out.leftOut == nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
				out.leftOut = notListed(folder, err)
			}
			continue
		}
		out.folders, seen = append(out.folders, folder), append(seen, info)
		for _, entry := range entries {
			name := path.Join(folder, entry.Name())
			switch {
			case strings.HasPrefix(entry.Name(), "."):
			case isFolder(layer, name, entry):
				if strings.Count(name, "/") > maxDepth || len(out.folders)+len(queue) > maxFolders {
					out.beyond = name
				} else {
					queue = append(queue, name)
				}
			case strings.HasSuffix(strings.ToLower(name), CasesSuffix):
				out.cases = append(out.cases, name)
			case slices.Contains(extensions, strings.ToLower(path.Ext(name))):
				out.files = append(out.files, name)
			case entry.Type()&fs.ModeSymlink != 0:
				if _, err := fs.Stat(layer, name); err != nil {
					out.nowhere = name
				}
			}
		}
	}
	return out
}

// isFolder reports whether an entry is a folder, or a link to one. A link that cannot be
// followed is one by its name, which has no extension.
func isFolder(layer fs.FS, name string, entry fs.DirEntry) bool {
	if entry.Type()&fs.ModeSymlink == 0 {
		return entry.IsDir()
	}
	info, err := fs.Stat(layer, name)
	return err == nil && info.IsDir() || err != nil && path.Ext(name) == ""
}

// WorkflowFiles returns the names of the workflow files of a layer: those in workflows/,
// and then those in its folders. The error is why a folder is missing:
// YAML_SCHEMA_VIOLATION.
func WorkflowFiles(layer fs.FS) ([]string, error) {
	all := list(layer)
	return all.files, all.leftOut
}

// FilesBelow returns the names of the YAML files in a folder of a layer and in its folders,
// those of cases too: YAML_SCHEMA_VIOLATION where one of the folders is missing.
func FilesBelow(layer fs.FS, folder string) ([]string, error) {
	all := listBelow(layer, folder)
	if all.beyond != "" && all.leftOut == nil {
		all.leftOut = fault.New(fault.YAMLSchemaViolation, "the folder %s is not read: at most %d folders are, %d deep", all.beyond, maxFolders, maxDepth)
	}
	if all.nowhere != "" && all.leftOut == nil {
		all.leftOut = fault.New(fault.YAMLSchemaViolation, "%s is a link that leads nowhere, maybe to a folder: mend it, or move it away", all.nowhere)
	}
	return slices.Concat(all.files, all.cases), all.leftOut
}

// CasesSuffix ends the names of the files with a workflow's tests, which lie beside it:
// NAME.cases.yaml, and NAME.WORD.cases.yaml.
const CasesSuffix = ".cases.yaml"

// CasesFiles returns the names of the cases files of a layer.
func CasesFiles(layer fs.FS) []string { return list(layer).cases }

// CasesOf returns the name of the workflow that a cases file tests.
func CasesOf(file string) string {
	name, _, _ := strings.Cut(path.Base(file), ".")
	return name
}

func notListed(folder string, err error) error {
	if leadsOut(err) || isCoded(err) {
		return unreadable("the folder "+folder, err)
	}
	return fault.New(fault.YAMLSchemaViolation, "the folder %s cannot be listed, so its files are missing here: %w; make it readable, or move it away", folder, fault.WithoutPath(err))
}

// readFile reads a file, from memory while it has not changed: fs.ErrNotExist; an error
// that leadsOut; YAML_SCHEMA_VIOLATION and LIMIT_EXCEEDED.
func (l *Library) readFile(key fileKey) (file, error) {
	files := l.layers[key.layer].Files
	info, err := fs.Stat(files, key.name)
	switch {
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || err == nil && info.IsDir():
		return file{}, fs.ErrNotExist
	case leadsOut(err):
		return file{}, err
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

// leadsOut reports whether a link out of the layer is why something cannot be read. An error
// with a code says that itself.
func leadsOut(err error) bool {
	return !isCoded(err) && ownfolder.Displaced(err) && !errors.Is(err, syscall.ELOOP) && !errors.Is(err, syscall.ENOTDIR)
}

func isCoded(err error) bool {
	_, is := errors.AsType[*fault.Error](err)
	return is
}

// unreadable says that a file or folder cannot be read; a coded cause stays.
func unreadable(name string, err error) error {
	if isCoded(err) {
		return err
	}
	if leadsOut(err) {
		return fault.New(fault.YAMLSchemaViolation, "%s is a link that leads out of SAVANT_PATH", name)
	}
	return fault.New(fault.YAMLSchemaViolation, "%s cannot be read: %w", name, fault.WithoutPath(err))
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
			return nil, unreadable(name, err)
		}
	}
	return nil, fs.ErrNotExist
}
