package workflows

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"savant/cmd/savant/app"
	"savant/cmd/savant/cli"
	"savant/cmd/savant/terminal"
	"savant/engines"
	"savant/engines/workflow"
	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/think/flow"
	"savant/think/form"
	"savant/think/library"
)

// requestedRun is the run that a person asks for.
type requestedRun struct {
	name, run string
	given     string   // the name of a new run
	pairs     []string // name=value
	params    string   // JSON, @file or -
	wait      bool     // until a person has answered elsewhere
}

func (p *program) workflowsRunCommand() *cobra.Command {
	var want requestedRun
	command := &cobra.Command{Use: "run NAME", Short: "Run a workflow here, without a client",
		Long: "Run a workflow here: Savant calls its tools itself, shows each step on stderr and prints the outputs on stdout.\n" +
			"At a terminal it asks you the questions to a person. It stops where a model or another client must answer,\n" +
			"and says how to continue. A run that was interrupted is continued by --run-id.",
		Example: "  savant workflows run repo_tour --param commits=3\n  savant workflows run repo_tour --run-id 01k2…",
		Args:    cli.Positional(cobra.ExactArgs(1)),
		RunE: func(command *cobra.Command, args []string) error {
			want.name = args[0]
			lines := p.showSteps()
			return p.With(command.Context(), func(a *app.App) error { return p.runWorkflow(command.Context(), a, want, lines) })
		}}
	flags := command.Flags()
	flags.StringArrayVar(&want.pairs, "param", nil, "a parameter, name=value: text, or JSON where the parameter is not text; may be repeated")
	flags.StringVar(&want.params, "params", "", "the parameters as JSON, @FILE to read them from a file, - from stdin")
	want.runFlags(command)
	flags.BoolVar(&want.wait, "wait", false, "wait for a person's answer from another place: the hub, or savant approve")
	return p.JSONFlag(command)
}

// runFlags adds the flags that say which run: one to continue, or the name of a new one.
func (w *requestedRun) runFlags(command *cobra.Command) {
	command.Flags().StringVar(&w.run, "run-id", "", "continue this run")
	command.Flags().StringVar(&w.given, "name", "", "name the new run")
	command.MarkFlagsMutuallyExclusive("run-id", "name")
}

// runID returns the id of the run to continue, or the name of the new one; "" if neither
// is given.
func (w requestedRun) runID(ctx context.Context, a *app.App) (string, error) {
	if w.given != "" {
		return w.given, a.NewName(ctx, w.name, w.given)
	}
	if w.run == "" {
		return "", nil
	}
	run, err := a.FindRun(ctx, w.name, w.run, app.OfWorkflow)
	if errors.Is(err, fault.UnknownRun) {
		return "", fault.From(err).Hinted(fault.Hint{Text: fmt.Sprintf("--run-id continues a run of %s; a new one is named by --name", w.name)})
	}
	return run.RunID, err
}

func (p *program) runWorkflow(ctx context.Context, a *app.App, want requestedRun, lines *stepLines) error {
	params, err := p.params(ctx, a, want)
	if err != nil {
		return err
	}
	run, err := want.runID(ctx, a)
	if err != nil {
		return err
	}
	outcome, err := p.drive(ctx, a, workflow.Request{Workflow: want.name, Params: params, RunID: run}, lines, want.wait)
	if err != nil {
		return err
	}
	return p.conclude(outcome, lines)
}

// drive runs a workflow until it is done or waits for somebody who is not at this
// terminal. It shows steps on stderr, and asks the person at the terminal.
func (p *program) drive(ctx context.Context, a *app.App, request workflow.Request, lines *stepLines, wait bool) (*workflow.Outcome, error) {
	first := request
	if request.Workflow == reviewWorkflow { // it looks for the server of a forge
		a.AwaitMounts(ctx)
	}
	for {
		outcome, err := lines.during(func() (*workflow.Outcome, error) { return a.Driver.Run(ctx, engines.Call{}, request, lines.tell) })
		if outcome == nil && ctx.Err() != nil {
			return &workflow.Outcome{Status: workflow.Interrupted, RunID: first.RunID, Workflow: first.Workflow,
				Note: "It was interrupted before it started: run the same command again."}, nil
		}
		if outcome == nil || err != nil && ctx.Err() == nil {
			return nil, p.withParameters(err, first.Workflow)
		}
		answered := p.answerHere(ctx, a, outcome)
		if !answered && wait {
			if answered, err = p.awaitAnswer(ctx, a, outcome); err != nil {
				return nil, err
			}
		}
		if answered {
			request = workflow.Request{Workflow: outcome.Workflow, RunID: outcome.RunID}
			continue
		}
		if ctx.Err() != nil && outcome.Status == workflow.Waiting { // interrupted at a question
			outcome.Status = workflow.Interrupted
		}
		return outcome, nil
	}
}

// withParameters adds to an error about parameters how they are given.
func (p *program) withParameters(err error, workflow string) error {
	coded := fault.From(err)
	if coded == nil || p.JSON || coded.Code != fault.InvalidParams || !strings.Contains(coded.Message(), "params.") {
		return err
	}
	return fault.New(coded.Code, "%s; give it as --param NAME=VALUE: savant workflows read %s lists the parameters", coded.Message(), workflow).
		With(coded.Diagnostics...)
}

// params returns the given parameters, or nil.
func (p *program) params(ctx context.Context, a *app.App, want requestedRun) (map[string]any, error) {
	var params map[string]any
	if want.params != "" {
		raw, err := p.ArgumentsOf("--params", want.params)
		if err != nil {
			return nil, err
		}
		value, err := jsonvalue.Decode(raw)
		given, isObject := value.(map[string]any)
		if err != nil || !isObject {
			return nil, cli.UsageError("--params: expected a JSON object of parameters")
		}
		params = given
	}
	if len(want.pairs) == 0 {
		return params, nil
	}
	read, err := a.Think.Library.Read(ctx, library.ReadInput{Workflow: want.name})
	if err != nil {
		return nil, err
	}
	for _, pair := range want.pairs {
		name, text, ok := strings.Cut(pair, "=")
		if !ok {
			return nil, cli.UsageError("--param " + terminal.Visible(pair) + ": expected name=value")
		}
		if params == nil {
			params = map[string]any{}
		}
		if schema, _ := read.Params[name].(map[string]any); schema["required"] == true {
			delete(schema, "required") // the parameter is required, which is no keyword of a schema
		}
		params[name] = p.questionsOf(a, form.New(jsonvalue.Encoded(read.Params[name]))).parse(text)
	}
	return params, nil
}

// answerHere asks the person at the terminal about a waiting step, and reports whether
// the run moved on. It asks on stderr: stdout is for the outputs.
func (p *program) answerHere(ctx context.Context, a *app.App, outcome *workflow.Outcome) bool {
	if outcome.Pending == nil || outcome.Pending.For != workflow.ForPerson || !terminal.IsTerminal(p.Stdin) {
		return false
	}
	shared := *p.Program
	shared.Stdout = &terminal.Output{Writer: p.Stderr}
	asking := &program{&shared}
	for ctx.Err() == nil {
		err := asking.approveOnce(ctx, a, approval{workflow: outcome.Workflow, run: outcome.RunID, step: outcome.Pending.StepID})
		if err == nil {
			return true
		}
		if errors.Is(err, fault.StateConflict) { // somebody else has answered
			fmt.Fprintf(p.Stderr, "\n%s\n", terminal.Visible(fault.From(err).Details))
			return true
		}
		fmt.Fprintf(p.Stderr, "%s\n", terminal.Visible(fault.From(err).Error()))
		if !errors.Is(err, fault.ValidationFailed) {
			return false
		}
	}
	return false
}

// awaitAnswer waits until a person has answered elsewhere, and reports whether they
// did.
func (p *program) awaitAnswer(ctx context.Context, a *app.App, outcome *workflow.Outcome) (answered bool, err error) {
	if outcome.Pending == nil || outcome.Pending.For != workflow.ForPerson {
		return false, nil
	}
	fmt.Fprintf(p.Stderr, "step %s of run %s waits for a person: answer it in the hub, or with savant approve %s %s\n",
		terminal.Visible(outcome.Pending.StepID), outcome.RunID, outcome.RunID, terminal.Visible(outcome.Pending.StepID))
	err = a.Think.AwaitStep(ctx, outcome.Workflow, outcome.RunID, outcome.Pending.StepID)
	if ctx.Err() != nil {
		return false, nil
	}
	return err == nil, err
}

// conclude prints where the run stands, without the reasons that the steps have shown, and
// returns the exit code as an error.
func (p *program) conclude(outcome *workflow.Outcome, shown *stepLines) error {
	if p.JSON {
		if err := p.Print(outcome); err != nil {
			return err
		}
	} else if err := p.printOutputs(outcome.Outputs); err != nil {
		return err
	}
	if outcome.Pending != nil && slices.Contains(shown.told, outcome.Pending.StepID+": "+outcome.Pending.Why) {
		outcome.Pending.Why = ""
	}
	outcome.Failures = slices.DeleteFunc(outcome.Failures, func(each flow.Failure) bool {
		return slices.Contains(shown.told, each.Step+": "+string(each.Code)+": "+each.Details)
	})
	PrintEnd(p.Program, outcome)
	if code := ExitCode(outcome); code != cli.ExitOK {
		return cli.StatusError(code)
	}
	return nil
}

// ExitCode returns the program's exit code for an outcome.
func ExitCode(outcome *workflow.Outcome) int {
	switch outcome.Status {
	case workflow.Done:
		return cli.ExitOK
	case workflow.Waiting:
		return cli.ExitPending
	case workflow.Interrupted:
		return cli.ExitInterrupted
	case workflow.Blocked:
		return cli.ExitCode(outcome.Error)
	case workflow.Cancelled:
		return cli.ExitConflict
	}
	return cli.ExitFailed
}

// printOutputs prints one output per line: a text as it is, any other value as JSON.
func (p *program) printOutputs(raw json.RawMessage) error {
	if len(raw) == 0 {
		return nil
	}
	var outputs map[string]json.RawMessage
	if err := json.Unmarshal(raw, &outputs); err != nil {
		return fault.New(fault.Internal, "the outputs cannot be read: %w", err)
	}
	for _, name := range slices.Sorted(maps.Keys(outputs)) {
		text := string(outputs[name])
		var plain string
		if json.Unmarshal(outputs[name], &plain) == nil && text != "null" {
			text = plain
		}
		if _, err := fmt.Fprintf(p.Stdout, "%s: %s\n", terminal.Visible(name), terminal.Content(text)); err != nil {
			return err
		}
	}
	return nil
}

// printPending prints what a run waits for, and how to answer.
func printPending(out io.Writer, outcome *workflow.Outcome) {
	pending := outcome.Pending
	fmt.Fprintln(out, strings.TrimRight(fmt.Sprintf("  step %s waits for a %s. %s", terminal.Visible(pending.StepID), pending.For, terminal.Visible(pending.Why)), " "))
	if pending.For != workflow.ForPerson {
		fmt.Fprintf(out, "  to answer it yourself: savant workflows answer %s %s --editor, or --result JSON|@FILE|-; without either it shows the question\n",
			outcome.RunID, terminal.Visible(pending.StepID))
	}
}

// PrintEnd prints on stderr how the run ended and how to continue. It redacts the
// summary, which a model may have written.
func PrintEnd(p *cli.Program, outcome *workflow.Outcome) {
	out := p.Stderr
	if terminal.Rewrites(out, p.Variable) {
		fmt.Fprint(out, terminal.ClearLine)
	}
	if outcome.RunID == "" {
		fmt.Fprintf(out, "the run of %s was interrupted before it started: run the same command again\n", terminal.Visible(outcome.Workflow))
		return
	}
	fmt.Fprintf(out, "run %s of %s: %s", outcome.RunID, outcome.Workflow, outcome.Status)
	if outcome.Summary != "" {
		fmt.Fprintf(out, ": %s", terminal.Visible(app.Redactor(p.World.Environment, p.Loaded).Certain().Text(outcome.Summary)))
	}
	fmt.Fprintln(out)
	if used := outcome.Usage.Describe(cli.Money); used != "" {
		fmt.Fprintf(out, "  %s\n", terminal.Visible(used))
	}
	for _, each := range outcome.Failures {
		fmt.Fprintf(out, "  failed %s: %s: %s\n", terminal.Visible(each.Step), each.Code, terminal.Visible(each.Details))
	}
	if outcome.Error != nil {
		fmt.Fprintf(out, "  %s\n", terminal.Visible(outcome.Error.Error()))
		terminal.Diagnostics(out, outcome.Error)
	}
	if outcome.Pending != nil {
		printPending(out, outcome)
	}
	if outcome.Status == workflow.Failed {
		fmt.Fprintf(out, "  to see why: savant explain %s\n", outcome.RunID)
	}
	if outcome.Status == workflow.Waiting || outcome.Status == workflow.Interrupted {
		fmt.Fprintf(out, "  to go on: savant workflows run %s --run-id %s\n", outcome.Workflow, outcome.RunID)
	}
}
