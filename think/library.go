package think

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"savant/fault"
	"savant/schemas"
	"savant/think/flow"
)

// Layer is a place that workflows, schemas and prompts are read from. A later
// layer overlays an earlier one.
type Layer struct {
	// Name is how diagnostics call it: "bundled", or empty for SAVANT_PATH.
	Name string
	// Files holds workflows/, schemas/, prompts/ and prompts.yml.
	Files fs.FS
}

// Library finds workflows by name. A file is looked at anew at each use, and
// read, parsed and linked once for each content. It may be used by several
// goroutines at once.
type Library struct {
	layers []Layer

	mu     sync.Mutex
	parsed map[string]parsed // by file name and digest
	graphs map[*flow.Workflow]*flow.Graph
	files  map[string]content
	set    *schemas.Set
	seen   string // fingerprint of the files set was loaded from
}

// content is a file as it was read last; it is good while size and time of
// change are the same.
type content struct {
	size    int64
	changed time.Time
	digest  string
	src     []byte
}

// parsed is a file that is parsed when workflow is called, once.
type parsed struct {
	src      []byte
	workflow func() (*flow.Workflow, error)
}

// workflowFolder is where the workflows of a layer are.
const workflowFolder = "workflows"

// maxParsed bounds the cache; it is emptied when full.
const maxParsed = 512

// NewLibrary returns a library over layers, the first overlaid by the next.
func NewLibrary(layers ...Layer) *Library {
	l := &Library{layers: layers, files: map[string]content{}}
	l.forget()
	return l
}

// forget drops what was made of the files; l.mu is held, or nobody else has l.
func (l *Library) forget() {
	l.parsed, l.graphs = map[string]parsed{}, map[*flow.Workflow]*flow.Graph{}
}

// Entry is one workflow of a listing. Err tells why its file is not valid.
type Entry struct {
	Name, File string
	Workflow   *flow.Workflow
	Err        error
}

// Parse reads a workflow's bytes; file names it in diagnostics.
func (l *Library) Parse(file string, src []byte) (*flow.Workflow, error) {
	return l.parse(file, src, hexSum(src))
}

// parse is Parse of bytes whose digest is known.
func (l *Library) parse(file string, src []byte, digest string) (*flow.Workflow, error) {
	set, err := l.Schemas()
	if err != nil {
		return nil, err
	}
	return l.known(file, src, digest, set).workflow()
}

// known returns what is known of a file, which is parsed once however many ask
// for it at a time.
func (l *Library) known(file string, src []byte, digest string, set *schemas.Set) parsed {
	key := parsedKey(file, digest)
	l.mu.Lock()
	defer l.mu.Unlock()
	found, ok := l.parsed[key]
	if !ok {
		if len(l.parsed) >= maxParsed {
			l.forget()
		}
		found = parsed{src, sync.OnceValues(func() (*flow.Workflow, error) { return flow.Parse(file, src, set) })}
		if set == l.set { // else the schemas have changed just now
			l.parsed[key] = found
		}
	}
	return found
}

func parsedKey(file, digest string) string { return file + "\x00" + digest }

// Find returns the workflow of a name, and of a version unless that is empty:
// UNKNOWN_WORKFLOW with the nearest name or the versions there are, or what is
// wrong with its file.
func (l *Library) Find(name, version string) (*flow.Workflow, error) {
	if at, after, ok := strings.Cut(name, "@"); ok && version == "" {
		name, version = at, after
	}
	var versions []string
	for at := range slices.Backward(l.layers) {
		file, read, err := l.workflow(at, name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		workflow, err := l.parse(file, read.src, read.digest)
		if err != nil {
			return nil, err
		}
		if version == "" || workflow.Version == version {
			return workflow, nil
		}
		versions = append(versions, workflow.Version)
	}
	if len(versions) > 0 {
		return nil, fault.New(fault.UnknownWorkflow, "workflow %q has no version %q; known: %s", name, fault.Cut(version, 80), strings.Join(versions, ", "))
	}
	names := l.Names()
	message := "; think.workflows.list shows what there is"
	if folder := l.folderNamed(name); folder != "" {
		message = ": " + folder + " is a folder" + message
	}
	if nearest := fault.Nearest(name, names); nearest != "" {
		message = "; did you mean \"" + nearest + "\"?"
	}
	if unlisted := l.Unlisted(); unlisted != nil {
		message += "; " + fault.From(unlisted).Details
	}
	return nil, fault.New(fault.UnknownWorkflow, "no workflow %q%s", fault.Cut(name, 80), message)
}

// folderNamed returns the folder that stands where the file of a workflow would,
// empty where there is none.
func (l *Library) folderNamed(name string) string {
	for _, layer := range l.layers {
		for _, extension := range []string{".yaml", ".yml"} {
			file := path.Join(workflowFolder, name+extension)
			if info, err := fs.Stat(layer.Files, file); err == nil && info.IsDir() {
				return file
			}
		}
	}
	return ""
}

// maxWorkflowFile bounds what is read of one file; flow.Parse refuses more.
const maxWorkflowFile = 5 << 20

// workflow returns the file of a layer that holds a workflow, or
// fs.ErrNotExist.
func (l *Library) workflow(at int, name string) (file string, read content, err error) {
	if name == "" || strings.ContainsAny(name, "/\\") || !fs.ValidPath(name) {
		return "", content{}, fs.ErrNotExist
	}
	files := l.layers[at].Files
	for _, extension := range []string{".yaml", ".yml"} {
		file = path.Join(workflowFolder, name+extension)
		info, err := fs.Stat(files, file)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || err == nil && info.IsDir() {
			continue
		}
		if err != nil { // it is there: that of a layer below must not take its place
			return "", content{}, fault.New(fault.YAMLSchemaViolation, "%s cannot be read: %w", file, cause(err))
		}
		if info.Size() > maxWorkflowFile {
			return "", content{}, fault.New(fault.LimitExceeded, "%s has %d bytes; at most %d are read", file, info.Size(), maxWorkflowFile)
		}
		read, err := l.content(at, file, info)
		if err != nil {
			return "", content{}, fault.New(fault.YAMLSchemaViolation, "%s cannot be read: %w", file, cause(err))
		}
		return file, read, nil
	}
	return "", content{}, fs.ErrNotExist
}

// cause leaves out of an error of a file what is known already: its name.
func cause(err error) error {
	var failed *fs.PathError
	if errors.As(err, &failed) {
		return failed.Err
	}
	return err
}

func (l *Library) content(at int, file string, info fs.FileInfo) (content, error) {
	key := strconv.Itoa(at) + "/" + file
	l.mu.Lock()
	known, ok := l.files[key]
	l.mu.Unlock()
	if ok && known.size == info.Size() && known.changed.Equal(info.ModTime()) {
		return known, nil
	}
	src, err := fs.ReadFile(l.layers[at].Files, file)
	if err != nil {
		return content{}, err
	}
	fresh := content{size: info.Size(), changed: info.ModTime(), digest: hexSum(src), src: src}
	l.mu.Lock()
	defer l.mu.Unlock()
	if same, ok := l.parsed[parsedKey(file, fresh.digest)]; ok {
		fresh.src = same.src // held once
	}
	l.files[key] = fresh
	return fresh, nil
}

// current says whether a workflow's file still has the content of a digest. A
// reference with a version may be met by any layer.
func (l *Library) current(reference, digest string) bool {
	name, _, versioned := strings.Cut(reference, "@")
	for at := range slices.Backward(l.layers) {
		_, read, err := l.workflow(at, name)
		if err != nil {
			continue
		}
		if read.digest == digest {
			return true
		}
		if !versioned {
			return false
		}
	}
	return false
}

// Names returns the names of all workflow files, sorted.
func (l *Library) Names() []string {
	seen := map[string]bool{}
	for _, layer := range l.layers {
		entries, _ := fs.ReadDir(layer.Files, workflowFolder)
		for _, entry := range entries {
			base := strings.TrimSuffix(strings.TrimSuffix(entry.Name(), ".yaml"), ".yml")
			if base != entry.Name() && !entry.IsDir() {
				seen[base] = true
			}
		}
	}
	names := make([]string, 0, len(seen))
	for name := range seen {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Unlisted returns why the workflows of a folder are not all among the names,
// YAML_SCHEMA_VIOLATION: it is there and cannot be listed. Those in it may still
// be found by name.
func (l *Library) Unlisted() error {
	for _, layer := range l.layers {
		_, err := fs.ReadDir(layer.Files, workflowFolder)
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) && !isFile(layer.Files, workflowFolder) {
			return fault.New(fault.YAMLSchemaViolation, "the folder %s cannot be listed, and what is in it is missing here: %w; make it readable, or move it away",
				workflowFolder, cause(err))
		}
	}
	return nil
}

func isFile(files fs.FS, name string) bool {
	info, err := fs.Stat(files, name)
	return err == nil && !info.IsDir()
}

// List returns every workflow by name, those with errors too.
func (l *Library) List() []Entry {
	var entries []Entry
	for _, name := range l.Names() {
		workflow, err := l.Find(name, "")
		entry := Entry{Name: name, Workflow: workflow, Err: err, File: path.Join(workflowFolder, name+".yaml")}
		if workflow != nil {
			entry.File = workflow.File
		}
		entries = append(entries, entry)
	}
	return entries
}

// Versions returns the versions of a workflow over all layers, newest layer
// first.
func (l *Library) Versions(name string) []string {
	var versions []string
	for at := range slices.Backward(l.layers) {
		file, read, err := l.workflow(at, name)
		if err != nil {
			continue
		}
		if workflow, err := l.parse(file, read.src, read.digest); err == nil && !slices.Contains(versions, workflow.Version) {
			versions = append(versions, workflow.Version)
		}
	}
	return versions
}

// Compile links a workflow with the library's others.
func (l *Library) Compile(workflow *flow.Workflow) (*flow.Graph, error) {
	l.mu.Lock()
	known := l.graphs[workflow]
	l.mu.Unlock()
	if known != nil && l.linked(known) {
		return known, nil
	}
	graph, err := flow.Compile(workflow, l.Find)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.graphs[workflow] = graph
	return graph, nil
}

// linked says whether a graph's references still lead to the same workflows.
func (l *Library) linked(graph *flow.Graph) bool {
	for reference, workflow := range graph.Workflows() {
		if workflow == graph.Workflow {
			continue
		}
		if found, err := l.Find(reference, ""); err != nil || found != workflow {
			return false
		}
	}
	return true
}

// read returns a file of the last layer that has it.
func (l *Library) read(name string) ([]byte, error) {
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
