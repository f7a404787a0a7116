package commands

import (
	"github.com/spf13/cobra"

	"savant/cmd/savant/demo"
	"savant/cmd/savant/terminal"
)

func (p *program) demoCommand() *cobra.Command {
	var repository string
	command := &cobra.Command{Use: "demo", Short: "Drive a workflow on a git repository through a server of its own, and show every step",
		Args: positional(cobra.NoArgs),
		RunE: func(command *cobra.Command, _ []string) error {
			return demo.Run(command.Context(), demo.Options{Repository: repository, Version: p.world.Version, Environment: p.world.Environment,
				Settings: p.settings, Stdout: p.stdout, Stderr: p.stderr, Coloured: terminal.Coloured(p.stdout, p.variable)})
		}}
	command.Flags().StringVar(&repository, "repo", ".", "a folder of the git repository")
	return command
}
