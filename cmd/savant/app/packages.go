package app

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"savant"
	"savant/fault"
	"savant/internal/trust"
	"savant/packages"
	"savant/rules/sessions"
	"savant/think"
	"savant/think/audit"
	"savant/think/cases"
	"savant/think/flow"
	"savant/think/library"
	"savant/think/state"
)

// packageFiles are the files of the project's packages as a layer. What replaces a bundled
// file is visible only after a person has accepted it, as in the project itself.
type packageFiles struct {
	guardedFiles
	files *packages.Files
}

func newPackageFiles(files *packages.Files, folder *trust.Folder) packageFiles {
	return packageFiles{guardedFiles{regularFiles{files}, savant.Files, folder, files.Origin}, files}
}

// OriginOf implements library.Originated.
func (p packageFiles) OriginOf(file string) string { return p.files.Origin(file) }

// projectLayer are a project's files without the content of packages: that is in a layer of
// its own.
type projectLayer struct {
	guardedFiles
	files *packages.Files
}

// ReadDir lists what Open opens.
func (p projectLayer) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, err := p.guardedFiles.ReadDir(name)
	return slices.DeleteFunc(entries, func(each fs.DirEntry) bool { return p.files.Vendored(path.Join(name, each.Name())) }), err
}

// Packages are the files of the project's packages.
func (a *App) Packages() *packages.Files { return a.packages }

// PackageStore writes the project's packages.
func (a *App) PackageStore() *packages.Store { return packages.NewStore(a.Root) }

// PreviewedWorkflow is a workflow of a package before it is used.
type PreviewedWorkflow struct {
	Name    string `json:"name"`
	File    string `json:"file"`
	Version string `json:"version,omitempty"`
	Steps   int    `json:"steps"`
	// Tools are the tools it calls, Writes the steps with an effect, Asks those that a
	// person settles.
	Tools  []string `json:"tools"`
	Writes []string `json:"writes"`
	Asks   []string `json:"asks"`
	// Replaces says whose workflow of this name is replaced, or stands before this one;
	// empty for none.
	Replaces string             `json:"replaces,omitempty"`
	Errors   []fault.Diagnostic `json:"errors"`
	// Passed and Failed count the cases of the package for it.
	Passed int `json:"cases_passed"`
	Failed int `json:"cases_failed"`
}

// staged returns Think with a staged package in its place, and the package's files.
func (a *App) staged(folder string, pack packages.Package) (*think.Engine, *packages.Files) {
	files := packages.NewFiles(os.DirFS(filepath.Join(a.Path, filepath.FromSlash(folder))))
	return a.engine(slices.Insert(slices.Clone(a.layers), len(a.layers)-1, library.Layer{Files: files, Origin: pack.Name})...), files
}

// Preview reads the workflows of a staged package as they will be used, and what its prompts
// set. The error is that of its rules or prompts, or why it cannot be read.
func (a *App) Preview(ctx context.Context, folder string, pack packages.Package) (workflows []PreviewedWorkflow, prompts []string, err error) {
	engine, staged := a.staged(folder, pack)
	defer engine.Close()
	if _, err := sessions.Load(staged); err != nil {
		return nil, nil, err
	}
	if prompts, err = a.promptsSet(engine.Library); err == nil {
		workflows, err = a.previewWorkflows(ctx, engine, staged, pack)
	}
	return workflows, prompts, err
}

// promptsSet names what a library's prompts set other than the project's do now, and checks
// that they can be read.
func (a *App) promptsSet(staged *library.Library) ([]string, error) {
	after, err := staged.PromptTexts()
	if err == nil {
		_, err = agentPrompts(staged)
	}
	if err != nil {
		return nil, err
	}
	before, err := a.Think.Library.PromptTexts()
	if err != nil {
		before = nil // the project's own cannot be read, as its use says
	}
	found := []string{}
	for _, name := range slices.Sorted(maps.Keys(after)) {
		if old, had := before[name]; had && old != after[name] {
			found = append(found, name+" (replaced)")
		} else if !had {
			found = append(found, name)
		}
	}
	return found, nil
}

func (a *App) previewWorkflows(ctx context.Context, engine *think.Engine, staged *packages.Files, pack packages.Package) ([]PreviewedWorkflow, error) {
	names, err := library.WorkflowFiles(staged)
	if err != nil {
		return nil, err
	}
	found, named := []PreviewedWorkflow{}, map[string][]string{}
	for _, file := range names {
		named[library.NameOf(file)] = append(named[library.NameOf(file)], strings.Replace(file, pack.Name+"/", "", 1))
	}
	limited, cancel := context.WithTimeout(ctx, casesTime)
	defer cancel()
	for _, file := range names {
		data, err := fs.ReadFile(staged, file)
		if err != nil {
			return nil, err
		}
		one := PreviewedWorkflow{Name: library.NameOf(file), File: strings.Replace(file, pack.Name+"/", "", 1), Tools: []string{}, Writes: []string{}, Asks: []string{}, Errors: []fault.Diagnostic{}}
		one.Replaces = a.nameOwner(one.Name, pack.Name)
		workflow, err := engine.Library.Parse(one.File, data)
		if err != nil {
			one.Errors = diagnosticsOf(err)
		} else {
			one.describe(workflow)
			if twins := named[one.Name]; len(twins) > 1 {
				one.Errors = append(one.Errors, fault.Diagnostic{File: one.File, Code: fault.YAMLSchemaViolation, Message: library.SeveralFiles(one.Name, twins).Message()})
			}
			one.Errors = append(one.Errors, problemsOf(ctx, engine, strings.TrimSuffix(strings.TrimPrefix(file, "workflows/"), path.Ext(file)))...)
		}
		if len(one.Errors) == 0 {
			one.Passed, one.Failed, err = runCases(limited, engine, staged, file, one.Name)
		}
		if err != nil && len(one.Errors) == 0 {
			one.Errors = diagnosticsOf(err)
		}
		found = append(found, one)
	}
	return found, nil
}

// nameOwner says whose workflow has a name already, other than a package's own; "" for nobody's.
func (a *App) nameOwner(name, pack string) string {
	entries := a.Think.Library.List()
	at := slices.IndexFunc(entries, func(each library.Entry) bool { return each.Name == name })
	if at < 0 || entries[at].Origin == pack || strings.HasPrefix(entries[at].Origin, pack+"@") {
		return ""
	}
	return entries[at].Origin
}

func (p *PreviewedWorkflow) describe(workflow *flow.Workflow) {
	p.Version, p.Steps = workflow.Version, len(workflow.Steps)
	for _, step := range workflow.Steps {
		if tool := step.Tool(); tool != "" && !slices.Contains(p.Tools, tool) {
			p.Tools = append(p.Tools, tool)
		}
		if step.Effect == "write" {
			p.Writes = append(p.Writes, step.ID)
		}
		if step.Person() {
			p.Asks = append(p.Asks, step.ID)
		}
	}
	slices.Sort(p.Tools)
}

func diagnosticsOf(err error) []fault.Diagnostic {
	coded := fault.From(err)
	if len(coded.Diagnostics) > 0 {
		return coded.Diagnostics
	}
	return []fault.Diagnostic{{Code: coded.Code, Message: coded.Message()}}
}

// problemsOf returns the errors of the static checks.
func problemsOf(ctx context.Context, engine *think.Engine, name string) []fault.Diagnostic {
	out, err := engine.Validate(ctx, think.ValidateInput{Workflow: name})
	if err != nil {
		return diagnosticsOf(err)
	}
	return out.Errors
}

// casesTime bounds how long the cases of a package run: nobody has agreed to it yet.
const casesTime = 30 * time.Second

// runCases runs the cases that a package has for a workflow, LIMIT_EXCEEDED once ctx has ended.
func runCases(ctx context.Context, engine *think.Engine, files fs.FS, file, name string) (passed, failed int, err error) {
	graph, err := engine.Library.Graph(strings.TrimSuffix(strings.TrimPrefix(file, "workflows/"), path.Ext(file)))
	if err != nil {
		return 0, 0, err
	}
	for _, each := range library.CasesFiles(files) {
		if library.CasesOf(each) != name || path.Dir(each) != path.Dir(file) {
			continue
		}
		read := casesFile{files: files, name: each, shown: path.Base(each)}.read(graph, engine.Rules)
		if read.Err != nil {
			return passed, failed, read.Err
		}
		for _, one := range read.Cases {
			if ctx.Err() != nil {
				return passed, failed, fault.New(fault.LimitExceeded, "%s: the cases of a package run for at most %s", file, casesTime)
			}
			if len(cases.Run(read.File, one, graph).Differences) == 0 {
				passed++
			} else {
				failed++
			}
		}
	}
	return passed, failed, nil
}

// maxReplayed bounds the runs that are replayed for a new version.
const maxReplayed = 50

// ReplayedRun is a recorded run under a new version of its workflow.
type ReplayedRun struct {
	RunID      string            `json:"run_id"`
	Workflow   string            `json:"workflow"`
	Answers    int               `json:"answers"`
	Difference *think.Difference `json:"difference,omitempty"`
	Error      string            `json:"error,omitempty"`
}

// ReplayUnder replays the last runs of a workflow under the version of it that a staged
// package has, with the children and the schemas of that.
func (a *App) ReplayUnder(ctx context.Context, folder string, pack packages.Package, workflow string, source []byte) ([]ReplayedRun, error) {
	engine, _ := a.staged(folder, pack)
	defer engine.Close()
	runs, err := a.Store.List(ctx, state.Filter{Workflow: workflow})
	if err != nil {
		return nil, err
	}
	found := []ReplayedRun{}
	for _, run := range runs[:min(len(runs), maxReplayed)] {
		one := ReplayedRun{RunID: run.Run, Workflow: workflow}
		compared, err := audit.New(engine).WhatIf(ctx, workflow, run.Run, source)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case errors.Is(err, fault.Internal):
			return nil, err
		case err != nil:
			one.Error = fault.From(err).Error()
		default:
			one.Answers, one.Difference = compared.Answers, compared.Difference
		}
		found = append(found, one)
	}
	return found, nil
}

// ProjectContent is what SAVANT_PATH itself would be as a package, without the packages that
// it uses.
func (a *App) ProjectContent(ctx context.Context) (packages.Fetched, error) {
	return packages.Fetcher{Base: a.Path}.Fetch(ctx, packages.Source{Address: a.Path})
}

// ruleFiles are the files of rules of the project and of its packages. Rules only restrict,
// so those of a package hold like the project's own.
type ruleFiles struct {
	regularFiles
	files *packages.Files
	root  *os.Root
}

var errLeadsNowhere = errors.New("it is a link that leads nowhere")

// RuleFiles are the files of rules of a folder, for a program that opens nothing else.
func RuleFiles(root *os.Root) fs.FS {
	files := regularFiles{linkedFiles{root}}
	return ruleFiles{files, packages.NewFiles(files), root}
}

func (a *App) ruleFiles() ruleFiles { return ruleFiles{a.files.regularFiles, a.packages, a.files.root} }

// Open opens a file of the project, or else of a package.
func (r ruleFiles) Open(name string) (fs.File, error) {
	file, err := r.regularFiles.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return r.files.Open(name)
	}
	return file, err
}

// Stat describes what Open opens.
func (r ruleFiles) Stat(name string) (fs.FileInfo, error) {
	info, err := r.regularFiles.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return r.files.Stat(name)
	}
	return info, err
}

// ReadDir lists the files of both.
func (r ruleFiles) ReadDir(name string) ([]fs.DirEntry, error) {
	own, err := r.regularFiles.ReadDir(name)
	if errors.Is(err, fs.ErrNotExist) {
		if _, absent := r.root.Lstat(name); absent == nil { // not no rules, but those that a link hides
			err = &fs.PathError{Op: "readdir", Path: name, Err: errLeadsNowhere}
		}
	}
	shared, sharedErr := r.files.ReadDir(name)
	switch {
	case errors.Is(sharedErr, fs.ErrNotExist):
		return own, err
	case sharedErr != nil:
		return nil, sharedErr // a rule that cannot be read might refuse
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	return append(own, shared...), nil
}
