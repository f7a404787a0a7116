package commands

import (
	"context"

	"github.com/spf13/cobra"

	"savant/cmd/savant/app"
)

// onApp is what a command runs that works on the program put together.
func (p *program) onApp(work func(ctx context.Context, a *app.App, args []string) error) func(*cobra.Command, []string) error {
	return func(command *cobra.Command, args []string) error {
		ctx := command.Context()
		return p.with(ctx, func(a *app.App) error { return work(ctx, a, args) })
	}
}

// jsonFlag lets a command answer in JSON, and returns it.
func (p *program) jsonFlag(command *cobra.Command) *cobra.Command {
	command.Flags().BoolVar(&p.json, "json", false, "print the result, or the error, as JSON on stdout")
	return command
}

// printed writes the result of a call to stdout as JSON. It does nothing but
// return err where there is one.
func (p *program) printed(result any, err error) error {
	if err != nil {
		return err
	}
	return p.print(result)
}
