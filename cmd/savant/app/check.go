package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"savant/fault"
	"savant/internal/access"
	"savant/internal/ownfolder"
	"savant/internal/settings"
	"savant/internal/webguard"
	"savant/rules"
	"savant/think"
	"savant/think/cases"
	"savant/think/check"
	"savant/think/flow"
	"savant/think/library"
	"savant/think/state"
)

// CheckedFile holds the findings in one workflow file.
type CheckedFile struct {
	File     string             `json:"file"`
	Valid    bool               `json:"valid"`
	Errors   []fault.Diagnostic `json:"errors"`
	Warnings []fault.Diagnostic `json:"warnings"`
	Notes    []fault.Diagnostic `json:"notes"`
}

// CheckWorkflows checks the workflows of paths and names, or all of SAVANT_PATH.
func (a *App) CheckWorkflows(ctx context.Context, paths []string, strict bool) ([]CheckedFile, error) {
	var found []CheckedFile
	files, err := a.workflowFiles(paths)
	if len(paths) == 0 {
		if found, err = a.checkSchemas(); err == nil {
			files, err = a.projectWorkflows()
		}
	}
	if err != nil {
		return nil, err
	}
	checkers := map[string]*think.Engine{} // by folder
	defer func() {
		for _, each := range checkers {
			each.Close()
		}
	}()
	named := map[string][]string{} // the files of SAVANT_PATH, where all are checked
	for _, file := range files {
		if below, err := filepath.Rel(a.settings.Path, file); err == nil && len(paths) == 0 {
			named[library.NameOf(file)] = append(named[library.NameOf(file)], filepath.ToSlash(below))
		}
	}
	for _, file := range files {
		folder := filepath.Dir(file)
		if checkers[folder] == nil {
			checkers[folder] = a.engine(append(slices.Clone(a.layers), library.Layer{Files: asWorkflows{a.filesOf(folder)}})...)
			checkers[folder].Library.KeepListing()
		}
		checked, err := a.checkFile(ctx, checkers[folder], file, strict)
		if err != nil {
			return nil, err
		}
		if name := library.NameOf(file); len(named[name]) > 1 {
			checked.Valid = false
			checked.Errors = append(checked.Errors, fault.Diagnostic{File: file, Code: fault.YAMLSchemaViolation, Message: library.SeveralFiles(name, named[name]).Message()})
		}
		found = append(found, checked)
	}
	if len(paths) > 0 {
		return found, nil
	}
	tested, err := a.Tested(ctx, nil)
	for _, workflow := range tested {
		for _, file := range workflow.Files {
			if file.Err != nil {
				found = append(found, CheckedFile{File: file.Name, Errors: file.Problems()})
			}
		}
	}
	return found, err
}

// workflowFiles returns the workflow files of paths and names, in their order; those of
// a folder are sorted by name. A workflow's name takes precedence over a folder of that
// name.
func (a *App) workflowFiles(paths []string) ([]string, error) {
	var files []string
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil && isWorkflow(path) { // a link that leads nowhere is a finding
			info, err = os.Lstat(path)
		}
		switch {
		case !isWorkflow(path) && (a.hasWorkflow(path) || err != nil && !strings.ContainsAny(path, `/\`)):
			if several := a.namesakes(path); len(several) > 1 {
				return nil, library.SeveralFiles(path, several)
			}
			files = append(files, a.fileOf(path))
		case err != nil:
			return nil, notFound(path, err)
		case info.IsDir():
			inside, err := filesIn(path)
			if err == nil && len(inside) == 0 {
				err = fault.New(fault.UnknownWorkflow, "%s: this folder has no workflow file (.yaml or .yml)", path)
			}
			if err != nil {
				return nil, err
			}
			files = append(files, inside...)
		case !isWorkflow(path):
			return nil, fault.New(fault.InvalidParams, "%s: expected a workflow file (.yaml or .yml)", path)
		default:
			files = append(files, path)
		}
	}
	return slices.Compact(files), nil
}

// howToBegin is what to do in a project without workflows.
const howToBegin = "savant workflows new NAME begins one, and savant init a whole project; savant workflows list lists the bundled ones"

// projectWorkflows returns the workflow files of SAVANT_PATH, by folder.
func (a *App) projectWorkflows() ([]string, error) {
	info, err := a.files.Stat("workflows")
	if err == nil && !info.IsDir() {
		err = &fs.PathError{Err: syscall.ENOTDIR}
	}
	if lock, _ := a.packages.Lock(); errors.Is(err, fs.ErrNotExist) && len(lock.Packages) > 0 {
		return nil, nil // all workflows are of packages
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, fault.From(notFound(filepath.Join(a.settings.Path, "workflows"), err)).Hinted(fault.Hint{Text: howToBegin})
	}
	names, err := library.WorkflowFiles(a.files.regularFiles)
	if err != nil {
		return nil, err
	}
	var files []string
	for _, each := range names {
		if !a.packages.Vendored(each) {
			files = append(files, filepath.Join(a.settings.Path, filepath.FromSlash(each)))
		}
	}
	return files, nil
}

// filesIn returns the workflow files of a folder.
func filesIn(folder string) ([]string, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, notFound(folder, err)
	}
	var files []string
	for _, entry := range entries {
		if isWorkflow(entry.Name()) && !entry.IsDir() {
			files = append(files, filepath.Join(folder, entry.Name()))
		}
	}
	return files, nil
}

// hasWorkflow reports whether a workflow exists, bundled or in SAVANT_PATH.
func (a *App) hasWorkflow(name string) bool {
	return slices.ContainsFunc(a.layers, func(layer library.Layer) bool { return len(filesNamed(layer.Files, name)) > 0 })
}

// namesakes returns the files of SAVANT_PATH that a name means: its own before those of
// packages.
func (a *App) namesakes(name string) []string {
	all := filesNamed(a.files.regularFiles, name)
	if own := slices.DeleteFunc(slices.Clone(all), a.packages.Vendored); len(own) > 0 {
		return own
	}
	return all
}

// filesNamed returns the files of a workflow among those of a layer; a name may have its
// folder, as in team/deploy.
func filesNamed(files fs.FS, name string) (named []string) {
	named, _ = library.WorkflowFiles(files)
	return slices.DeleteFunc(named, func(each string) bool { return library.NameOf(each) != name && library.NameInFolder(each) != name })
}

// fileOf returns where a workflow's file would be below SAVANT_PATH. A bundled one has
// no file there, but is found by this path too.
func (a *App) fileOf(name string) string {
	if files := filesNamed(a.files.regularFiles, name); len(files) > 0 {
		return filepath.Join(a.settings.Path, filepath.FromSlash(files[0]))
	}
	return filepath.Join(a.settings.Path, "workflows", name+".yaml")
}

func notFound(path string, err error) error {
	return fault.New(fault.UnknownWorkflow, "%s: %w", path, errors.Unwrap(err))
}

func isWorkflow(name string) bool {
	ending := strings.ToLower(filepath.Ext(name))
	return ending == ".yaml" || ending == ".yml"
}

// checkFile checks one file together with the others of its folder, so that workflows
// find each other in any folder.
func (a *App) checkFile(ctx context.Context, engine *think.Engine, file string, strict bool) (CheckedFile, error) {
	folder, base := filepath.Dir(file), filepath.Base(file)
	name := strings.TrimSuffix(base, filepath.Ext(base))
	out, err := engine.Validate(ctx, think.ValidateInput{Workflow: name, StrictTools: strict})
	if err != nil {
		return CheckedFile{}, err
	}
	checked := CheckedFile{File: file, Valid: out.Valid, Errors: out.Errors, Warnings: out.Warnings, Notes: out.Notes}
	if workflow, err := engine.Library.Find(name, ""); err == nil {
		a.checkApprovers(workflow, &checked)
	}
	for _, list := range [][]fault.Diagnostic{checked.Errors, checked.Warnings, checked.Notes} {
		for i := range list {
			list[i] = relocate(list[i], folder, file, out.Code)
		}
	}
	return checked, nil
}

// checkApprovers warns of approvers that no token of this machine is named like. Where it
// has none, the workflow may be for another machine, which is a note. Who has tokens of an
// authorisation server is not known.
func (a *App) checkApprovers(workflow *flow.Workflow, into *CheckedFile) {
	tokens, err := webguard.ReadTokens(TokenFile(a.settings, a.options.Environment))
	if err != nil || a.settings.HTTP.Issuer != "" {
		return
	}
	lines := fault.Lines(string(workflow.Source))
	for _, d := range workflow.Approvers() {
		name := d.Actual
		if name == think.ByLocal || slices.ContainsFunc(tokens, func(each webguard.Token) bool { return access.NameInRecords(each.Name) == name }) {
			continue
		}
		d.Message, d.Actual = fmt.Sprintf("no token of this machine is named %q, so nobody answers here under that name: savant token add makes one", name), ""
		if d.Severity = "note"; len(tokens) > 0 {
			d.Severity = "warning"
			into.Warnings = append(into.Warnings, d.Quoting(lines))
		} else {
			into.Notes = append(into.Notes, d.Quoting(lines))
		}
	}
}

// TokenFile is the file of tokens for servers; "" if there is no folder for it.
func TokenFile(s settings.Settings, environment []string) string {
	if s.HTTP.Tokens != "" {
		return s.HTTP.Tokens
	}
	folder := Configuration(environment)
	if folder == "" {
		return ""
	}
	return filepath.Join(folder, "savant", "tokens.json")
}

// filesOf returns the files of a folder. Those below SAVANT_PATH are read as a run reads
// them: no link leads out of it.
func (a *App) filesOf(folder string) regularFiles {
	project, projectErr := filepath.Abs(a.settings.Path)
	absolute, err := filepath.Abs(folder)
	if err == nil && projectErr == nil {
		if below, err := filepath.Rel(project, absolute); err == nil && filepath.IsLocal(below) {
			return regularFiles{folderFiles{a.files.FS, filepath.ToSlash(below)}}
		}
	}
	return regularFiles{os.DirFS(folder)}
}

// folderFiles are the files of a folder. Unlike those of fs.Sub, Stat opens nothing: a pipe
// would block.
type folderFiles struct {
	fs.FS
	folder string
}

func (f folderFiles) Open(name string) (fs.File, error) { return f.FS.Open(path.Join(f.folder, name)) }
func (f folderFiles) Stat(name string) (fs.FileInfo, error) {
	return fs.Stat(f.FS, path.Join(f.folder, name))
}

// relocate returns a diagnostic with the file as the person named it, and with its own
// code.
func relocate(d fault.Diagnostic, folder, file string, code fault.Code) fault.Diagnostic {
	below, inFolder := strings.CutPrefix(d.File, "workflows/")
	switch {
	case d.File == "":
		d.File = file
	case inFolder:
		if _, err := os.Stat(filepath.Join(folder, below)); err == nil {
			d.File = filepath.Join(folder, below)
		}
	}
	d.Code = cmp.Or(d.Code, code)
	return d
}

// asWorkflows presents a folder of workflow files as the workflows/ of a layer.
type asWorkflows struct{ files regularFiles }

// Stat describes what Open opens, without opening it.
func (a asWorkflows) Stat(name string) (fs.FileInfo, error) {
	below, err := belowWorkflows("stat", name)
	if err != nil {
		return nil, err
	}
	return a.files.Stat(below)
}

// Open opens a file below workflows/; nothing else exists.
func (a asWorkflows) Open(name string) (fs.File, error) {
	below, err := belowWorkflows("open", name)
	if err != nil {
		return nil, err
	}
	return a.files.Open(below)
}

// maxCasesFile bounds the size of a cases file, in bytes.
const maxCasesFile = 5 << 20

// TestedWorkflow is a workflow with its cases files. Err says why its cases cannot run.
type TestedWorkflow struct {
	Name  string
	Graph *flow.Graph
	Files []CasesFile
	Err   error
}

// CasesFile is one cases file: parsed, and its place as a person would name it. Err says
// what is wrong with it.
type CasesFile struct {
	*cases.File
	Err error
	// Below is its name below SAVANT_PATH, "" for a bundled file.
	Below string
}

// Problems returns what is wrong with the file, with places.
func (f CasesFile) Problems() []fault.Diagnostic { return fault.DiagnosticsOf(f.Name, f.Err) }

// Problems returns what is wrong with a cases file, or else with its workflow.
func (t TestedWorkflow) Problems(file CasesFile) []fault.Diagnostic {
	if file.Err == nil {
		file.Err = t.Err
	}
	return append([]fault.Diagnostic{}, file.Problems()...)
}

// Run runs the cases of a file, on all processors, and returns what they came to in their
// order; only those of a name if that is not empty.
func (t TestedWorkflow) Run(file CasesFile, only string) []cases.Result {
	chosen := file.Cases
	if only != "" {
		chosen = slices.DeleteFunc(slices.Clone(chosen), func(c cases.Case) bool { return c.Name != only })
	}
	all := make([]cases.Result, len(chosen))
	var workers errgroup.Group
	workers.SetLimit(runtime.GOMAXPROCS(0))
	for i, each := range chosen {
		workers.Go(func() error {
			all[i] = cases.Run(file.File, each, t.Graph)
			return nil
		})
	}
	_ = workers.Wait() // none fails
	return all
}

// Tested returns the workflows of the given names with their cases; without names those of
// SAVANT_PATH that have some. An unknown name is UNKNOWN_WORKFLOW.
func (a *App) Tested(ctx context.Context, names []string) ([]TestedWorkflow, error) {
	files := a.casesFiles(len(names) == 0)
	if len(names) == 0 {
		for _, each := range files {
			names = append(names, library.CasesOf(each.name))
		}
		slices.Sort(names)
		names = slices.Compact(names)
	}
	engine := a.engine(a.layers...)
	defer engine.Close()
	engine.Library.KeepListing()
	var tested []TestedWorkflow
	for _, name := range names {
		each := TestedWorkflow{Name: name}
		if each.Graph, each.Err = engine.Library.Graph(name); each.Err == nil {
			each.Err = Valid(ctx, engine, name)
		}
		for _, file := range files {
			if library.CasesOf(file.name) == name {
				read := file.read(each.Graph, a.Think.Rules)
				read.Below = file.below
				each.Files = append(each.Files, read)
			}
		}
		if len(each.Files) == 0 && errors.Is(each.Err, fault.UnknownWorkflow) {
			return nil, each.Err
		}
		tested = append(tested, each)
	}
	return tested, nil
}

// Valid returns the error of a workflow whose static checks fail: no run of it is planned.
func Valid(ctx context.Context, engine *think.Engine, name string) error {
	out, err := engine.Validate(ctx, think.ValidateInput{Workflow: name})
	if err != nil || out.Valid {
		return err
	}
	return fault.New(out.Code, "the workflow %s is not valid: %s", name, out.Errors[0].Message).With(out.Errors...)
}

// casesFile is a file of cases of a layer.
type casesFile struct {
	files fs.FS
	name  string
	shown string // as a person names it
	below string // its name below SAVANT_PATH, "" for a bundled one
}

// casesFiles returns the cases files of the project, and of the bundled workflows that the
// project does not replace.
func (a *App) casesFiles(project bool) (found []casesFile) {
	for _, layer := range slices.Backward(a.layers) {
		if project && layer.Origin != library.Project {
			continue
		}
		for _, name := range library.CasesFiles(layer.Files) {
			each := casesFile{files: layer.Files, name: name, shown: name}
			if layer.Origin == library.Project {
				each.shown, each.below = filepath.Join(a.settings.Path, filepath.FromSlash(name)), name
			} else if a.projectHas(library.CasesOf(name)) {
				continue
			}
			found = append(found, each)
		}
	}
	return found
}

// projectHas reports whether SAVANT_PATH has a workflow of a name.
func (a *App) projectHas(name string) bool { return len(filesNamed(a.files.regularFiles, name)) > 0 }

// read parses a file and checks it against its workflow, if that is known. Its cases are
// judged by the rules of the workflows.
func (l casesFile) read(graph *flow.Graph, rules check.Rules) CasesFile {
	read := CasesFile{File: &cases.File{Name: l.shown}}
	info, err := fs.Stat(l.files, l.name)
	if err == nil && info.Size() > maxCasesFile {
		read.Err = fault.New(fault.LimitExceeded, "%s has %d bytes; at most %d are read", l.shown, info.Size(), maxCasesFile)
		return read
	}
	var src []byte
	if err == nil {
		src, err = fs.ReadFile(l.files, l.name)
	}
	if err != nil {
		read.Err = ownfolder.NotRead(l.shown, err)
		return read
	}
	file, err := cases.Parse(l.shown, src)
	if read.Err = err; err != nil {
		return read
	}
	if read.File = file.Ruled(rules); graph != nil {
		read.Err = cases.Check(file, graph)
	}
	return read
}

func belowWorkflows(op, name string) (string, error) {
	if name == "workflows" {
		return ".", nil
	}
	below, ok := strings.CutPrefix(name, "workflows/")
	if !ok {
		return "", &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
	}
	return below, nil
}

// Recorded returns the parameters and the answers of a run without secrets.
func (a *App) Recorded(ctx context.Context, key state.Key) (map[string]any, []cases.Recorded, error) {
	params, answers, err := a.Think.Answers(ctx, key)
	if err != nil {
		return nil, nil, err
	}
	calls, err := a.rules.CallsUnder(key.String())
	if err != nil {
		return nil, nil, err
	}
	var clean []cases.Recorded
	for _, each := range answers {
		made := cases.Recorded{Step: each.Step, Result: a.redactor.Value(each.Result)}
		at, err := time.Parse(time.RFC3339Nano, each.Time)
		for ; err == nil && len(calls) > 0 && calls[0].Time <= at.UnixMilli(); calls = calls[1:] {
			input, _ := a.redactor.Value(calls[0].Input).(map[string]any)
			made.Calls = append(made.Calls, cases.Call{Tool: calls[0].Tool, Input: input, Result: a.redactor.Value(calls[0].Result),
				Failed: calls[0].Outcome != rules.Succeeded, Refused: calls[0].Refused})
		}
		clean = append(clean, made)
	}
	shown, _ := a.redactor.Value(params).(map[string]any)
	return shown, clean, nil
}
