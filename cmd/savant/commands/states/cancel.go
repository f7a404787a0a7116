package states

import (
	"context"
	"fmt"

	"savant/cmd/savant/app"
	"savant/cmd/savant/cli"
	"savant/cmd/savant/terminal"
	"savant/think"
	"savant/think/flow"
	"savant/think/state"
)

// Cancel ends a run, and prints who stops and how a new one begins.
func Cancel(ctx context.Context, p *cli.Program, a *app.App, key state.Key, reason string) error {
	driven := a.IsDriven(key)
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
