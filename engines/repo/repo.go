// Package repo is the engine context.*: it searches and reads the files of
// repositories, and keeps a memory of Markdown files. Nothing outside
// SAVANT_PATH and the folders of SAVANT_REPOS is read, and only the memory is
// ever written.
package repo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"savant/engines"
	"savant/engines/repo/files"
	"savant/fault"
	"savant/internal/ownfolder"
	"savant/internal/redact"
)

// Name is the engine's name.
const Name = "context"

// Options says what may be read.
type Options struct {
	// Path is SAVANT_PATH, absolute; Repos are further folders, as SAVANT_REPOS
	// lists them.
	Path  string
	Repos []string
	// Past returns what earlier runs came to, the latest first; nil: nothing.
	Past func(context.Context) ([]PastRun, error)
	// Redactor says what must not be remembered; nil: what looks like a secret.
	Redactor *redact.Redactor
}

// PastRun is what a run came to.
type PastRun struct {
	Workflow, Run string
	// Summary is the text the run ended with; Time is RFC 3339.
	Summary, Time string
}

// Engine returns the engine with the reading tools, those of search and those
// of the memory. search may be nil.
func Engine(options Options, search *Search) (engines.Engine, []engines.Tool) {
	engine := engines.Engine{Name: Name, Description: "searches and reads repositories, and keeps a memory"}
	tools := Tools(options)
	if search != nil {
		tools = append(tools, search.Tools()...)
	}
	return engine, tools
}

// Tools returns the tools that read files, and those of the memory. Their
// errors are INVALID_PARAMS (no such file, folder, line or name; a file that is
// no text), TOOL_DENIED (outside the roots, or a file that holds secrets),
// TOOL_FAILED (a file or folder that cannot be read), STATE_NOT_SAVED (of the
// memory) and LIMIT_EXCEEDED.
func Tools(options Options) []engines.Tool {
	e := newReader(options)
	return slices.Concat([]engines.Tool{
		searchTool("context.read", "Read a file", e.read,
			"Reads lines of a text file of the project: up to 400 lines or 64 KB at once; total_lines says how many there are."),
		searchTool("context.outline", "Outline a file", e.outline,
			"Lists what a file defines, with kind, line and signature: Go exactly; Python, JavaScript, TypeScript, Rust, Java, C, C++ and Ruby "+
				"by the shape of their lines; headings of Markdown, targets of a Makefile."),
		searchTool("context.tree", "Folder tree", e.tree,
			"Lists the folders and files of the project that are not ignored, to a depth, with the number of files below each folder."),
	}, e.memoryTools())
}

// reader is what the tools work on.
type reader struct {
	path  string
	repos map[string]string // by the name tools use
	names []string          // of repos, in their order
	past  func(context.Context) ([]PastRun, error)
	// redactor finds what the memory must not hold.
	redactor *redact.Redactor
	// writing is held while the memory is changed.
	writing sync.Mutex
}

func newReader(options Options) *reader {
	e := &reader{path: options.Path, repos: map[string]string{}, past: options.Past, redactor: options.Redactor}
	for name, folder := range RepoNames(options.Repos) {
		e.repos[name] = folder
		e.names = append(e.names, name)
	}
	if e.past == nil {
		e.past = func(context.Context) ([]PastRun, error) { return nil, nil }
	}
	if e.redactor == nil {
		e.redactor = redact.Shapes()
	}
	e.redactor = e.redactor.Certain()
	return e
}

// repository is a folder by the name search gives it; "" and "." are SAVANT_PATH.
type repository struct{ name, folder string }

func (e *reader) repository(name string) (repository, error) {
	if name == "" || name == "." {
		return repository{name, e.path}, nil
	}
	if folder, ok := e.repos[name]; ok {
		return repository{name, folder}, nil
	}
	known := strings.Join(append([]string{"."}, e.names...), ", ")
	return repository{}, invalid("repo", "one of "+known, name)
}

// named says which repository it is whose folder cannot be read; other errors
// stay as they are.
func named(name string, err error) error {
	var unread *files.FolderError
	if !errors.As(err, &unread) {
		return err
	}
	return notOpened(name, unread.Cause)
}

// notOpened is TOOL_FAILED of a repository whose folder cannot be read.
func notOpened(name string, cause error) error {
	if name == "" || name == "." {
		return ownfolder.NotOpened("SAVANT_PATH", cause)
	}
	return ownfolder.NotOpened(fmt.Sprintf("repo: the folder of %q", fault.Cut(name, 200)), cause)
}

// invalid is INVALID_PARAMS for one argument.
func invalid(argument, expected, actual string) error {
	return fault.New(fault.InvalidParams, "%s: expected %s, got %q", argument, expected, fault.Cut(actual, 200)).
		With(fault.Diagnostic{Path: argument, Pointer: "/" + argument, Expected: expected, Actual: fault.Cut(actual, 200), Message: "not what was expected"})
}
