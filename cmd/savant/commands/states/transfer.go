package states

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"savant/cmd/savant/app"
	"savant/cmd/savant/cli"
	"savant/cmd/savant/terminal"
	"savant/fault"
	"savant/think/maintenance"
	"savant/think/state"
)

func (p *program) stateExportCommand() *cobra.Command {
	var file string
	var force bool
	command := p.runCommand("export", "Write a run to one file: records, artifacts and workflow",
		func(ctx context.Context, a *app.App, key state.Key) error {
			var done *maintenance.Transferred
			if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() && !force {
				return fault.New(fault.InvalidParams, "%s is there already, and was not changed: --force replaces it", file)
			}
			err := p.writeFile(file, func(to io.Writer) (err error) {
				done, err = a.Keeper().Export(ctx, key, to)
				return err
			})
			if err == nil && done.Warning != "" {
				fmt.Fprintln(p.Stderr, "savant: "+terminal.Visible(done.Warning))
			}
			if err != nil || file == "-" {
				return err
			}
			return p.printTransferred(done, "written to "+file)
		})
	command.Flags().BoolVar(&force, "force", false, "replace a file that is there already")
	command.Flags().StringVarP(&file, "output", "o", "", "the file to write; - for stdout")
	return command
}

// writeFile writes to a file or a device, or to stdout for -.
func (p *program) writeFile(file string, fill func(io.Writer) error) error {
	switch file {
	case "":
		return cli.UsageError("export: name the file to write with -o")
	case "-":
		return fill(p.Stdout)
	}
	info, err := os.Stat(file)
	switch {
	case err == nil && info.IsDir():
		return fault.New(fault.InvalidParams, "%s: expected the name of a file, got a folder", file)
	case err == nil && !info.Mode().IsRegular():
		return writeInto(file, fill)
	}
	if target, err := filepath.EvalSymlinks(file); err == nil {
		file = target // keep the link
	}
	return replaceFile(file, fill)
}

// writeInto writes to a device, such as /dev/stdout.
func writeInto(device string, fill func(io.Writer) error) error {
	opened, err := os.OpenFile(device, os.O_WRONLY, 0)
	if err != nil {
		return notWritten(device, err)
	}
	return errors.Join(fill(opened), notWritten(device, opened.Close()))
}

// replaceFile replaces a file once the content is complete. Only its owner can read it,
// since a run may hold secrets.
func replaceFile(file string, fill func(io.Writer) error) error {
	temporary, err := os.CreateTemp(filepath.Dir(file), ".savant-export-*.tmp")
	if err != nil {
		return notWritten(file, err)
	}
	if err = fill(temporary); err == nil {
		err = notWritten(file, temporary.Sync())
	}
	err = errors.Join(err, notWritten(file, temporary.Close()))
	if err == nil {
		err = notWritten(file, os.Rename(temporary.Name(), file))
	}
	if err != nil {
		_ = os.Remove(temporary.Name()) // the first error is the one to report
	}
	return err
}

// notWritten returns the error of a file that was not written; nil if err is nil.
func notWritten(file string, err error) error {
	if err == nil {
		return nil
	}
	return fault.New(fault.StateNotSaved, "%s was not written: %w", file, errors.Unwrap(err))
}

func (p *program) stateImportCommand() *cobra.Command {
	return p.JSONFlag(&cobra.Command{Use: "import FILE", Short: "Import a run that export wrote, after verifying all of it", Args: cli.Positional(cobra.ExactArgs(1)),
		RunE: p.OnApp(func(ctx context.Context, a *app.App, args []string) error {
			from, closeFile, err := p.Readable(args[0])
			if err != nil {
				return err
			}
			defer closeFile()
			done, err := a.Keeper().Import(ctx, from)
			if err != nil {
				return err
			}
			return p.printTransferred(done, "imported from "+args[0])
		})})
}

func (p *program) printTransferred(done *maintenance.Transferred, what string) error {
	if p.JSON {
		return p.Print(done)
	}
	if done.Existed {
		what = "is already here, identical"
	}
	_, err := fmt.Fprintf(p.Stdout, "%s/%s at v%d, with %s: %s\n", done.Workflow, done.Run, done.Version,
		terminal.Count(done.Artifacts, "artifact"), terminal.Visible(what))
	return err
}
