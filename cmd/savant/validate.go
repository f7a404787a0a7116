package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"savant/fault"
	"savant/think"
	"savant/think/library"
)

func (p *program) validateCommand() *cobra.Command {
	var strict bool
	command := &cobra.Command{Use: "validate [NAME|PATH…]", Short: "Check workflows by name, workflow files, or all of a folder",
		Long: "Check workflows by name, workflow files, or all of a folder; without one those of SAVANT_PATH, with its schemas.\n" +
			"Prints file:line:col: error: message [CODE]; exit code 3 if there are errors.",
		RunE: func(command *cobra.Command, paths []string) error {
			return p.with(command.Context(), func(h *house) error { return p.validate(command.Context(), h, paths, strict) })
		}}
	command.Flags().BoolVar(&strict, "strict-tools", false, "a tool that no engine has is an error, not a warning")
	p.jsonFlag(command)
	return command
}

// checkedFile is what was found in one workflow file.
type checkedFile struct {
	File     string             `json:"file"`
	Valid    bool               `json:"valid"`
	Errors   []fault.Diagnostic `json:"errors"`
	Warnings []fault.Diagnostic `json:"warnings"`
}

// checkedFiles is what validate --json prints.
type checkedFiles struct {
	Files    []checkedFile `json:"files"`
	Errors   int           `json:"errors"`
	Warnings int           `json:"warnings"`
}

func (p *program) validate(ctx context.Context, h *house, paths []string, strict bool) error {
	found, err := h.checkAll(ctx, paths, strict)
	if err != nil {
		return err
	}
	out := checkedFiles{Files: []checkedFile{}}
	told := map[fault.Diagnostic]bool{}
	for _, checked := range found {
		checked.Errors, checked.Warnings = untold(checked.Errors, told), untold(checked.Warnings, told)
		out.Files = append(out.Files, checked)
		out.Errors += len(checked.Errors)
		out.Warnings += len(checked.Warnings)
	}
	if p.json {
		err = p.print(out)
	} else {
		p.printChecked(out)
	}
	if err == nil && out.Errors > 0 {
		return statusError(exitInvalid)
	}
	return err
}

// checkAll checks what paths and names stand for, or all that SAVANT_PATH has.
func (h *house) checkAll(ctx context.Context, paths []string, strict bool) ([]checkedFile, error) {
	var found []checkedFile
	files, err := h.workflowFiles(paths)
	if len(paths) == 0 {
		if found, err = h.checkSchemas(); err == nil {
			files, err = filesIn(filepath.Join(h.given, "workflows"))
		}
	}
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		checked, err := h.checkFile(ctx, file, strict)
		if err != nil {
			return nil, err
		}
		found = append(found, checked)
	}
	return found, nil
}

// untold returns what was not told before: a workflow that others run is
// found wanting once for each of them.
func untold(found []fault.Diagnostic, told map[fault.Diagnostic]bool) []fault.Diagnostic {
	fresh := []fault.Diagnostic{}
	for _, each := range found {
		if !told[each] {
			fresh = append(fresh, each)
		}
		told[each] = true
	}
	return fresh
}

// workflowFiles returns the workflow files that paths and names stand for, in
// their order, those of a folder by name. A name that there is a workflow of is
// that, also where a folder happens to have it.
func (h *house) workflowFiles(paths []string) ([]string, error) {
	var files []string
	for _, path := range paths {
		info, err := os.Stat(path)
		switch {
		case isName(path) && (err != nil || h.hasWorkflow(path)):
			files = append(files, h.fileOf(path))
		case err != nil:
			return nil, notFound(path, err)
		case info.IsDir():
			inside, err := filesIn(path)
			if err == nil && len(inside) == 0 {
				err = fault.New(fault.UnknownWorkflow, "%s: no workflow file is in this folder: one ends in .yaml or .yml", path)
			}
			if err != nil {
				return nil, err
			}
			files = append(files, inside...)
		case !isWorkflow(path):
			return nil, fault.New(fault.InvalidParams, "%s: expected a workflow file, which ends in .yaml or .yml", path)
		default:
			files = append(files, path)
		}
	}
	return slices.Compact(files), nil
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

// hasWorkflow says whether there is a file for a name, bundled or of SAVANT_PATH.
func (h *house) hasWorkflow(name string) bool {
	return slices.ContainsFunc(h.layers, func(layer library.Layer) bool {
		_, yaml := fs.Stat(layer.Files, "workflows/"+name+".yaml")
		_, yml := fs.Stat(layer.Files, "workflows/"+name+".yml")
		return yaml == nil || yml == nil
	})
}

// isName says whether an argument that is no path is the name of a workflow.
func isName(path string) bool { return !isWorkflow(path) && !strings.ContainsAny(path, `/\`) }

// fileOf is where the workflow of a name would be under SAVANT_PATH. A bundled
// one, which has no file there, is found by its name all the same.
func (h *house) fileOf(name string) string {
	for _, ending := range []string{".yaml", ".yml"} {
		if _, err := h.root.Stat("workflows/" + name + ending); err == nil {
			return filepath.Join(h.given, "workflows", name+ending)
		}
	}
	return filepath.Join(h.given, "workflows", name+".yaml")
}

func notFound(path string, err error) error {
	return fault.New(fault.UnknownWorkflow, "%s: %w", path, errors.Unwrap(err))
}

func isWorkflow(name string) bool {
	return strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".yml")
}

// checkFile checks one file among those of its own folder, so that workflows
// that run each other are found, whatever folder that is.
func (h *house) checkFile(ctx context.Context, file string, strict bool) (checkedFile, error) {
	folder := filepath.Dir(file)
	engine := h.engine(append(slices.Clone(h.layers), library.Layer{Files: asWorkflows{regularFiles{os.DirFS(folder)}}})...)
	defer engine.Close()
	base := filepath.Base(file)
	name := strings.TrimSuffix(strings.TrimSuffix(base, ".yaml"), ".yml")
	out, err := engine.Validate(ctx, think.ValidateInput{Workflow: name, StrictTools: strict})
	if err != nil {
		return checkedFile{}, err
	}
	checked := checkedFile{File: file, Valid: out.Valid, Errors: out.Errors, Warnings: out.Warnings}
	for _, list := range [][]fault.Diagnostic{checked.Errors, checked.Warnings} {
		for i := range list {
			list[i] = placed(list[i], folder, file, out.Code)
		}
	}
	return checked, nil
}

// placed returns a diagnostic with its file as the person named it, and its
// own code.
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

func (p *program) printChecked(out checkedFiles) {
	for _, file := range out.Files {
		for _, each := range file.Errors {
			fmt.Fprintln(p.stdout, diagnosticLine(each, each.Code))
		}
		for _, each := range file.Warnings {
			each.Severity = "warning"
			fmt.Fprintln(p.stdout, diagnosticLine(each, each.Code))
		}
	}
	fmt.Fprintf(p.stdout, "%s, %s, %s\n", count(len(out.Files), "file"), count(out.Errors, "error"), count(out.Warnings, "warning"))
}

func count(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

// asWorkflows shows a folder of workflow files as the workflows/ of a layer.
type asWorkflows struct{ files regularFiles }

// Stat tells of what Open opens, without opening it.
func (a asWorkflows) Stat(name string) (fs.FileInfo, error) {
	return a.files.Stat(strings.TrimPrefix(name, "workflows/"))
}

// Open opens a file below workflows/; there is nothing else.
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
