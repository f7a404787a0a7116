package commands

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"savant/cmd/savant/app"
	"savant/cmd/savant/terminal"
	"savant/think"
	"savant/think/state"
)

func (p *program) stateCommand() *cobra.Command {
	return group("state", "Look at runs, and look after them", p.stateListCommand(), p.stateGetCommand(), p.stateShowCommand(),
		p.stateHistoryCommand(), p.stateCheckCommand(), p.statePruneCommand(), p.stateRestoreCommand(), p.stateExportCommand(),
		p.stateImportCommand())
}

// errLimit refuses a list of nothing.
const errLimit = usageError("--limit: expected a number from 1")

func (p *program) stateListCommand() *cobra.Command {
	var in think.StateListInput
	command := &cobra.Command{Use: "list", Short: "List runs, the last changed first", Args: positional(cobra.NoArgs),
		RunE: p.onApp(func(ctx context.Context, a *app.App, _ []string) error {
			if in.Limit < 1 {
				return errLimit
			}
			return p.listRuns(ctx, a, in)
		})}
	command.Flags().StringVar(&in.Workflow, "workflow", "", "only runs of this workflow")
	command.Flags().IntVar(&in.Limit, "limit", 50, "how many runs at most")
	return p.jsonFlag(command)
}

func (p *program) listRuns(ctx context.Context, a *app.App, in think.StateListInput) error {
	list, err := a.Think.StateList(ctx, in)
	if err != nil || p.json {
		return p.printed(list, err)
	}
	if len(list.Runs) == 0 {
		fmt.Fprintln(p.stderr, "no runs of workflows; those of the agent: savant runs list")
	}
	return terminal.Table(p.stdout, list.Runs, func(run state.Info) []string {
		return []string{run.Run, run.Workflow, run.Status, fmt.Sprintf("v%d", run.Version), run.Updated}
	})
}

func (p *program) stateGetCommand() *cobra.Command {
	var in think.StateGetInput
	command := &cobra.Command{Use: "get RUN", Short: "Print the whole state of a run as JSON", Args: positional(cobra.ExactArgs(1)),
		RunE: p.onApp(func(ctx context.Context, a *app.App, args []string) error {
			in.RunID, in.Limit = args[0], -1
			found, err := a.Think.StateGet(ctx, in)
			return p.printed(found, err)
		})}
	command.Flags().StringVar(&in.Workflow, "workflow", "", "the run's workflow, where its id is not unique")
	command.Flags().StringVar(&in.Var, "var", "", "print only this capture")
	return p.jsonFlag(command)
}
