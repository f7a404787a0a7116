// Package states holds the commands that inspect and maintain runs.
package states

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"savant/cmd/savant/app"
	"savant/cmd/savant/cli"
	"savant/cmd/savant/terminal"
	"savant/think"
	"savant/think/state"
)

// program is the command line in this package.
type program struct{ *cli.Program }

// Command is `savant state`.
func Command(shared *cli.Program) *cobra.Command {
	p := &program{shared}
	return cli.Group("state", "Inspect and maintain runs", p.stateListCommand(), p.stateGetCommand(), p.stateShowCommand(),
		p.stateHistoryCommand(), p.stateForkCommand(), p.stateResetCommand(), p.stateCancelCommand(), p.stateDeleteCommand(), p.stateCheckCommand(), p.statePruneCommand(), p.stateRestoreCommand(), p.stateCopyCommand(), p.stateExportCommand(),
		p.stateImportCommand())
}

func (p *program) stateListCommand() *cobra.Command {
	var in think.StateListInput
	command := &cobra.Command{Use: "list", Short: "List runs, the last changed first", Args: cli.Positional(cobra.NoArgs),
		RunE: p.OnLook(func(ctx context.Context, a *app.App, _ []string) error {
			if in.Limit < 1 {
				return cli.ErrLimit
			}
			return p.listRuns(ctx, a, in)
		})}
	command.Flags().StringVar(&in.Workflow, "workflow", "", "only runs of this workflow")
	command.Flags().IntVar(&in.Limit, "limit", 50, "how many runs at most")
	return p.JSONFlag(command)
}

func (p *program) listRuns(ctx context.Context, a *app.App, in think.StateListInput) error {
	list, err := a.Think.StateList(ctx, in)
	if err != nil {
		return err
	}
	runs := make([]listedRun, len(list.Runs))
	tell := terminal.Progress(p.Stderr, time.Now)
	for i, each := range list.Runs {
		tell(float64(i), float64(len(list.Runs)), "opening runs")
		runs[i] = listedRun{each, a.StandingOf(ctx, each)}
	}
	if p.JSON {
		return p.Print(map[string]any{"runs": runs, "total": list.Total})
	}
	if len(runs) == 0 {
		fmt.Fprintln(p.Stderr, "no runs of workflows yet; to begin one: savant workflows run hello; savant runs lists those of the agent, too")
	}
	now := time.Now()
	err = terminal.Table(p.Stdout, []string{"RUN", "WORKFLOW", "STATUS", "STEP", "VERSION", "CHANGED"}, runs, func(run listedRun) []string {
		return []string{run.Run, run.Workflow, run.Standing.String(), run.Standing.Step(), fmt.Sprintf("v%d", run.Version), terminal.When(run.Updated, now)}
	})
	if more := list.Total - len(runs); err == nil && more > 0 {
		fmt.Fprintf(p.Stderr, "%s more: --limit %d shows all\n", terminal.Count(more, "run"), list.Total)
	}
	return err
}

// listedRun is a run in `savant state list --json`.
type listedRun struct {
	state.Info
	Standing app.Standing `json:"standing"`
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
