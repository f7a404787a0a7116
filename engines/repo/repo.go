// Package repo is the engine context.*: it searches and reads the files of
// repositories, and keeps a memory of Markdown files. It reads only SAVANT_PATH and the
// folders of SAVANT_REPOS, and writes only the memory.
package repo

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"savant/engines"
	"savant/engines/repo/files"
	"savant/fault"
	"savant/internal/ownfolder"
	"savant/internal/redact"
	"savant/internal/withheld"
)

// Name is the engine's name.
const Name = "context"

// Options say what may be read.
type Options struct {
	// Path is SAVANT_PATH, absolute; Repos are further folders, as SAVANT_REPOS
	// lists them.
	Path  string
	Repos []string
	// Withheld are the files that are not read.
	Withheld withheld.Files
	// Past returns the outcomes of earlier runs, latest first; nil: none.
	Past func(context.Context) ([]PastRun, error)
	// Redactor finds what must not be remembered; nil: what looks like a secret.
	Redactor *redact.Redactor
}

// PastRun is the outcome of a run.
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

// Tools returns the tools for files and for the memory. Their errors are INVALID_PARAMS
// (no such file, folder, line or name; not a text file), TOOL_DENIED (outside the
// roots, or a file that holds secrets), TOOL_FAILED (an unreadable file or folder),
// STATE_NOT_SAVED (of the memory) and LIMIT_EXCEEDED.
func Tools(options Options) []engines.Tool {
	e := newReader(options)
	return slices.Concat([]engines.Tool{
		engines.BindReading("context.read", "Read a file", e.read,
			"Reads lines of a text file of the project: up to 400 lines or 64 KB at once; total_lines says how many there are."),
		engines.BindReading("context.outline", "Outline a file", e.outline,
			"Lists what a file defines, with kind, line and signature: Go exactly; Python, JavaScript, TypeScript, Rust, Java, C, C++ and Ruby "+
				"by the shape of their lines; headings of Markdown, targets of a Makefile."),
		engines.BindReading("context.tree", "Folder tree", e.tree,
			"Lists the folders and files of the project that are not ignored, to a depth, with the number of files below each folder."),
	}, e.memoryTools())
}

// reader is the state of the tools of Tools.
type reader struct {
	Options
	repos []repository
	// writing is held while the memory is modified.
	writing sync.Mutex
}

func newReader(options Options) *reader {
	if options.Past == nil {
		options.Past = func(context.Context) ([]PastRun, error) { return nil, nil }
	}
	if options.Redactor == nil {
		options.Redactor = redact.Shapes()
	}
	options.Redactor = options.Redactor.Certain()
	return &reader{Options: options, repos: repositories(options.Path, options.Repos)}
}

// repository is a folder with the name that tools use for it; "" is SAVANT_PATH.
type repository struct{ name, folder string }

// repositories returns SAVANT_PATH and the folders of SAVANT_REPOS, in their order.
// The name of a folder is its last element, or its whole path if an earlier folder
// has that name.
func repositories(project string, folders []string) []repository {
	all := []repository{{"", project}}
	taken := map[string]bool{}
	for _, folder := range folders {
		name := filepath.Base(filepath.Clean(folder))
		if taken[name] {
			name = filepath.ToSlash(filepath.Clean(folder))
		}
		if !taken[name] {
			all = append(all, repository{name, folder})
		}
		taken[name] = true
	}
	return all
}

// lookup returns the index of the repository with a name; "" and "." are SAVANT_PATH.
func lookup(repos []repository, name string) (int, error) {
	known := []string{"."}
	for i, each := range repos {
		if each.name == name || i == 0 && name == "." {
			return i, nil
		}
		if i > 0 {
			known = append(known, each.name)
		}
	}
	return 0, fault.New(fault.InvalidParams, "repo: no repository is named %q; known: %s", fault.Cut(name, 100), strings.Join(known, ", ")).
		With(fault.Diagnostic{Path: "repo", Pointer: "/repo", Message: "not a repository of SAVANT_REPOS"})
}

func (e *reader) repository(name string) (repository, error) {
	i, err := lookup(e.repos, name)
	return e.repos[i], err
}

// withRepositoryName adds the repository's name to the error of a folder that cannot be read. It
// returns other errors unchanged.
func withRepositoryName(name string, err error) error {
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
