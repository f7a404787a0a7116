package states

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"savant/cmd/savant/app"
	"savant/cmd/savant/cli"
	"savant/cmd/savant/terminal"
	"savant/internal/settings"
	"savant/think/maintenance"
)

func (p *program) stateCopyCommand() *cobra.Command {
	var from, to string
	var in maintenance.CopyInput
	command := &cobra.Command{Use: "copy [RUN] --from STORE --to STORE", Short: "Copy runs between the folder and the database",
		Long: "Copy records, artifacts and checkpoints of runs from one store to the other (file is the folder of\n" +
			"SAVANT_PATH, mongo the database of MONGO_URI), and verify them. What is there already stays, so a copy that was\n" +
			"interrupted can be repeated. A run that went on differently in the two is left alone. What was deleted, and\n" +
			"receipts, are not copied.",
		Args: cli.Positional(cobra.MaximumNArgs(1)),
		RunE: func(command *cobra.Command, args []string) error {
			for _, each := range []string{from, to} {
				if each != settings.StoreFile && each != settings.StoreMongo {
					return cli.UsageError(fmt.Sprintf("copy: name both stores, --from %s --to %s or the other way", settings.StoreFile, settings.StoreMongo))
				}
			}
			if from == to {
				return cli.UsageError("copy: --from and --to are the same store")
			}
			if len(args) > 0 {
				in.Run = args[0]
			}
			return p.With(command.Context(), func(a *app.App) error { return p.copyRuns(command, a, from, to, in) })
		}}
	command.Flags().StringVar(&from, "from", "", "the store to read: file or mongo")
	command.Flags().StringVar(&to, "to", "", "the store to write: file or mongo")
	command.Flags().StringVar(&in.Workflow, "workflow", "", "only runs of this workflow")
	return p.JSONFlag(command)
}

func (p *program) copyRuns(command *cobra.Command, a *app.App, from, to string, in maintenance.CopyInput) error {
	source, err := a.OpenStore(from)
	if err != nil {
		return err
	}
	defer func() { _ = source.Close() }() // only read
	target, err := a.OpenStore(to)
	if err != nil {
		return err
	}
	if terminal.Is(p.Stderr) {
		in.Progress = terminal.Progress(p.Stderr, time.Now)
	}
	done, err := maintenance.Copy(command.Context(), source, target, in)
	if err = errors.Join(err, target.Close()); done == nil {
		return err
	}
	if err := errors.Join(p.printCopied(done, to), err); err != nil {
		return err
	}
	if len(done.Failed) > 0 {
		return cli.StatusError(cli.ExitInvalid)
	}
	return nil
}

func (p *program) printCopied(done *maintenance.Copied, to string) error {
	if p.JSON {
		return p.Print(done)
	}
	for _, each := range done.Failed {
		fmt.Fprintf(p.Stderr, "%s/%s: %s\n", each.Workflow, each.Run, terminal.Visible(each.Error.Error()))
	}
	_, err := fmt.Fprintf(p.Stdout, "%s: %d new in %s, %d the same before, %d not copied; %s, %s, %s written and verified\n",
		terminal.Count(done.Runs, "run"), done.New, to, done.Same, len(done.Failed),
		terminal.Count(done.Records, "record"), terminal.Count(done.Artifacts, "artifact"), terminal.Count(done.Checkpoints, "checkpoint"))
	return err
}
