package agents

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"savant/agent"
	"savant/agent/memory"
	"savant/cmd/savant/app"
	"savant/cmd/savant/cli"
	"savant/cmd/savant/commands/states"
	"savant/cmd/savant/terminal"
	"savant/fault"
	"savant/internal/visible"
	"savant/rules/sessions"
	"savant/telemetry"
)

// Show prints what a run did and what it came to.
func Show(shared *cli.Program, a *app.App, run string) error {
	p := &program{shared}
	report, err := a.Agent.Report(run)
	if err != nil || p.JSON {
		return p.Printed(report, err)
	}
	p.showReport(report)
	return nil
}

// Explain prints why a run did a step: what its model thought, and each call in full;
// without a step, the thoughts of all.
func Explain(shared *cli.Program, a *app.App, run, step string) error {
	report, err := a.Agent.Report(run)
	if err != nil {
		return err
	}
	steps := report.Transcript
	if step != "" {
		if steps = slices.DeleteFunc(steps, func(each memory.Step) bool { return strconv.Itoa(each.Index) != step }); len(steps) == 0 {
			return fault.New(fault.UnknownStep, "run %s has no step %q: its steps are numbers, and it has %d", run, fault.Cut(step, 60), report.Steps)
		}
	}
	if shared.JSON {
		return shared.Print(map[string]any{"run_id": run, "status": report.Status, "goal": report.Goal, "steps": steps})
	}
	for _, each := range steps {
		fmt.Fprintf(shared.Stdout, "step %d: %s\n", each.Index, each.Action)
		if why := cmp.Or(each.Reasoning, each.Error); why != "" {
			fmt.Fprintf(shared.Stdout, "  because %s\n", terminal.Visible(why))
		}
		for _, call := range each.Calls {
			args, came := string(call.Args), string(call.Output)
			if step == "" {
				args, came = fault.Cut(args, maxStepShown), ""
			}
			fmt.Fprintf(shared.Stdout, "  call %s %s: %s\n", terminal.Visible(call.Tool), terminal.Visible(args), terminal.Visible(callOutcome(call)))
			if came != "" {
				fmt.Fprintf(shared.Stdout, "  result %s\n", terminal.Content(came))
			}
		}
	}
	return nil
}

// Verify prints what the check of a run's journal found, what that proves, and what came of
// the decisions of rules about its calls.
func Verify(ctx context.Context, shared *cli.Program, a *app.App, run string) error {
	found, err := a.Agent.Verify(ctx, run)
	if err != nil {
		return err
	}
	calls, err := a.RuleKeeper().Verify(func(session string) bool { return session == run || strings.HasSuffix(session, " "+run) }, "")
	if err != nil {
		return err
	}
	if shared.JSON {
		return cmp.Or(shared.Print(struct {
			agent.Verified
			Calls []sessions.Verified `json:"rules,omitempty"`
		}{found, calls}), states.CallsVerdict(calls))
	}
	fmt.Fprintf(shared.Stdout, "%s: %s whole, of a run of the agent (%s): %s, %s, %s\n  proved: %s\n", run, terminal.Count(found.Records, "record"), found.Status,
		terminal.Count(found.Decisions, "decision"), terminal.Count(found.Calls, "call"), terminal.Count(found.Outputs, "output"), found.Proves)
	return states.PrintCalls(shared, calls)
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

// Cancel ends a run, in whatever process it is.
func Cancel(shared *cli.Program, a *app.App, run string) error {
	if err := a.Agent.Cancel(run); err != nil {
		return err
	}
	if shared.JSON {
		return shared.Print(map[string]any{"run_id": run, "canceled": true})
	}
	outcome := "was asked to end"
	if report, err := a.Agent.Report(run); err == nil && report.Status == agent.StatusCanceled {
		outcome = "is canceled"
	}
	_, err := fmt.Fprintf(shared.Stdout, "run %s %s\n", run, outcome)
	return err
}

// Trace prints the events of a run, of the agent or of a workflow, and reports whether
// there are any.
func Trace(shared *cli.Program, a *app.App, run string) (traced bool, err error) {
	p := &program{shared}
	err = a.Recorder.ReadRun(run, func(e telemetry.Event, line []byte) {
		traced = true
		p.traceLine(e, line)
	})
	return traced, err
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
