package app

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"savant"
	"savant/engines"
	"savant/internal/ownfolder"
	"savant/internal/regular"
	"savant/rules"
	"savant/rules/sessions"
	"savant/think"
	"savant/think/library"
)

// regularFiles are only the regular files and folders of a file system: opening a pipe
// could block forever.
type regularFiles struct{ fs.FS }

// Open opens a file or folder.
func (r regularFiles) Open(name string) (fs.File, error) {
	info, err := fs.Stat(r.FS, name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() && !info.IsDir() {
		return nil, &fs.PathError{Op: "open", Path: name, Err: regular.ErrIrregular}
	}
	return r.FS.Open(name)
}

// Stat and ReadDir open nothing that could block.
func (r regularFiles) Stat(name string) (fs.FileInfo, error) { return fs.Stat(r.FS, name) }
func (r regularFiles) ReadDir(name string) ([]fs.DirEntry, error) {
	info, err := fs.Stat(r.FS, name) // before it is opened: a pipe would block
	if err == nil && !info.IsDir() {
		err = &fs.PathError{Op: "readdir", Path: name, Err: syscall.ENOTDIR}
	}
	if err != nil {
		return nil, err
	}
	return fs.ReadDir(r.FS, name)
}

// projectFiles are the regular files below SAVANT_PATH.
type projectFiles struct {
	regularFiles
	root *os.Root
}

// openProject opens SAVANT_PATH; an error is an *fs.PathError.
func openProject(path string) (projectFiles, error) {
	root, err := regular.OpenFolder(path)
	if err != nil {
		return projectFiles{}, err
	}
	return projectFiles{regularFiles{linkedFiles{root}}, root}, nil
}

func (p projectFiles) Close() error { return p.root.Close() }

// Rules returns the rules of SAVANT_PATH.
func (a *App) Rules() (*rules.Set, error) { return sessions.Load(a.ruleFiles()) }

// AllRules returns the rules of SAVANT_PATH and of its workflows. A workflow that cannot be
// read is left out: workflows validate says why.
func (a *App) AllRules() (*rules.Set, error) {
	set, err := a.Rules()
	if err != nil {
		return nil, err
	}
	files := set.Files()
	for _, workflow := range a.Think.Library.All() {
		if !workflow.Ruled {
			continue
		}
		if file, err := rules.ParseWorkflow(workflow.File, workflow.Source); err == nil {
			files = append(files, file)
		}
	}
	return rules.New(files...), nil
}

// RuleFiles returns the names of the files of rules, or of their cases, below
// SAVANT_PATH.
func (a *App) RuleFiles(cases bool) ([]string, error) {
	return sessions.Files(a.ruleFiles(), cases)
}

// RuleFile reads a file of rules or cases by its name below SAVANT_PATH.
func (a *App) RuleFile(name string) ([]byte, error) { return sessions.Read(a.ruleFiles(), name) }

// RuleKeeper has the sessions whose calls rules judge.
func (a *App) RuleKeeper() *sessions.Keeper { return a.rules }

// CheckedTools is what rules are checked against.
func (a *App) CheckedTools() rules.Tools { return checkedTools{a} }

// checkedTools implements rules.Tools.
type checkedTools struct{ app *App }

// Names implements rules.Tools.
func (c checkedTools) Names() []string { return c.app.Tools.Names() }

// Tool implements rules.Tools.
func (c checkedTools) Tool(name string) (rules.Tool, bool) {
	tool, known := c.app.Tools.Resolve(name)
	known = known && tool.Name == name // rules use canonical names
	if !known {
		return rules.Tool{}, false
	}
	return rules.Tool{Input: tool.InputSchema(), Output: tool.OutputSchema(), Own: slices.Contains(c.app.own, engines.EngineOf(name)), ReadOnly: tool.ReadOnly}, true
}

// linkedFiles are the files of a folder. Unlike those of os.Root alone, an absolute link
// to one of them is followed too.
type linkedFiles struct{ root *os.Root }

func (l linkedFiles) Open(name string) (fs.File, error) {
	file, err := l.root.FS().Open(name)
	if inside := l.resolved(name, err); inside != "" {
		return l.root.FS().Open(inside)
	}
	return file, err
}

func (l linkedFiles) Stat(name string) (fs.FileInfo, error) {
	info, err := fs.Stat(l.root.FS(), name)
	if inside := l.resolved(name, err); inside != "" {
		return fs.Stat(l.root.FS(), inside)
	}
	return info, err
}

// resolved returns where a path without its links is in the folder, if the links are
// why it was refused; else "".
func (l linkedFiles) resolved(name string, refused error) string {
	if !ownfolder.Displaced(refused) {
		return ""
	}
	folder, err := filepath.EvalSymlinks(l.root.Name())
	if err != nil {
		return ""
	}
	target, err := filepath.EvalSymlinks(filepath.Join(folder, filepath.FromSlash(name)))
	if err != nil {
		return ""
	}
	inside, err := filepath.Rel(folder, target)
	if err != nil || !filepath.IsLocal(inside) {
		return ""
	}
	return filepath.ToSlash(inside)
}

// editing is the project as an editor sees it: nothing needs to be accepted, since
// nothing is run.
type editing struct {
	rules.Tools
	app *App
}

// Editing returns the project for an editor. It implements lsp.Project.
func (a *App) Editing() editing { return editing{a.CheckedTools(), a} }

// Describe implements lsp.Project.
func (e editing) Describe(name string) string {
	tool, _ := e.app.Tools.Resolve(name)
	return tool.Description
}

// Folder implements lsp.Project.
func (e editing) Folder() string { return e.app.Path }

// Engine implements lsp.Project.
func (e editing) Engine(over func(fs.FS) fs.FS) *think.Engine {
	layers := []library.Layer{{Files: savant.Files}, {Files: newPackageFiles(e.app.packages, e.app.trust)}, {Files: over(e.app.files.regularFiles)}}
	return e.app.engine(layers...)
}
