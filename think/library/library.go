// Package library finds workflows, named schemas and driver prompts in folders
// that overlay each other, and notices when they change.
package library

import (
	"cmp"
	"errors"
	"io/fs"
	"log/slog"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/schemas"
	"savant/think/flow"
)

// The folders of a layer.
const (
	workflowFolder = "workflows"
	schemaFolder   = "schemas"
	promptFolder   = "prompts"
)

// extensions are the extensions of a workflow's file, in order of precedence.
var extensions = []string{".yaml", ".yml"}

// Layer is a place that workflows, schemas and prompts are read from. A later
// layer overlays an earlier one.
type Layer struct {
	// Files holds workflows/, schemas/, prompts/ and prompts.yml.
	Files fs.FS
	// Folder is where Files is on disk, watched for changes; empty for none.
	Folder string
	// Shown is how messages name Folder; empty: they do not.
	Shown string
	// Origin is where the files come from, as lists show it; empty if they show
	// nothing.
	Origin string
	// Held returns the file of a workflow's name that Files hides because nobody has
	// accepted it, or ""; nil hides none.
	Held func(workflow string) string
}

// Originated is implemented by the Files of a layer whose files come from several places.
type Originated interface {
	// OriginOf returns where a file comes from; empty: where the layer does.
	OriginOf(file string) string
}

// The origins of the layers of this program.
const (
	Bundled = "bundled"
	Project = "project"
)

// Library finds workflows by name. It checks a file at each use, and parses and links
// each content once. It is safe for concurrent use.
type Library struct {
	// Logger receives messages that belong to no call; New sets one that discards them.
	Logger *slog.Logger
	// Rules are told in driver prompts; nil: there are none.
	Rules  Rules
	layers []Layer
	listed places // see KeepListing

	mu     sync.Mutex
	files  map[fileKey]file
	parsed map[parsedKey]parsed
	graphs map[*flow.Workflow]*flow.Graph
	set    *schemas.Set
	seen   string // fingerprint of the files that set was loaded from
	named  Named
}

// parsedKey names a file and its content by digest.
type parsedKey struct{ file, digest string }

// parsed is the outcome of parsing a file.
type parsed struct {
	workflow *flow.Workflow
	err      error
}

// maxParsed bounds the parsed files that are kept; all go when it is reached.
const maxParsed = 512

// New returns a library over layers, the first overlaid by the next.
func New(layers ...Layer) *Library {
	l := &Library{Logger: slog.New(slog.DiscardHandler), layers: layers, files: map[fileKey]file{}}
	l.forget()
	return l
}

// forget clears the caches; the caller holds l.mu or is l's only user.
func (l *Library) forget() {
	l.parsed, l.graphs = map[parsedKey]parsed{}, map[*flow.Workflow]*flow.Graph{}
}

// KeepListing lists the files now and not again, for many look-ups one after another: a
// file that appears later is not found. It comes before any other use.
func (l *Library) KeepListing() { l.listed = l.places() }

// Parse reads a workflow's bytes; file names it in diagnostics. The error is
// that of flow.Parse.
func (l *Library) Parse(file string, src []byte) (*flow.Workflow, error) {
	return l.parse(file, src, jsonvalue.HexSum(src))
}

// parse is Parse of bytes whose digest is known.
func (l *Library) parse(file string, src []byte, digest string) (*flow.Workflow, error) {
	set, err := l.Schemas()
	if err != nil {
		return nil, err
	}
	return l.parseWith(set, file, src, digest)
}

// parseWith parses a file with a set of schemas. It caches the outcome unless the
// schemas changed meanwhile. Concurrent calls share one parse.
func (l *Library) parseWith(set *schemas.Set, file string, src []byte, digest string) (*flow.Workflow, error) {
	key := parsedKey{file, digest}
	l.mu.Lock()
	known, ok := l.parsed[key]
	ok = ok && set == l.set
	l.mu.Unlock()
	if ok {
		return known.workflow, known.err
	}
	workflow, err := flow.Parse(file, src, set)
	l.mu.Lock()
	defer l.mu.Unlock()
	if set != l.set {
		return workflow, err
	}
	if known, ok := l.parsed[key]; ok {
		return known.workflow, known.err
	}
	if len(l.parsed) >= maxParsed {
		l.forget()
	}
	l.parsed[key] = parsed{workflow, err}
	return workflow, err
}

// Find returns the workflow of a name, and of a version unless that is empty;
// NAME@VERSION is both. UNKNOWN_WORKFLOW with the nearest name or the known
// versions, or what is wrong with its file.
func (l *Library) Find(name, version string) (*flow.Workflow, error) {
	return l.find(l.places(), name, version)
}

func (l *Library) find(in places, name, version string) (*flow.Workflow, error) {
	if at, after, ok := strings.Cut(name, "@"); ok && version == "" {
		name, version = at, after
	}
	var versions []string
	for at := range slices.Backward(l.layers) {
		workflow, err := l.inLayer(in, at, name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if version == "" || workflow.Version == version {
			return workflow, nil
		}
		if !slices.Contains(versions, workflow.Version) {
			versions = append(versions, workflow.Version)
		}
	}
	if len(versions) > 0 {
		return nil, fault.New(fault.UnknownWorkflow, "workflow %q has no version %q; known: %s", name, fault.Cut(version, 80), strings.Join(versions, ", "))
	}
	return nil, l.unknown(name)
}

// inLayer returns the workflow of a name in one layer: fs.ErrNotExist, or what
// is wrong with its file, or that several folders have one.
func (l *Library) inLayer(in places, at int, name string) (*flow.Workflow, error) {
	if err := in.unique(at, name); err != nil {
		return nil, err
	}
	read, err := l.workflowFile(in, at, name)
	if err != nil {
		return nil, err
	}
	return l.parse(read.name, read.src, read.digest)
}

// unknown is the error for a name that no layer has.
func (l *Library) unknown(name string) error {
	unknown := fault.New(fault.UnknownWorkflow, "no workflow %q", fault.Cut(name, 80))
	hint := fault.Hint{Call: "think.workflows.list", Text: "lists the workflows"}
	if nearest := cmp.Or(l.ByAddress(name), fault.Nearest(name, l.Names())); nearest != "" {
		hint = fault.DidYouMean(strconv.Quote(nearest))
	} else if folder := l.folderNamed(name); folder != "" {
		unknown.Details += ": " + folder + " is a folder"
	}
	for _, layer := range l.layers {
		if layer.Shown != "" {
			unknown.Details += ", bundled or in " + path.Join(filepath.ToSlash(layer.Shown), workflowFolder) + " (SAVANT_PATH sets another folder)"
		}
	}
	if unlisted := l.Unlisted(); unlisted != nil {
		hint.Text += "; " + fault.From(unlisted).Message()
	}
	return unknown.Hinted(hint)
}

// ByAddress returns the workflow whose file or address a text is, or "".
func (l *Library) ByAddress(text string) string {
	name := path.Base(strings.ReplaceAll(strings.TrimSpace(text), "\\", "/"))
	if extension := path.Ext(name); slices.Contains(extensions, strings.ToLower(extension)) {
		name = strings.TrimSuffix(name, extension)
	}
	if slices.Contains(l.Names(), name) {
		return name
	}
	return ""
}

// folderNamed returns the folder that has the name of a workflow's file, or "".
func (l *Library) folderNamed(name string) string {
	for _, layer := range l.layers {
		for _, extension := range extensions {
			file := path.Join(workflowFolder, name+extension)
			if info, err := fs.Stat(layer.Files, file); err == nil && info.IsDir() {
				return file
			}
		}
	}
	return ""
}

// Compile links a workflow with the library's others.
func (l *Library) Compile(workflow *flow.Workflow) (*flow.Graph, error) {
	l.mu.Lock()
	known := l.graphs[workflow]
	l.mu.Unlock()
	if known != nil && l.linked(known) {
		return known, nil
	}
	graph, err := Link(workflow, func(reference string) (*flow.Workflow, error) { return l.Find(reference, "") }, flow.CurrentEdition)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.graphs[workflow] = graph
	return graph, nil
}

// Link compiles a workflow with all that it runs, in an edition of the language; find
// returns a workflow by its reference, NAME or NAME@VERSION.
func Link(root *flow.Workflow, find func(reference string) (*flow.Workflow, error), edition flow.Edition) (*flow.Graph, error) {
	children := map[string]flow.Child{}
	for queue := []*flow.Workflow{root}; len(queue) > 0; queue = queue[1:] {
		for _, reference := range queue[0].Children() {
			if _, known := children[reference]; known {
				continue
			}
			workflow, err := find(reference)
			children[reference] = flow.Child{Workflow: workflow, Err: err}
			if err == nil {
				queue = append(queue, workflow)
			}
		}
	}
	return flow.Compile(root, children, edition)
}

// linked reports whether a graph's references still resolve to the same workflows.
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

// Graph finds a workflow, NAME or NAME@VERSION, and links it.
func (l *Library) Graph(workflow string) (*flow.Graph, error) {
	found, err := l.Find(workflow, "")
	if err != nil {
		return nil, err
	}
	return l.Compile(found)
}
