package proofs

import (
	"fmt"

	"github.com/spf13/cobra"

	"savant/cmd/savant/cli"
	"savant/cmd/savant/terminal"
	"savant/fault"
	"savant/proof"
)

func (p *program) lintCommand() *cobra.Command {
	return p.JSONFlag(&cobra.Command{Use: "lint LOG", Short: "Say of what a model asserts in a session log how it is known",
		Long: "Read a client's session log (a JSON object a line) and say of each assertion, such as \"all tests pass\" or \"I pushed\", whether a\n" +
			"call in the log witnesses it, is stale, or is not there. It judges only plain sentences, and never that one is false.",
		Args: cli.Positional(cobra.ExactArgs(1)),
		RunE: func(_ *cobra.Command, args []string) error {
			content, err := p.readProof(args[0])
			if err != nil {
				return err
			}
			found, known := proof.Lint(content)
			if known == 0 {
				return fault.New(fault.InvalidParams, "%s: no line is a message of a session log", args[0])
			}
			if p.JSON {
				return p.Print(map[string]any{"messages": known, "assertions": append([]proof.Assertion{}, found...)})
			}
			for _, each := range found {
				fmt.Fprintf(p.Stdout, "%s:%d: %s: %s (%s)\n", terminal.Visible(args[0]), each.Line, each.Verdict, terminal.Visible(fault.Cut(each.Sentence, 200)), each.Why)
			}
			return nil
		}})
}
