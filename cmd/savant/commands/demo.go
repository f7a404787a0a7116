package commands

import (
	"github.com/spf13/cobra"

	"savant/cmd/savant/cli"
	"savant/cmd/savant/demo"
	"savant/cmd/savant/terminal"
)

func (p *program) demoCommand() *cobra.Command {
	var repository string
	command := &cobra.Command{Use: "demo", Short: "Drive a workflow on a git repository, and show every step",
		Args: cli.Positional(cobra.NoArgs),
		RunE: func(command *cobra.Command, _ []string) error {
			return demo.Run(command.Context(), demo.Options{Repository: repository, Version: p.World.Version, Environment: p.World.Environment,
				Settings: p.Settings, Stdout: p.Stdout, Stderr: p.Stderr, Coloured: terminal.Coloured(p.Stdout, p.Variable)})
		}}
	command.Flags().StringVar(&repository, "repo", ".", "a folder of the git repository")
	return command
}
