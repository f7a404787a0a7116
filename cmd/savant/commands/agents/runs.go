package agents

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"savant/agent"
	"savant/agent/memory"
	"savant/cmd/savant/app"
	"savant/cmd/savant/cli"
	"savant/cmd/savant/terminal"
	"savant/fault"
	"savant/internal/visible"
	"savant/telemetry"
)

// RunsCommand is `savant runs`.
func RunsCommand(shared *cli.Program) *cobra.Command {
	p := &program{shared}
	return cli.Group("runs", "Inspect the runs of the agent, and end them", p.runsListCommand(), p.runsShowCommand(),
		p.runsCancelCommand(), p.runsTraceCommand())
}

func (p *program) runsListCommand() *cobra.Command {
	var limit int
	command := &cobra.Command{Use: "list", Short: "List runs, the last changed first", Args: cli.Positional(cobra.NoArgs),
		RunE: p.OnLook(func(ctx context.Context, a *app.App, _ []string) error {
			if limit < 1 {
				return cli.ErrLimit
			}
			list, err := a.Agent.List(ctx)
			if err != nil {
				return err
			}
			list = list[:min(len(list), limit)]
			if p.JSON {
				return p.Print(map[string]any{"runs": list})
			}
			return p.tableOfRuns(list)
		})}
	command.Flags().IntVar(&limit, "limit", 50, "how many runs at most")
	return p.JSONFlag(command)
}

func (p *program) tableOfRuns(list []agent.Report) error {
	if len(list) == 0 {
		fmt.Fprintln(p.Stderr, "no runs of the agent; those of workflows: savant state list")
	}
	now := time.Now()
	err := terminal.Table(p.Stdout, []string{"RUN", "STATUS", "STEPS", "CHANGED", "GOAL"}, list, func(each agent.Report) []string {
		goal := strings.Join(strings.Fields(fault.Cut(each.Goal, 80)), " ")
		return []string{each.RunID, string(each.Status), strconv.Itoa(each.Steps), terminal.When(each.Updated, now), goal}
	})
	for _, each := range list { // why a run does not go on, such as a label that no worker has, or cannot be read
		if each.Warning != "" && slices.Contains([]agent.Status{agent.StatusQueued, agent.StatusInterrupted, agent.StatusError}, each.Status) {
			fmt.Fprintf(p.Stderr, "savant: %s is %s: %s\n", each.RunID, each.Status, terminal.Visible(each.Warning))
		}
	}
	return err
}

func (p *program) runsShowCommand() *cobra.Command {
	return p.JSONFlag(&cobra.Command{Use: "show RUN", Short: "Show what a run did and what it came to", Args: cli.Positional(cobra.ExactArgs(1)),
		RunE: p.OnLook(func(ctx context.Context, a *app.App, args []string) error {
			report, err := a.Agent.Report(args[0])
			if err != nil || p.JSON {
				return p.Printed(report, err)
			}
			p.showReport(report)
			return nil
		})})
}

func (p *program) showReport(report agent.Report) {
	fmt.Fprintf(p.Stdout, "run     %s\ngoal    %s\nstatus  %s\nsteps   %d\n", report.RunID, terminal.Visible(report.Goal), report.Status, report.Steps)
	if report.PromptTokens+report.OutputTokens > 0 {
		fmt.Fprintf(p.Stdout, "tokens  %d+%d\n", report.PromptTokens, report.OutputTokens)
	}
	if cost := report.Describe(cli.Money); cost != "" {
		fmt.Fprintf(p.Stdout, "cost    %s\n", terminal.Visible(cost))
	}
	for _, step := range report.Transcript {
		fmt.Fprintln(p.Stdout, terminal.Visible(stepLine(step)))
	}
	if report.Error != nil {
		fmt.Fprintf(p.Stdout, "because %s\n", terminal.Visible(report.Error.Error()))
	}
	if report.Warning != "" {
		fmt.Fprintf(p.Stdout, "warning %s\n", terminal.Visible(report.Warning))
	}
	if report.Final != "" {
		fmt.Fprintf(p.Stdout, "\n%s\n", terminal.Content(report.Final))
	}
}

// maxStepShown is how much of arguments and of thoughts a line shows, in bytes.
const maxStepShown = 120

func stepLine(step memory.Step) string {
	if len(step.Calls) == 0 {
		return fmt.Sprintf("%6d  %s %s", step.Index, step.Action, fault.Cut(cmp.Or(step.Reasoning, step.Error), maxStepShown))
	}
	lines := make([]string, len(step.Calls))
	for i, each := range step.Calls {
		lines[i] = fmt.Sprintf("%6d  %s %s %s", step.Index, each.Tool, fault.Cut(string(each.Args), maxStepShown), callOutcome(each))
	}
	return strings.Join(lines, "\n")
}

// callOutcome returns the outcome of a call in one word.
func callOutcome(call memory.Call) string {
	switch {
	case call.Error != nil: // a denied call says by what rule, and what to do
		return call.Error.Error()
	case call.Cached:
		return "cached"
	}
	return telemetry.Elapsed(call.DurationMS)
}

func (p *program) runsCancelCommand() *cobra.Command {
	return p.JSONFlag(&cobra.Command{Use: "cancel RUN", Short: "End a run, in whatever process it is; what it did is kept", Args: cli.Positional(cobra.ExactArgs(1)),
		RunE: p.OnApp(func(ctx context.Context, a *app.App, args []string) error {
			if err := a.Agent.Cancel(args[0]); err != nil {
				return err
			}
			if p.JSON {
				return p.Print(map[string]any{"run_id": args[0], "canceled": true})
			}
			outcome := "was asked to end"
			if report, err := a.Agent.Report(args[0]); err == nil && report.Status == agent.StatusCanceled {
				outcome = "is canceled"
			}
			fmt.Fprintf(p.Stdout, "run %s %s\n", args[0], outcome)
			return nil
		})})
}

func (p *program) runsTraceCommand() *cobra.Command {
	return p.JSONFlag(&cobra.Command{Use: "trace RUN", Short: "Print the events of a run", Args: cli.Positional(cobra.ExactArgs(1)),
		Long: "Print the events of a run, of the agent or of a workflow, a line each; with --json as they are in the trace. Events\n" +
			"that rotated out of the trace are missing.",
		RunE: p.OnLook(func(ctx context.Context, a *app.App, args []string) error {
			_, unknown := a.Agent.Report(args[0])
			if unknown != nil && !errors.Is(unknown, fault.UnknownRun) {
				return unknown
			}
			traced := false // a run of a workflow has a trace, too
			err := a.Recorder.Written(args[0], func(e telemetry.Event, line []byte) {
				traced = true
				p.traceLine(e, line)
			})
			if err == nil && !traced {
				return unknown
			}
			return err
		})})
}

// traceLine prints an event of the trace.
func (p *program) traceLine(e telemetry.Event, line []byte) {
	if p.JSON {
		_, _ = p.Stdout.Write(visible.JSON(line))
		return
	}
	text := telemetry.Line(e)
	if e.Type == telemetry.LLMCall || e.Type == telemetry.PromptSnapshot {
		text = telemetry.RuntimeLine(e)
	}
	if text == "" {
		text = strings.TrimSpace(fmt.Sprintf("%d %s %s %s", e.Step, e.Type, e.ToolName, e.Status))
	}
	fmt.Fprintln(p.Stdout, e.Timestamp, terminal.Visible(text))
}
