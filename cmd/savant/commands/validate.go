package commands

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"savant/cmd/savant/app"
	"savant/cmd/savant/terminal"
	"savant/fault"
)

func (p *program) validateCommand() *cobra.Command {
	var strict bool
	command := &cobra.Command{Use: "validate [NAME|PATH…]", Short: "Check workflows by name, workflow files, or all of a folder",
		Long: "Check workflows by name, workflow files, or all of a folder; without one those of SAVANT_PATH, with its schemas.\n" +
			"Prints file:line:col: error: message [CODE]; exit code 3 if there are errors.",
		RunE: p.onApp(func(ctx context.Context, a *app.App, paths []string) error {
			return p.validate(ctx, a, paths, strict)
		})}
	command.Flags().BoolVar(&strict, "strict-tools", false, "a tool that no engine has is an error, not a warning")
	return p.jsonFlag(command)
}

// checkedFiles is what validate --json prints.
type checkedFiles struct {
	Files    []app.CheckedFile `json:"files"`
	Errors   int               `json:"errors"`
	Warnings int               `json:"warnings"`
}

func (p *program) validate(ctx context.Context, a *app.App, paths []string, strict bool) error {
	found, err := a.CheckWorkflows(ctx, paths, strict)
	if err != nil {
		return err
	}
	out := checkedFiles{Files: []app.CheckedFile{}}
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

func (p *program) printChecked(out checkedFiles) {
	for _, file := range out.Files {
		for _, each := range file.Errors {
			fmt.Fprintln(p.stdout, terminal.DiagnosticLine(each, each.Code))
		}
		for _, each := range file.Warnings {
			each.Severity = "warning"
			fmt.Fprintln(p.stdout, terminal.DiagnosticLine(each, each.Code))
		}
	}
	fmt.Fprintf(p.stdout, "%s, %s, %s\n", terminal.Count(len(out.Files), "file"), terminal.Count(out.Errors, "error"), terminal.Count(out.Warnings, "warning"))
}
