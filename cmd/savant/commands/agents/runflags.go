package agents

import (
	"strings"

	"github.com/spf13/cobra"

	"savant/agent"
	"savant/cmd/savant/cli"
)

// readRunFlags reads the flags' files and refuses contradictory flags.
func (p *program) readRunFlags(command *cobra.Command, want *runFlags, args []string) error {
	want.order.Typed = true
	want.order.Allow, want.order.Deny, want.order.MaxSteps = want.allow, want.deny, want.maxSteps
	if command.Flags().Changed("max-steps") && want.maxSteps < 1 {
		return cli.UsageError("--max-steps: expected a number from 1")
	}
	if want.args != "" && want.order.ForceTool == "" {
		return cli.UsageError("--force-args: --force-tool is missing")
	}
	if want.args != "" {
		raw, err := p.ArgumentsOf("--force-args", want.args)
		if err != nil {
			return err
		}
		want.order.ForceArgs = raw
	}
	return p.readGoal(want, args)
}

// readPatterns refuses an empty list of patterns: --allow "$TOOLS" with an unset
// variable must not allow everything.
func readPatterns(command *cobra.Command, want *runFlags) error {
	for name, patterns := range map[string][]string{"allow": want.allow, "approve": want.order.Approve, "deny": want.deny} {
		if command.Flags().Changed(name) && len(patterns) == 0 {
			return cli.UsageError("--" + name + ": expected a pattern such as git.*, got nothing")
		}
	}
	return nil
}

// readGoal returns the goal from its only source.
func (p *program) readGoal(want *runFlags, args []string) error {
	var given []string
	if len(args) > 0 {
		given = append(given, args[0])
	}
	if want.input != "" {
		given = append(given, want.input)
	}
	if want.file != "" {
		text, err := p.Read("--agent-file", want.file, maxGoalFile)
		if err != nil {
			return err
		}
		given = append(given, string(text))
	}
	order := &want.order
	forced := order.ForceTool != "" || order.Workflow != "" || order.ForceFinish
	switch {
	case len(given) > 1:
		return cli.UsageError("the goal is given more than once")
	case len(given) == 0 && want.resume == "" && !forced:
		return cli.UsageError("no goal; usage: savant run \"what you want\"")
	case len(given) == 1:
		order.Goal = strings.TrimSpace(given[0])
	}
	return nil
}

// maxGoalFile is the maximum size of a goal, in bytes.
const maxGoalFile = 1 << 20

// ofNewRuns are flags for new runs only: a resumed run keeps its own. What a person
// approved it does not keep, so --approve may be typed again.
var ofNewRuns = [...]string{"dry-run", "force-tool", "force-args", "force-finish", "allow", "deny", "read-only", "workflow",
	"persona", "name", "skip-git"}

// readResume refuses flags that --resume would ignore, and reads a new limit of steps.
func readResume(command *cobra.Command, want *runFlags) error {
	if want.resume == "" {
		return nil
	}
	for _, name := range ofNewRuns {
		if command.Flags().Changed(name) {
			return cli.UsageError("--resume continues a run with its first options: leave out --" + name + ", or start a new run")
		}
	}
	for name, flag := range map[string]modelFlag{"slm": want.slm, "llm": want.llm} {
		if flag.forced {
			return cli.UsageError("--resume continues a run with its first options: leave out --" + name + ", or name a model with --" + name + "=NAME")
		}
	}
	if command.Flags().Changed("max-steps") {
		want.limit = want.maxSteps
	}
	return nil
}

// howToGoOn is what to type for a run that can go on, "" for others.
func howToGoOn(report agent.Report) string {
	switch report.Status {
	case agent.StatusCanceled, agent.StatusInterrupted:
		return "savant run --resume " + report.RunID
	case agent.StatusMaxSteps:
		return "savant run --resume " + report.RunID + " --max-steps N"
	}
	return ""
}
