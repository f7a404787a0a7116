package states

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"savant/agent/memory"
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
		Long: "Copy records, artifacts and checkpoints of runs, and the runs of the agent, from one store to the other (file: the folder of\n" +
			"SAVANT_PATH; mongo: the database of MONGO_URI), and verify them. What is already there stays, so an interrupted\n" +
			"copy can be repeated. A run that differs in the two stores is not copied, nor are deleted runs and receipts.",
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
	defer func() { _ = source.Close() }() // it was only read
	if in.Run != "" {
		sessions, err := a.OpenSessions(from)
		if err != nil {
			return err
		}
		run, err := app.FindRunIn(command.Context(), source, sessions, in.Workflow, in.Run)
		if err != nil {
			return err
		}
		in.Workflow, in.Run = run.Workflow, run.RunID
	}
	target, err := a.OpenStore(to)
	if err != nil {
		return err
	}
	tell, end := terminal.ProgressOf(p.Stderr, p.Variable, "copy")
	if terminal.IsTerminal(p.Stderr) {
		in.Progress = tell
	}
	runs, err := maintenance.Copy(command.Context(), source, target, in)
	end()
	if err = errors.Join(err, target.Close()); runs == nil {
		return err
	}
	done := &copied{Copied: runs, Agent: memory.Copied{Failed: []memory.CopyFailure{}}}
	if err == nil && in.Workflow == "" {
		done.Agent, err = copySessions(command.Context(), a, from, to, in.Run)
	}
	if err := errors.Join(p.printCopied(done, to), err); err != nil {
		return err
	}
	if len(done.Failed)+len(done.Agent.Failed) > 0 {
		return cli.StatusError(cli.ExitInvalid)
	}
	return nil
}

// copied is the result of a copy.
type copied struct {
	*maintenance.Copied
	// Agent counts the runs of the agent.
	Agent memory.Copied `json:"agent"`
}

func copySessions(ctx context.Context, a *app.App, from, to, run string) (memory.Copied, error) {
	source, err := a.OpenSessions(from)
	if err != nil {
		return memory.Copied{}, err
	}
	target, err := a.OpenSessions(to)
	if err != nil {
		return memory.Copied{}, err
	}
	return memory.Copy(ctx, source, target, run)
}

func (p *program) printCopied(done *copied, to string) error {
	if p.JSON {
		return p.Print(done)
	}
	for _, each := range done.Failed {
		fmt.Fprintf(p.Stderr, "%s/%s: %s\n", each.Workflow, each.Run, terminal.Visible(each.Error.Error()))
	}
	for _, each := range done.Agent.Failed {
		fmt.Fprintf(p.Stderr, "%s: %s\n", each.Run, terminal.Visible(each.Error.Error()))
	}
	_, err := fmt.Fprintf(p.Stdout, "%s: %d new in %s, %d the same before, %d not copied; %s, %s, %s written and verified\n",
		terminal.Count(done.Runs, "run"), done.New, to, done.Same, len(done.Failed),
		terminal.Count(done.Records, "record"), terminal.Count(done.Artifacts, "artifact"), terminal.Count(done.Checkpoints, "checkpoint"))
	if sessions := done.Agent; err == nil && sessions.Runs > 0 {
		_, err = fmt.Fprintf(p.Stdout, "%s of the agent: %d new in %s, %d the same before, %d not copied; %s, %s written and verified\n",
			terminal.Count(sessions.Runs, "run"), sessions.New, to, sessions.Same, len(sessions.Failed),
			terminal.Count(sessions.Records, "record"), terminal.Count(sessions.Outputs, "output"))
	}
	return err
}
