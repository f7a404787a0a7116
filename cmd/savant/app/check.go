package app

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"savant/fault"
	"savant/think"
	"savant/think/library"
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
	for _, file := range files {
		checked, err := a.checkFile(ctx, file, strict)
		if err != nil {
			return nil, err
		}
		found = append(found, checked)
	}
	return found, nil
}

// workflowFiles returns the workflow files of paths and names, in their order; those of
// a folder are sorted by name. A workflow's name takes precedence over a folder of that
// name.
func (a *App) workflowFiles(paths []string) ([]string, error) {
	var files []string
	for _, path := range paths {
		info, err := os.Stat(path)
		switch {
		case isName(path) && (err != nil || a.hasWorkflow(path)):
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

// projectWorkflows returns the workflow files of SAVANT_PATH, by folder.
func (a *App) projectWorkflows() ([]string, error) {
	folder := filepath.Join(a.settings.Path, "workflows")
	if _, err := os.ReadDir(folder); err != nil {
		return nil, notFound(folder, err)
	}
	var files []string
	for _, each := range library.WorkflowFiles(a.files.regularFiles) {
		files = append(files, filepath.Join(a.settings.Path, filepath.FromSlash(each)))
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
	return slices.ContainsFunc(a.layers, func(layer library.Layer) bool { return fileNamed(layer.Files, name) != "" })
}

// fileNamed returns the file of a workflow among those of a layer, or "".
func fileNamed(files fs.FS, name string) string {
	for _, each := range library.WorkflowFiles(files) {
		if strings.TrimSuffix(path.Base(each), path.Ext(each)) == name {
			return each
		}
	}
	return ""
}

// isName reports whether an argument is a workflow's name rather than a path.
func isName(path string) bool { return !isWorkflow(path) && !strings.ContainsAny(path, `/\`) }

// fileOf returns where a workflow's file would be below SAVANT_PATH. A bundled one has
// no file there, but is found by this path too.
func (a *App) fileOf(name string) string {
	if file := fileNamed(a.files.regularFiles, name); file != "" {
		return filepath.Join(a.settings.Path, filepath.FromSlash(file))
	}
	return filepath.Join(a.settings.Path, "workflows", name+".yaml")
}

func notFound(path string, err error) error {
	return fault.New(fault.UnknownWorkflow, "%s: %w", path, errors.Unwrap(err))
}

func isWorkflow(name string) bool {
	return strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".yml")
}

// checkFile checks one file together with the others of its folder, so that workflows
// find each other in any folder.
func (a *App) checkFile(ctx context.Context, file string, strict bool) (CheckedFile, error) {
	folder := filepath.Dir(file)
	engine := a.engine(append(slices.Clone(a.layers), library.Layer{Files: asWorkflows{a.filesOf(folder)}})...)
	defer engine.Close()
	base := filepath.Base(file)
	name := strings.TrimSuffix(strings.TrimSuffix(base, ".yaml"), ".yml")
	out, err := engine.Validate(ctx, think.ValidateInput{Workflow: name, StrictTools: strict})
	if err != nil {
		return CheckedFile{}, err
	}
	checked := CheckedFile{File: file, Valid: out.Valid, Errors: out.Errors, Warnings: out.Warnings, Notes: out.Notes}
	for _, list := range [][]fault.Diagnostic{checked.Errors, checked.Warnings, checked.Notes} {
		for i := range list {
			list[i] = placed(list[i], folder, file, out.Code)
		}
	}
	return checked, nil
}

// filesOf returns the files of a folder. Those below SAVANT_PATH are read as a run reads
// them: no link leads out of it.
func (a *App) filesOf(folder string) regularFiles {
	project, projectErr := filepath.Abs(a.settings.Path)
	absolute, err := filepath.Abs(folder)
	if err == nil && projectErr == nil {
		if below, err := filepath.Rel(project, absolute); err == nil && filepath.IsLocal(below) {
			return regularFiles{folderFiles{a.files.root.FS(), filepath.ToSlash(below)}}
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

// placed returns a diagnostic with the file as the person named it, and with its own
// code.
func placed(d fault.Diagnostic, folder, file string, code fault.Code) fault.Diagnostic {
	below, inFolder := strings.CutPrefix(d.File, "workflows/")
	switch {
	case d.File == "":
		d.File = file
	case inFolder:
		if _, err := os.Stat(filepath.Join(folder, below)); err == nil {
			d.File = filepath.Join(folder, below)
		}
	}
	if d.Code == "" {
		d.Code = code
	}
	return d
}

// asWorkflows presents a folder of workflow files as the workflows/ of a layer.
type asWorkflows struct{ files regularFiles }

// Stat describes what Open opens, without opening it.
func (a asWorkflows) Stat(name string) (fs.FileInfo, error) {
	return a.files.Stat(strings.TrimPrefix(name, "workflows/"))
}

// Open opens a file below workflows/; nothing else exists.
func (a asWorkflows) Open(name string) (fs.File, error) {
	if name == "workflows" {
		return a.files.Open(".")
	}
	below, ok := strings.CutPrefix(name, "workflows/")
	if !ok {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return a.files.Open(below)
}
