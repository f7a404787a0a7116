package commands

import (
	"github.com/spf13/cobra"

	"savant"
	"savant/cmd/savant/cli"
	"savant/fault"
)

// schemaCommand prints the JSON Schemas of the files that people write.
func (p *program) schemaCommand() *cobra.Command {
	return &cobra.Command{Use: "schema workflow|cases|rules|ci|settings", Short: "Print the JSON Schema of a kind of file, for editors",
		Long: "Print the JSON Schema of workflows, of their cases, of rules, of .savant/ci.yaml, or of config/settings.json.\n" +
			"Editors complete and explain the keys by it.",
		Example:   "  savant schema workflow > .savant/schemas/workflow.json",
		Args:      cli.Positional(cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs)),
		ValidArgs: []string{"workflow", "cases", "rules", "ci", "settings"},
		RunE: func(_ *cobra.Command, args []string) error {
			text, err := savant.Files.ReadFile("schemas/" + args[0] + ".json")
			if err != nil {
				return fault.New(fault.Internal, "the schema %s: %w", args[0], err)
			}
			_, err = p.Stdout.Write(text)
			return err
		}}
}
