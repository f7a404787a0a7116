package app

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"savant/fault"
	"savant/internal/trust"
	"savant/think/library"
)

// guardedFiles are a project's files for workflows, schemas and prompts. A file that
// would replace a bundled one is visible only after a person has accepted it; prompts
// depend on each other, so all of them must be accepted.
type guardedFiles struct {
	regularFiles
	bundled fs.FS
	folder  *trust.Folder
	// origin returns the package of a file. It is nil where the files are of no package.
	origin func(file string) string
}

// maxGuarded is the maximum size of a file that a person can accept, in bytes.
const maxGuarded = 256 << 10

// promptsFolder holds prompts beside promptsName.
const (
	promptsName   = "prompts.yml"
	promptsFolder = "prompts"
)

// kind returns the kind of a file that needs acceptance, or "".
func (g guardedFiles) kind(name string) trust.Kind {
	folder, file := path.Split(name)
	stem := strings.TrimSuffix(file, path.Ext(file))
	top, _, _ := strings.Cut(folder, "/")
	has := func(names ...string) bool {
		return slices.ContainsFunc(names, func(each string) bool {
			_, err := fs.Stat(g.bundled, path.Join(top, stem+each))
			return err == nil
		})
	}
	switch ending := strings.ToLower(path.Ext(file)); {
	case name == promptsName || strings.HasPrefix(name, promptsFolder+"/"):
		return trust.Prompt
	case top == "workflows" && (ending == ".yaml" || ending == ".yml") && has(".yaml", ".yml"):
		return trust.Workflow
	case folder == "schemas/" && ending == ".json" && has(ending):
		return trust.Schema
	}
	return ""
}

// part reads a file as a part to accept. guarded: it needs acceptance. The error is why
// it cannot be accepted.
func (g guardedFiles) part(name string) (part trust.Part, info fs.FileInfo, guarded bool, err error) {
	kind := g.kind(name)
	if kind == "" {
		return part, nil, false, nil
	}
	file, err := g.regularFiles.Open(name)
	if err != nil {
		return part, nil, true, err
	}
	defer file.Close()
	if info, err = file.Stat(); err != nil || info.IsDir() {
		return part, info, false, err
	}
	text, err := io.ReadAll(io.LimitReader(file, maxGuarded+1))
	if err == nil && len(text) > maxGuarded {
		err = fault.New(fault.LimitExceeded, "%s has more than %d bytes, so it cannot be shown and accepted", name, maxGuarded)
	}
	if err != nil {
		return part, info, true, err
	}
	if same, err := fs.ReadFile(g.bundled, name); err == nil && string(same) == string(text) {
		return trust.Part{Text: string(text)}, info, false, nil // it replaces nothing
	}
	shown := "is shown to models"
	if kind != trust.Prompt {
		shown = "replaces the bundled " + string(kind)
	} else if _, err := fs.Stat(g.bundled, name); err == nil {
		shown += " instead of the bundled file"
	}
	if g.origin != nil {
		shown += ", of the package " + g.origin(name)
	}
	id := name
	if kind != trust.Prompt {
		id = strings.TrimSuffix(path.Base(name), path.Ext(name))
	}
	return trust.OfFile(kind, id, name, text, fmt.Sprintf("%s, %d bytes:", shown, len(text))), info, true, nil
}

// accepts reports whether a file may be used.
func (g guardedFiles) accepts(part trust.Part) bool {
	if !g.folder.Accepts(part) {
		return false
	}
	if part.Kind != trust.Prompt {
		return true
	}
	parts, problems := g.prompts()
	return len(problems) == 0 && !slices.ContainsFunc(parts, func(each trust.Part) bool { return !g.folder.Accepts(each) })
}

// IsUnaccepted reports whether a file exists but nobody accepted it. An unreadable file is not
// held: it is an error as elsewhere.
func (g guardedFiles) IsUnaccepted(name string) bool {
	part, _, guarded, err := g.part(name)
	return guarded && (err == nil && !g.accepts(part) || errors.Is(err, fault.LimitExceeded))
}

// HeldWorkflow returns the file of a workflow's name that is held, or "".
func (g guardedFiles) HeldWorkflow(name string) string {
	if g.kind("workflows/"+name+".yaml") == "" {
		return "" // no file of this name needs acceptance
	}
	if files := filesNamed(g.regularFiles, name); len(files) > 0 && g.IsUnaccepted(files[0]) {
		return files[0]
	}
	return ""
}

// Open opens a file or a folder. An unaccepted file does not exist.
func (g guardedFiles) Open(name string) (fs.File, error) {
	part, info, guarded, err := g.part(name)
	switch {
	case !guarded && err == nil && part.Text == "":
		return g.regularFiles.Open(name)
	case err == nil && (!guarded || g.accepts(part)):
		return &readFile{info, strings.NewReader(part.Text)}, nil
	case err == nil || errors.Is(err, fault.LimitExceeded):
		err = &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return nil, err
}

// Stat describes what Open opens.
func (g guardedFiles) Stat(name string) (fs.FileInfo, error) {
	if g.IsUnaccepted(name) {
		return nil, &fs.PathError{Op: "stat", Path: name, Err: fs.ErrNotExist}
	}
	return g.regularFiles.Stat(name)
}

// ReadDir lists what Open opens.
func (g guardedFiles) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, err := g.regularFiles.ReadDir(name)
	return slices.DeleteFunc(entries, func(each fs.DirEntry) bool {
		below := path.Join(name, each.Name())
		if g.kind(below) == "" || each.IsDir() {
			return false
		}
		return g.IsUnaccepted(below)
	}), err
}

// readFile is a file with its content, so that the content used is the content checked.
type readFile struct {
	info fs.FileInfo
	*strings.Reader
}

func (r *readFile) Stat() (fs.FileInfo, error) { return r.info, nil }
func (r *readFile) Close() error               { return nil }

// maxPrompts is the maximum number of prompt files.
const maxPrompts = 200

// prompts returns the prompt files, and why some cannot be accepted.
func (g guardedFiles) prompts() (parts []trust.Part, problems []error) {
	names := []string{promptsName}
	err := fs.WalkDir(g.regularFiles, promptsFolder, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case name == promptsFolder && errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case len(names) > maxPrompts:
			return fault.New(fault.LimitExceeded, "%s has more than %d files", promptsFolder, maxPrompts)
		case !entry.IsDir():
			names = append(names, name)
		}
		return nil
	})
	if err != nil {
		problems = append(problems, err)
	}
	return g.read(names, problems)
}

// parts returns all files that need acceptance, and why some cannot be accepted.
func (g guardedFiles) parts() (parts []trust.Part, problems []error) {
	parts, problems = g.prompts()
	names, _ := library.WorkflowFiles(g.regularFiles)
	entries, _ := g.regularFiles.ReadDir("schemas")
	for _, each := range entries {
		names = append(names, path.Join("schemas", each.Name()))
	}
	more, problems := g.read(names, problems)
	return append(parts, more...), problems
}

// read returns those of the files that need acceptance.
func (g guardedFiles) read(names []string, problems []error) ([]trust.Part, []error) {
	var parts []trust.Part
	for _, name := range names {
		part, _, guarded, err := g.part(name)
		switch {
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			problems = append(problems, err)
		case guarded && err == nil:
			parts = append(parts, part)
		}
	}
	return parts, problems
}
