package workflows

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	linediff "github.com/rogpeppe/go-internal/diff"

	"savant/cmd/savant/app"
	"savant/cmd/savant/terminal"
	"savant/fault"
	"savant/internal/atomicfile"
	"savant/internal/regular"
	"savant/think/cases"
)

// updateCases rewrites what the cases of workflows expect, and shows the differences.
// Files that are not valid, and those that Savant brings, are left alone.
func (p *program) updateCases(ctx context.Context, a *app.App, names []string, o testOptions) error {
	workflows, err := a.Tested(ctx, names)
	if err != nil {
		return err
	}
	root, err := regular.OpenFolder(p.Settings.Path)
	if err != nil {
		return fault.New(fault.InvalidParams, "%s: %w", p.Settings.Path, errors.Unwrap(err))
	}
	defer root.Close()
	for _, workflow := range workflows {
		for _, file := range workflow.Files {
			if file.Below == "" || len(workflow.Problems(file)) > 0 {
				continue
			}
			text, left := cases.Update(file.File, workflow.Graph, o.only)
			for _, each := range left {
				fmt.Fprintln(p.Stderr, terminal.DiagnosticLine(each, each.Code))
			}
			before := file.Source()
			if bytes.Equal(before, text) {
				continue
			}
			if err := atomicfile.Write(root, file.Below, text, 0o644); err != nil {
				return fault.New(fault.Internal, "%s was not written: %w", file.Name, errors.Unwrap(err))
			}
			out := p.Stderr
			if o.format == "text" {
				out = p.Stdout
			}
			fmt.Fprint(out, terminal.Content(string(linediff.Diff("a/"+file.Below, before, "b/"+file.Below, text))))
		}
	}
	return nil
}
