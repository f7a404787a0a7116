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
	command := p.changeCommand(&cobra.Command{Use: "cancel RUN", Short: "End a run that is not to go on",
		Long: "End a run that is not to go on, also while another process drives it or a person is asked. No step of it is\n" +
			"handed out any more, and an answer to it is told who cancelled it and why. What was done stays; a call under way\n" +
			"is ended. A cancelled run is not taken back: savant state fork starts a new run with its answers.",
		Example: "  savant state cancel 01k2… --reason 'the branch is gone'",
		Args:    cli.Positional(cobra.ExactArgs(1))},
		func(ctx context.Context, a *app.App, key state.Key, _ []string) error {
			driven := a.Driven(key)
			out, err := a.Think.Cancel(ctx, think.CancelInput{Workflow: key.Workflow, RunID: key.Run,
				Cancellation: flow.Cancellation{By: app.UserName(), Reason: reason}})
			if err != nil || p.JSON {
				return p.Printed(out, err)
			}
			fmt.Fprintf(p.Stdout, "run %s is cancelled: %s\n", key.Run, terminal.Visible(out.Summary))
			if driven {
				fmt.Fprintln(p.Stdout, "the process that drives it ends its calls")
			}
			_, err = fmt.Fprintf(p.Stdout, "a new run with its answers: savant state fork %s\n", key.Run)
			return err
		})
	command.Flags().StringVar(&reason, "reason", "", "why, in a sentence")
	return command
}
