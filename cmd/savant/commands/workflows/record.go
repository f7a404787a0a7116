package workflows

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"savant/cmd/savant/app"
	"savant/cmd/savant/cli"
	"savant/cmd/savant/terminal"
	"savant/fault"
	"savant/internal/atomicfile"
	"savant/internal/regular"
	"savant/think/cases"
	"savant/think/library"
)

// maxCases bounds what is read of a cases file that a case is added to.
const maxCases = 5 << 20

func (p *program) recordCommand() *cobra.Command {
	var file, name string
	command := &cobra.Command{Use: "record RUN", Short: "Add a run's answers to the workflow's cases",
		Long: "Add a case that a run's own answers make to workflows/NAME.cases.yaml, so that the workflow goes on\n" +
			"to come to the same. Secrets are redacted, and long values are shortened to what is compared.",
		Example: "  savant workflows record 01j9 --name 'the tests fail'",
		Args:    cli.Positional(cobra.ExactArgs(1)),
		RunE: p.OnLook(func(ctx context.Context, a *app.App, args []string) error {
			return p.record(ctx, a, args[0], name, file)
		})}
	command.Flags().StringVarP(&file, "output", "o", "", "the cases file; default: workflows/NAME.cases.yaml in SAVANT_PATH")
	command.Flags().StringVar(&name, "name", "", "the name of the case; default: run RUN")
	return command
}

func (p *program) record(ctx context.Context, a *app.App, run, name, file string) error {
	found, err := a.FindRun(ctx, "", run, app.OfWorkflow)
	if err != nil {
		return err
	}
	key := found.Key()
	if at, err := a.Think.Position(ctx, key.Workflow, key.Run); err == nil && len(at.Outstanding) > 0 {
		return fault.New(fault.InvalidTransition, "run %s has not ended: it waits at %s; a case is made of a run that has ended", key.Run, at.Outstanding[0].StepID)
	}
	params, answers, err := a.Recorded(ctx, key)
	if err != nil {
		return err
	}
	graph, err := a.Think.Library.Graph(key.Workflow)
	if err != nil {
		return err
	}
	name = cmp.Or(name, "run "+key.Run)
	made, err := cases.Record(new(cases.File).Ruled(a.Think.Rules), name, params, answers, graph)
	if err != nil {
		return err
	}
	file = cmp.Or(file, filepath.Join(p.Settings.Path, "workflows", key.Workflow+".cases.yaml"))
	if other := library.CasesOf(filepath.ToSlash(file)); strings.HasSuffix(file, library.CasesSuffix) && other != key.Workflow {
		if _, err := a.Think.Library.Find(other, ""); err == nil {
			return fault.New(fault.InvalidParams, "-o %s: that file is of the workflow %s, and the run is one of %s", file, other, key.Workflow)
		}
	}
	if err := appendCase(file, key.Workflow, made); err != nil {
		return err
	}
	fmt.Fprintf(p.Stdout, "%s: added the case %q; run it with: savant workflows test %s\n", terminal.Visible(file), terminal.Visible(name), key.Workflow)
	return nil
}

// appendCase adds a case to a file, which it makes if it is not there.
func appendCase(file, workflow string, made cases.Case) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return fault.New(fault.InvalidParams, "%s: %w", filepath.Dir(file), errors.Unwrap(err))
	}
	folder, err := regular.OpenFolder(filepath.Dir(file))
	if err != nil {
		return fault.New(fault.InvalidParams, "%s: %w", filepath.Dir(file), errors.Unwrap(err))
	}
	defer folder.Close()
	base := filepath.Base(file)
	var src []byte
	info, err := folder.Stat(base)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil || !info.Mode().IsRegular() || info.Size() > maxCases:
		return fault.New(fault.InvalidParams, "%s: expected a cases file of at most %d bytes", file, maxCases)
	default:
		if src, err = folder.ReadFile(base); err != nil {
			return fault.New(fault.InvalidParams, "%s: %w", file, errors.Unwrap(err))
		}
	}
	text, err := cases.Append(file, src, workflow, made)
	if err != nil {
		return err
	}
	return atomicfile.Write(folder, base, text, 0o644)
}
