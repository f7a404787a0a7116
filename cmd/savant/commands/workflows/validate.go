package workflows

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"savant/cmd/savant/app"
	"savant/cmd/savant/terminal"
	"savant/fault"
)

func (p *program) validateCommand() *cobra.Command {
	var strict bool
	var format string
	command := &cobra.Command{Use: "validate [NAME|PATH…]", Short: "Check workflows by name, workflow files, or all of a folder",
		Long: "Check workflows by name, workflow files, or all of a folder; by default those of SAVANT_PATH, with its schemas.\n" +
			"It checks what is known before a run: the form, names, fields of results, arguments of tools, conditions, schemas.\n" +
			"Prints file:line:col: error: message [CODE] with the line; exit code 3 if there are errors.\n" +
			"--format sarif is for code scanning, --format github for annotations of GitHub's workflows.",
		Example: "  savant workflows validate\n  savant workflows validate workflows/review.yaml --format github",
		RunE: p.OnLook(func(ctx context.Context, a *app.App, paths []string) error {
			return p.validate(ctx, a, paths, strict, format)
		})}
	command.Flags().StringVar(&format, "format", "text", "how findings are printed: text, json, sarif or github")
	command.Flags().BoolVar(&strict, "strict-tools", false, "a tool that no engine has is an error, not a warning")
	return p.JSONFlag(command)
}

// checkedFiles is the output of validate --json.
type checkedFiles struct {
	Files    []app.CheckedFile `json:"files"`
	Errors   int               `json:"errors"`
	Warnings int               `json:"warnings"`
	Notes    int               `json:"notes"`
}

func (p *program) validate(ctx context.Context, a *app.App, paths []string, strict bool, format string) error {
	format, err := p.FindingsFormat(format)
	if err != nil {
		return err
	}
	found, err := a.CheckWorkflows(ctx, paths, strict)
	if err != nil {
		return err
	}
	out := checkedFiles{Files: []app.CheckedFile{}}
	seen := map[fault.Diagnostic]bool{}
	for _, checked := range found {
		checked.Errors, checked.Warnings, checked.Notes = unseen(checked.Errors, seen), unseen(checked.Warnings, seen), unseen(checked.Notes, seen)
		out.Files = append(out.Files, checked)
		out.Errors += len(checked.Errors)
		out.Warnings += len(checked.Warnings)
		out.Notes += len(checked.Notes)
	}
	if len(out.Files) == 0 && format == "text" {
		fmt.Fprintln(p.Stderr, "savant: workflows/ has no workflow: savant workflows new NAME begins one")
	}
	return p.Findings(format, out.findings(), out, terminal.Count(len(out.Files), "file")+", "+terminal.Count(out.Errors, "error")+", "+terminal.Count(out.Warnings, "warning"))
}

// findings returns the diagnostics in the order of the files, with their severity.
func (c checkedFiles) findings() []fault.Diagnostic {
	var all []fault.Diagnostic
	for _, file := range c.Files {
		own := slices.Concat(file.Errors, file.Warnings, file.Notes)
		for i := range own[len(file.Errors) : len(file.Errors)+len(file.Warnings)] {
			own[len(file.Errors)+i].Severity = "warning"
		}
		slices.SortStableFunc(own, func(a, b fault.Diagnostic) int {
			return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
		})
		all = append(all, own...)
	}
	return all
}

// unseen returns the new diagnostics: a workflow used by several others is checked once
// for each of them.
func unseen(found []fault.Diagnostic, seen map[fault.Diagnostic]bool) []fault.Diagnostic {
	fresh := []fault.Diagnostic{}
	for _, each := range found {
		if !seen[each] {
			fresh = append(fresh, each)
		}
		seen[each] = true
	}
	return fresh
}
