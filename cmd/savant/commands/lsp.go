package commands

import (
	"context"

	"github.com/spf13/cobra"

	"savant/cmd/savant/app"
	"savant/cmd/savant/cli"
	"savant/lsp"
)

func (p *program) lspCommand() *cobra.Command {
	command := &cobra.Command{Use: "lsp", Short: "Serve an editor: diagnostics of workflows, cases and rules (LSP)",
		Long: "Serve an editor in the Language Server Protocol: diagnostics, completion, meanings, definitions, symbols and cures for\n" +
			"workflows/ and rules/. It starts no server, runs nothing, needs no trust and writes nothing.\n" +
			"savant setup editor tells your editor of it.",
		Args: cli.Positional(cobra.NoArgs),
		RunE: p.OnLook(func(ctx context.Context, a *app.App, _ []string) error {
			return lsp.Serve(ctx, p.Stdin, p.Stdout, a.Editing(), a.Logger)
		})}
	command.PreRun = func(*cobra.Command, []string) { p.Serving = true }
	command.Flags().Bool("stdio", true, "always on; editors give it")
	_ = command.Flags().MarkHidden("stdio") // the flag is there
	return command
}
