package rules

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"savant/cmd/savant/app"
	"savant/cmd/savant/cli"
	"savant/cmd/savant/terminal"
	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/rules"
	"savant/rules/sessions"
)

func (p *program) tryCommand() *cobra.Command {
	var log string
	command := &cobra.Command{Use: "try", Short: "Say which calls of a recorded session the rules would have refused", Args: cli.Positional(cobra.NoArgs),
		Long: "Judge the calls of a recorded session by the rules of SAVANT_PATH, before they hold. It reads a session of Claude Code\n" +
			"(~/.claude/projects/…/*.jsonl), Codex (~/.codex/sessions/…/rollout-*.jsonl; calls within its code are not told) or Gemini CLI\n" +
			"(~/.gemini/tmp/…/chats/*.jsonl, which lacks the end of long outputs), or Savant's trace (logs/agent_trace.log, savant runs\n" +
			"trace RUN --json). A call that would have been refused counts as not made.",
		RunE: p.OnLook(func(ctx context.Context, a *app.App, _ []string) error {
			if log == "" {
				return cli.UsageError("which recording? --session LOG, - for stdin")
			}
			source, closeSource, err := p.Readable(log)
			if err != nil {
				return cli.UsageError("--session: " + fault.From(err).Message())
			}
			defer closeSource()
			set, err := a.Rules()
			if err != nil {
				return err
			}
			found, calls, err := sessions.Try(set, source, func(id string) (result any) {
				if receipt, err := a.Store.Receipt(ctx, id); err == nil { // else it was removed
					result, _ = jsonvalue.DecodeStored(receipt.Result) // null where only its digest is kept
				}
				return result
			})
			if err != nil {
				return err
			}
			return p.printTried(log, calls, found)
		})}
	command.Flags().StringVar(&log, "session", "", "the recording, - for stdin")
	return p.JSONFlag(command)
}

// tried is a call of a recording with what the rules say.
type tried struct {
	Line     int             `json:"line"`
	Tool     string          `json:"tool"`
	Input    map[string]any  `json:"input"`
	Decision rules.Decision  `json:"decision"`
	Rules    []rules.Summary `json:"rules"`
}

func (p *program) printTried(log string, calls int, found []sessions.Tried) error {
	counted := map[rules.Decision]int{}
	rows := []tried{}
	for _, each := range found {
		row := tried{each.Line, each.Tool, each.Input, each.Verdict.Decision, each.Verdict.Summaries()}
		counted[row.Decision]++
		rows = append(rows, row)
		if p.JSON {
			continue
		}
		said := each.Verdict.Text()
		switch row.Decision {
		case "ask":
			said = each.Tool + " asks a person: " + strings.Join(each.Verdict.Questions(), " ")
		case "allow":
			said = each.Tool + " is warned of. " + each.Verdict.Warnings()
		}
		fmt.Fprintf(p.Stdout, "%s:%d: %s\n", terminal.Visible(log), each.Line, terminal.Content(said))
	}
	if p.JSON {
		return p.Print(map[string]any{"calls": calls, "found": rows})
	}
	_, err := fmt.Fprintf(p.Stdout, "%s: %d refused, %d asked about, %d warned of\n", terminal.Count(calls, "call"), counted["refuse"], counted["ask"], counted["allow"])
	return err
}
