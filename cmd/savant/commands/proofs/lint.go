package proofs

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"savant/agent"
	"savant/cmd/savant/app"
	"savant/cmd/savant/cli"
	"savant/cmd/savant/terminal"
	"savant/fault"
	"savant/proof"
)

func (p *program) lintCommand() *cobra.Command {
	return p.JSONFlag(&cobra.Command{Use: "lint LOG|RUN", Short: "Say which assertions of a model in a session a call witnesses",
		Long: "Read a client's session log (JSON, or an object a line), or a run of the agent, and say of each assertion, such as\n" +
			"\"all tests pass\" or \"I pushed\", whether a call witnesses it, is stale, or is not there. It judges only plain sentences,\n" +
			"and never that one is false.",
		Args: cli.Positional(cobra.ExactArgs(1)),
		RunE: func(command *cobra.Command, args []string) error {
			if _, err := os.Stat(args[0]); err != nil && args[0] != "-" {
				return p.OnLook(p.lintRun)(command, args)
			}
			content, err := p.ReadFile(args[0], proof.MaxFile)
			if err != nil {
				return err
			}
			events, known := proof.ReadLog(content)
			if known == 0 {
				return fault.New(fault.InvalidParams, "%s: no messages of a session log are in it, or calls in a shape that is not known", args[0])
			}
			return p.judged(args[0], known, proof.Lint(events))
		}})
}

// lintRun judges a run of the agent, as its journal has it.
func (p *program) lintRun(ctx context.Context, a *app.App, args []string) error {
	run, err := a.FindRun(ctx, "", args[0], app.OfAgent)
	if err != nil {
		return fault.New(fault.From(err).Code, "%s is no file, and of the runs of the agent: %s", args[0], fault.From(err).Message())
	}
	report, err := a.Agent.Report(run.RunID)
	if err != nil {
		return err
	}
	events := eventsOf(report)
	return p.judged(run.RunID, len(events), proof.Lint(events))
}

// eventsOf are the calls and the texts of a run of the agent. The answer is said in the
// last step.
func eventsOf(report agent.Report) (events []proof.Event) {
	for _, step := range report.Transcript {
		if step.Reasoning != "" {
			events = append(events, proof.Event{Line: step.Index, Text: step.Reasoning})
		}
		for _, call := range step.Calls {
			events = append(events, proof.Event{Line: step.Index, Tool: call.Tool, Input: call.Args, Output: call.Output, Failed: call.Error != nil || call.Rule != ""})
		}
		if step.Final != "" {
			events = append(events, proof.Event{Line: step.Index, Text: step.Final})
		}
	}
	return events
}

func (p *program) judged(name string, known int, found []proof.Assertion) error {
	if p.JSON {
		return p.Print(map[string]any{"messages": known, "assertions": append([]proof.Assertion{}, found...)})
	}
	for _, each := range found {
		fmt.Fprintf(p.Stdout, "%s:%d: %s: %s (%s)\n", terminal.Visible(name), each.Line, each.Verdict, terminal.Visible(fault.Cut(each.Sentence, 200)), each.Why)
	}
	return nil
}
