package states

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"savant/cmd/savant/app"
	"savant/cmd/savant/cli"
	"savant/cmd/savant/terminal"
	"savant/think"
	"savant/think/flow"
	"savant/think/state"
)

func (p *program) stateCancelCommand() *cobra.Command {
	var reason string
	command := p.changeCommand(&cobra.Command{Use: "cancel RUN", Short: "End a run that should not continue",
		Long: "End a run that should not continue, also while another process drives it or a person is asked. None of its steps is\n" +
			"issued any more; a late answer is refused with the name of the person who cancelled the run, and the reason. What was\n" +
			"done stays; a running call is stopped. A cancelled run cannot be reset: savant state fork starts a new run with its answers.",
		Example: "  savant state cancel 01k2… --reason 'the branch is gone'",
		Args:    cli.Positional(cobra.ExactArgs(1))},
		func(ctx context.Context, a *app.App, key state.Key, _ []string) error {
			return Cancel(ctx, p.Program, a, key, reason)
		})
	command.Flags().StringVar(&reason, "reason", "", "why, in a sentence")
	return command
}

// Cancel ends a run, and prints who stops and how a new one begins.
func Cancel(ctx context.Context, p *cli.Program, a *app.App, key state.Key, reason string) error {
	driven := a.Driven(key)
	out, err := a.Think.Cancel(ctx, think.CancelInput{Workflow: key.Workflow, RunID: key.Run,
		Cancellation: flow.Cancellation{By: app.UserName(), Reason: reason}})
	if err != nil || p.JSON {
		return p.Printed(out, err)
	}
	fmt.Fprintf(p.Stdout, "run %s is cancelled: %s\n", key.Run, terminal.Visible(fmt.Sprint(out.Summary)))
	if driven {
		fmt.Fprintln(p.Stdout, "the process that drives it stops its calls")
	}
	_, err = fmt.Fprintf(p.Stdout, "a new run with its answers: savant state fork %s\n", key.Run)
	return err
}
