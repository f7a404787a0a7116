// Package agents holds the commands that run the agent and inspect its runs.
package agents

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"savant/agent"
	"savant/agent/memory"
	"savant/cmd/savant/app"
	"savant/cmd/savant/cli"
	"savant/cmd/savant/commands/workflows"
	"savant/cmd/savant/terminal"
	"savant/engines/workflow"
	"savant/fault"
	"savant/reasoning"
	"savant/telemetry"
	"savant/think"
)

// runFlags are the flags of savant run.
type runFlags struct {
	order        agent.RunOptions
	input, file  string
	args         string
	resume       string
	maxSteps     int
	limit        int // of a resumed run; 0: unchanged
	slm, llm     modelFlag
	quiet        bool
	allow, deny  []string
	outputFormat outputFormat
}

// outputFormat is the format of stdout.
type outputFormat string

const (
	outputText   outputFormat = "text"        // only the answer
	outputJSON   outputFormat = "json"        // the report
	outputStream outputFormat = "stream-json" // every event, then the report
)

// outputFlag reads a format. With a JSON format, all later errors are JSON, including
// errors in the rest of the command line.
type outputFlag struct {
	program *program
	format  *outputFormat
}

func (f outputFlag) String() string {
	if f.format == nil { // package flag asks for the zero value
		return ""
	}
	return string(*f.format)
}

// OutputType names the value of an output format in the usage.
const OutputType = "format"

// Type names the value in the usage.
func (outputFlag) Type() string { return OutputType }

// Set sets one of the formats.
func (f outputFlag) Set(text string) error {
	switch format := outputFormat(text); format {
	case outputText, outputJSON, outputStream:
		*f.format = format
		f.program.JSON, f.program.Lines = format != outputText, format == outputStream
		return nil
	}
	return errors.New("unknown format")
}

// program is the command line in this package.
type program struct{ *cli.Program }

// RunCommand is `savant run`.
func RunCommand(shared *cli.Program) *cobra.Command {
	p := &program{shared}
	want := runFlags{outputFormat: outputText}
	command := &cobra.Command{Use: "run [GOAL]", Short: "Give the agent a goal, and print its answer",
		Long: "Give the agent a goal, and print its answer on stdout. Steps are on stderr.\n" +
			"The first Ctrl-C cancels and saves, the second ends at once; --resume goes on.\n\n" +
			"Exit codes: 0 done, 1 failed, 2 usage, 4 configuration or nobody decides,\n" +
			"7 limit of steps, 8 a workflow waits, 130 cancelled. A run that began with a\n" +
			"workflow ends with the exit code of savant workflows run.",
		Example: "  savant run \"Where is the stdio loop and how does it end?\"\n  savant run --resume 01k2… \"And who wrote it?\"",
		Args: func(command *cobra.Command, args []string) error {
			if err := want.namedApart(args); err != nil {
				return err
			}
			return cli.Positional(cobra.MaximumNArgs(1))(command, args)
		},
		RunE: func(command *cobra.Command, args []string) error {
			if err := errors.Join(readResume(command, &want), readPatterns(command, &want), p.readModels(&want), p.readRunFlags(command, &want, args)); err != nil {
				return err
			}
			run := &shownRun{program: p, want: want}
			if terminal.IsTerminal(p.Stdin) && terminal.IsTerminal(p.Stderr) {
				p.Open.Approver = run
			}
			p.Open.Watcher, p.Open.Display, p.Open.LogLines = run, run, logLines{run}
			if run.Streams() {
				p.Open.StepDisplay = run
			}
			return p.With(command.Context(), func(a *app.App) error { return p.runAgent(command.Context(), a, want, run) })
		}}
	flags := command.Flags()
	flags.StringVar(&want.input, "agent-input", "", "the goal")
	flags.StringVar(&want.file, "agent-file", "", "a file that holds the goal, - for stdin")
	flags.IntVar(&want.maxSteps, "max-steps", 0, "highest number of decisions; default: agent.max_steps")
	flags.BoolVar(&want.order.DryRun, "dry-run", false, "ask nobody and change nothing")
	flags.StringVar(&want.order.ForceTool, "force-tool", "", "a tool to call first")
	flags.StringVar(&want.args, "force-args", "", "its arguments: JSON, @FILE, or - for stdin")
	flags.BoolVar(&want.order.ForceFinish, "force-finish", false, "end after the forced tool")
	flags.StringSliceVar(&want.allow, "allow", nil, "only tools that match these patterns, such as git.*")
	flags.StringSliceVar(&want.order.Approve, "approve", nil, "do not ask about calls that match these patterns")
	flags.StringSliceVar(&want.deny, "deny", nil, "forbid tools that match these patterns")
	flags.BoolVar(&want.order.ReadOnly, "read-only", false, "only tools that change nothing")
	flags.StringVar(&want.order.Workflow, "workflow", "", "a workflow to run first")
	flags.StringVar(&want.order.Persona, "persona", "", "a persona of prompts.yml for the agent")
	flags.StringVar(&want.resume, "resume", "", "continue this run, with its goal or a new one")
	flags.StringVar(&want.resume, "run-id", "", "the same as --resume")
	flags.StringVar(&want.order.RunID, "name", "", "name the new run")
	flags.BoolVar(&want.quiet, "quiet", false, "show no steps")
	flags.Var(outputFlag{p, &want.outputFormat}, "output", "text, json or stream-json")
	modelFlags(flags, &want)
	flags.BoolVar(&want.order.SkipGit, "skip-git", false, "do not look at the git repository first")
	return command
}

func (p *program) runAgent(ctx context.Context, a *app.App, want runFlags, shown *shownRun) error {
	if want.resume != "" {
		found, err := a.FindRun(ctx, "", want.resume, app.OfAgent)
		if errors.Is(err, fault.UnknownRun) {
			return fault.From(err).Hinted(fault.Hint{Text: "--resume and --run-id continue a run of the agent; a new one is named by --name; savant runs lists them"})
		}
		if err != nil {
			return err
		}
		want.resume = found.RunID
	}
	run, err := start(ctx, a, want)
	if err != nil {
		return usageError(err)
	}
	stop := context.AfterFunc(ctx, func() {
		shown.leave(run.ID())
		run.Cancel()
	})
	defer stop()
	if terminal.Rewrites(p.Stderr, p.Variable) && !want.quiet && want.outputFormat != outputStream {
		defer terminal.EverySecond(func() { shown.tick(time.Now()) })()
	}
	report := run.Wait(context.Background(), nil) // when cancelled it ends soon and keeps its results
	shown.end()
	return p.finishRun(report, want)
}

func start(ctx context.Context, a *app.App, want runFlags) (*agent.Run, error) {
	want.order.Who = telemetry.WhoIs(think.ByTerminal, "")
	more := agent.Order{Who: want.order.Who, RunID: want.resume, Goal: want.order.Goal, MaxSteps: want.limit, Approval: agent.Approval{Approve: want.order.Approve}}
	switch {
	case a.Fleet != nil && want.resume != "":
		return a.Fleet.Here(ctx, nil, more)
	case a.Fleet != nil:
		return a.Fleet.Here(ctx, &want.order, agent.Order{})
	case want.resume != "":
		return a.Agent.Resume(more)
	}
	return a.Agent.Start(want.order)
}

// usageError converts invalid options to a usage error.
func usageError(err error) error {
	if errors.Is(err, fault.InvalidParams) {
		return cli.UsageError(fault.From(err).Message())
	}
	return err
}

// shownAtEnd reports whether printRunEnd shows an event: the end of the run, and the
// failure that caused it.
func shownAtEnd(e telemetry.Event) bool {
	switch e.Type {
	case telemetry.RunFinished:
		return true
	case telemetry.ReasoningStep:
		return e.Action == string(reasoning.ActionError)
	case telemetry.Error:
		return e.Metadata["attempt"] != nil || e.Metadata["ends_run"] == true
	}
	return false
}

// finishRun prints the result of a run and returns its exit code.
func (p *program) finishRun(report agent.Report, want runFlags) error {
	switch want.outputFormat {
	case outputJSON:
		if err := p.Print(report); err != nil {
			return err
		}
	case outputStream:
		_ = p.Line(map[string]any{"type": "report", "report": report})
	default:
		if report.Final != "" && report.Status != agent.StatusCanceled {
			fmt.Fprintln(p.Stdout, terminal.Content(report.Final))
		}
		p.printRunEnd(report, want)
	}
	if code := exitOfRun(report); code != cli.ExitOK {
		return cli.StatusError(code)
	}
	return nil
}

// printRunEnd prints on stderr how the run ended.
func (p *program) printRunEnd(report agent.Report, want runFlags) {
	ended := endOfWorkflow(report)
	if report.Error != nil && ended == nil {
		fmt.Fprintf(p.Stderr, "savant: %s\n", terminal.Visible(report.Error.Error()))
	}
	if report.Warning != "" {
		fmt.Fprintf(p.Stderr, "savant: warning: %s\n", terminal.Visible(report.Warning))
	}
	if report.Status == agent.StatusCanceled {
		fmt.Fprintf(p.Stderr, "%s; go on with: %s\n", report.Final, howToGoOn(report))
		return
	}
	if ended != nil {
		workflows.PrintEnd(p.Program, ended)
	} else {
		p.printWaiting(report)
	}
	if !want.quiet {
		end := fmt.Sprintf("run %s: %s, steps %d", report.RunID, report.Status, report.Steps)
		if report.PromptTokens+report.OutputTokens > 0 {
			end += fmt.Sprintf(", tokens %d+%d", report.PromptTokens, report.OutputTokens)
		}
		if cost := report.Describe(cli.Money); cost != "" {
			end += ", cost " + terminal.Visible(cost)
		}
		if report.Model != "" {
			end += ", last decided by " + terminal.Visible(report.Model)
		}
		fmt.Fprintln(p.Stderr, end)
		if more := howToGoOn(report); more != "" {
			fmt.Fprintln(p.Stderr, "to go on:", more)
		}
	}
}

// endOfWorkflow returns the outcome of the workflow that decided the run's end, because
// it failed or waits for somebody; else nil.
func endOfWorkflow(report agent.Report) *workflow.Outcome {
	if report.Status != agent.StatusError && report.Status != agent.StatusWaiting || !onlyAWorkflow(report) {
		return nil
	}
	outcome := new(workflow.Outcome)
	if json.Unmarshal(callsOf(report)[0].Output, outcome) != nil || outcome.RunID == "" {
		return nil
	}
	return outcome
}

// onlyAWorkflow reports whether a run did nothing but run a workflow.
func onlyAWorkflow(report agent.Report) bool {
	calls := callsOf(report)
	return len(calls) == 1 && calls[0].Tool == workflow.Name
}

func callsOf(report agent.Report) []memory.Call {
	var calls []memory.Call
	for _, step := range report.Transcript {
		calls = append(calls, step.Calls...)
	}
	return calls
}

// exitOfRun returns the exit code of a run: the workflow's, if that decided the end. A
// stuck run has failed.
func exitOfRun(report agent.Report) int {
	if outcome := endOfWorkflow(report); outcome != nil {
		return workflows.ExitCode(outcome)
	}
	switch report.Status {
	case agent.StatusOK:
		return cli.ExitOK
	case agent.StatusWaiting:
		return cli.ExitPending
	case agent.StatusMaxSteps:
		return cli.ExitMaxSteps
	case agent.StatusCanceled, agent.StatusInterrupted:
		return cli.ExitInterrupted
	}
	if report.Error != nil && (report.Error.Code == fault.ReasoningUnavailable || onlyAWorkflow(report)) {
		return cli.ExitCode(report.Error)
	}
	return cli.ExitFailed
}

// printWaiting prints on stderr how to continue the workflows that a run left waiting.
func (p *program) printWaiting(report agent.Report) {
	left := map[string]*workflow.Outcome{} // by run
	var order []string
	for _, call := range callsOf(report) {
		outcome := new(workflow.Outcome)
		if call.Tool != workflow.Name || json.Unmarshal(call.Output, outcome) != nil || outcome.RunID == "" {
			continue
		}
		if left[outcome.RunID] == nil {
			order = append(order, outcome.RunID)
		}
		left[outcome.RunID] = outcome
	}
	for _, run := range order {
		if outcome := left[run]; outcome.Status == workflow.Waiting && outcome.Pending != nil {
			workflows.PrintEnd(p.Program, outcome)
		}
	}
}
