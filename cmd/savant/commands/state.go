package commands

import (
	"context"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"savant/cmd/savant/app"
	"savant/think"
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
		RunE: func(command *cobra.Command, _ []string) error {
			if in.Limit < 1 {
				return errLimit
			}
			return p.with(command.Context(), func(a *app.App) error { return p.listRuns(command.Context(), a, in) })
		}}
	command.Flags().StringVar(&in.Workflow, "workflow", "", "only runs of this workflow")
	command.Flags().IntVar(&in.Limit, "limit", 50, "how many runs at most")
	p.jsonFlag(command)
	return command
}

func (p *program) listRuns(ctx context.Context, a *app.App, in think.StateListInput) error {
	list, err := a.Think.StateList(ctx, in)
	if err != nil || p.json {
		return firstOf(err, func() error { return p.print(list) })
	}
	if len(list.Runs) == 0 {
		fmt.Fprintln(p.stderr, "no runs of workflows; those of the agent: savant runs list")
	}
	table := tabwriter.NewWriter(p.stdout, 0, 0, 2, ' ', 0)
	for _, run := range list.Runs {
		fmt.Fprintf(table, "%s\t%s\t%s\tv%d\t%s\n", run.Run, run.Workflow, run.Status, run.Version, run.Updated)
	}
	return table.Flush()
}

func (p *program) stateGetCommand() *cobra.Command {
	var in think.StateGetInput
	command := &cobra.Command{Use: "get RUN", Short: "Print the whole state of a run as JSON", Args: positional(cobra.ExactArgs(1)),
		RunE: func(command *cobra.Command, args []string) error {
			in.RunID, in.Limit = args[0], -1
			return p.with(command.Context(), func(a *app.App) error {
				found, err := a.Think.StateGet(command.Context(), in)
				return firstOf(err, func() error { return p.print(found) })
			})
		}}
	command.Flags().StringVar(&in.Workflow, "workflow", "", "the run's workflow, where its id is not unique")
	command.Flags().StringVar(&in.Var, "var", "", "print only this capture")
	p.jsonFlag(command)
	return command
}

// firstOf returns err, or what next returns where there is none.
func firstOf(err error, next func() error) error {
	if err != nil {
		return err
	}
	return next()
}
