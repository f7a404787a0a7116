// Package states holds the commands that inspect and maintain runs.
package states

import (
	"context"

	"github.com/spf13/cobra"

	"savant/cmd/savant/app"
	"savant/cmd/savant/cli"
	"savant/think"
)

// program is the command line in this package.
type program struct{ *cli.Program }

// Command is `savant state`; others are its commands that have other names, too.
func Command(shared *cli.Program, others ...*cobra.Command) *cobra.Command {
	p := &program{shared}
	return cli.Group("state", "Inspect and maintain runs", append(others, p.stateGetCommand(),
		p.stateHistoryCommand(), p.stateForkCommand(), p.stateResetCommand(), p.stateDeleteCommand(), p.stateCheckCommand(), p.statePruneCommand(), p.stateUsageCommand(), p.stateRestoreCommand(), p.stateCopyCommand(), p.stateExportCommand(),
		p.stateImportCommand())...)
}

func (p *program) stateGetCommand() *cobra.Command {
	var in think.StateGetInput
	command := &cobra.Command{Use: "get RUN", Short: "Print the whole state of a run as JSON", Args: cli.Positional(cobra.ExactArgs(1)),
		RunE: p.OnLook(func(ctx context.Context, a *app.App, args []string) error {
			run, err := a.FindRun(ctx, in.Workflow, args[0], app.OfWorkflow)
			if err != nil {
				return err
			}
			in.Workflow, in.RunID, in.Limit = run.Workflow, run.RunID, -1
			found, err := a.Think.StateGet(ctx, in)
			return p.Printed(found, err)
		})}
	command.Flags().StringVar(&in.Workflow, "workflow", "", "the run's workflow, if the run id is not unique")
	command.Flags().StringVar(&in.Var, "var", "", "print only this capture")
	return p.JSONFlag(command)
}
