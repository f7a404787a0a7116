package lsp

import (
	"bytes"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"savant/think/flow"
)

// text is an open document.
type text struct {
	uri string
	// name is the file below the project, with slashes; "" for one elsewhere.
	name    string
	kind    kind
	version int
	content string
	lines   lines
	// changed counts the changes of all documents; it stands for the time of this one.
	changed int64
	// found is what was last found wrong.
	found []finding
	// graph is the last one that the text compiled to, nil for none yet.
	graph *flow.Graph
}

// documents are the open texts, by URI. It is safe for concurrent use.
type documents struct {
	mu      sync.Mutex
	files   map[string]*text
	changes int64
}

// set opens a document, or changes it.
func (d *documents) set(t text, version int, content string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if known := d.files[t.uri]; known != nil {
		t.found, t.graph = known.found, known.graph
	}
	d.changes++
	t.version, t.content, t.lines, t.changed = version, content, linesOf(content), d.changes
	d.files[t.uri] = &t
}

func (d *documents) forget(uri string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.files, uri)
}

// get returns an open document as it is now.
func (d *documents) get(uri string) (text, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if known := d.files[uri]; known != nil {
		return *known, true
	}
	return text{}, false
}

// all returns the open documents, the last changed first.
func (d *documents) all() (all []text) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, each := range d.files {
		all = append(all, *each)
	}
	slices.SortFunc(all, func(a, b text) int { return int(b.changed - a.changed) })
	return all
}

// judged keeps what was found, unless the document has changed since. A graph that is nil
// leaves the last one.
func (d *documents) judged(t text, found []finding, graph *flow.Graph) (current bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	known := d.files[t.uri]
	if known == nil || known.changed != t.changed {
		return false
	}
	if known.found = found; graph != nil {
		known.graph = graph
	}
	return true
}

// find returns the open document of a file of the project.
func (d *documents) find(name string) (text, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, each := range d.files {
		if each.name == name && name != "" {
			return *each, true
		}
	}
	return text{}, false
}

// relativePath returns the file of a URI below a folder, with slashes, or "". The URI may
// name the folder otherwise: by a link, or in letters of another case.
func relativePath(folder, uri string) string {
	parsed, err := url.Parse(uri)
	if err != nil || parsed.Scheme != "file" {
		return ""
	}
	file := parsed.Path
	if filepath.Separator == '\\' {
		file = strings.TrimPrefix(file, "/") // file:///C:/x
	}
	file = filepath.Clean(filepath.FromSlash(file))
	own, _ := os.Stat(folder) // nil is no folder's equal
	name := filepath.Base(file)
	for above := filepath.Dir(file); ; above = filepath.Dir(above) {
		if info, err := os.Stat(above); above == folder || err == nil && os.SameFile(own, info) {
			return filepath.ToSlash(name)
		}
		if above == filepath.Dir(above) {
			return ""
		}
		name = filepath.Join(filepath.Base(above), name)
	}
}

// address returns the URI of a file.
func address(file string) string {
	file = filepath.ToSlash(file)
	if !strings.HasPrefix(file, "/") {
		file = "/" + file
	}
	return (&url.URL{Scheme: "file", Path: file}).String()
}

// overlay shows the open documents in the place of the files.
type overlay struct {
	files fs.FS
	open  *documents
}

// Open implements fs.FS.
func (o overlay) Open(name string) (fs.File, error) {
	if t, open := o.open.find(name); open {
		return opened{bytes.NewReader([]byte(t.content)), info(t)}, nil
	}
	return o.files.Open(name)
}

// Stat implements fs.StatFS.
func (o overlay) Stat(name string) (fs.FileInfo, error) {
	if t, open := o.open.find(name); open {
		return info(t), nil
	}
	return fs.Stat(o.files, name)
}

// ReadDir implements fs.ReadDirFS.
func (o overlay) ReadDir(name string) ([]fs.DirEntry, error) { return fs.ReadDir(o.files, name) }

// opened is an open document as a file.
type opened struct {
	*bytes.Reader
	info
}

// Stat implements fs.File.
func (o opened) Stat() (fs.FileInfo, error) { return o.info, nil }

// Close implements fs.File.
func (o opened) Close() error { return nil }

// Size implements fs.FileInfo; it is that of the content.
func (o opened) Size() int64 { return o.info.Size() }

// info describes an open document as a file.
type info text

func (i info) Name() string       { return path.Base(i.name) }
func (i info) Size() int64        { return int64(len(i.content)) }
func (i info) Mode() fs.FileMode  { return 0o600 }
func (i info) ModTime() time.Time { return time.Unix(0, i.changed) }
func (i info) IsDir() bool        { return false }
func (i info) Sys() any           { return nil }
