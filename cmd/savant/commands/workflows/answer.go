package workflows

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
	"savant/think"
	"savant/think/flow"
)

// byHand is a person's answer in place of a model's or another client's.
type byHand struct {
	workflow, run, step string
	result              string // JSON, @file or -
	receipt             string // of a call, in place of its result
	editor              bool   // the result is written in an editor
	written             string // there
}

func (p *program) workflowsAnswerCommand() *cobra.Command {
	var given byHand
	command := &cobra.Command{Use: "answer RUN [STEP]", Short: "Answer a step that waits for a model or for another client",
		Long: "Answer a step that waits for a model (llm.generate), or for a client with a tool that Savant does not have.\n" +
			"Without --result it prints the question. A result that does not fit is refused, and the step still waits.\n" +
			"For a question to a person (human.approve, human.ask) use savant approve.",
		Example: "  savant workflows answer 01k2… greet\n" +
			`  savant workflows answer 01k2… greet --result '{"text": "Hello!"}'`,
		Args: cli.Positional(cobra.RangeArgs(1, 2)),
		RunE: func(command *cobra.Command, args []string) error {
			given.run, given.step = args[0], strings.Join(args[1:], "")
			p.Open.Looking = given.result == "" && given.receipt == "" && !given.editor
			return p.With(command.Context(), func(a *app.App) error { return p.answerByHand(command.Context(), a, given) })
		}}
	command.Flags().StringVar(&given.workflow, "workflow", "", "the run's workflow, if the run id is not unique")
	command.Flags().BoolVar(&given.editor, "editor", false, "write the result in $EDITOR, below the question")
	command.Flags().StringVar(&given.receipt, "receipt", "", "instead of a result: the _receipt of the step's call, made with savant call")
	command.Flags().StringVar(&given.result, "result", "", "the step's whole result: JSON, @FILE to read it from a file, - from stdin")
	return p.JSONFlag(command)
}

// answerByHand prints the instruction, or hands in its result.
func (p *program) answerByHand(ctx context.Context, a *app.App, given byHand) error {
	run, err := a.FindRun(ctx, given.workflow, given.run, app.OfWorkflow)
	if err != nil {
		return err
	}
	at, err := a.Think.Position(ctx, run.Workflow, run.RunID)
	if err != nil {
		return err
	}
	if at.Status == flow.Cancelled {
		_, err := a.Think.Pending(ctx, at.Workflow, at.RunID) // its error names who must answer
		return err
	}
	if given.editor && (given.result != "" || given.receipt != "") {
		return cli.UsageError("--editor, --result and --receipt exclude each other: give one")
	}
	if given.result == "" && given.receipt == "" && !given.editor {
		instruction, err := outstanding(at, given.step)
		return p.Printed(question(instruction), err)
	}
	if given.editor {
		instruction, err := outstanding(at, given.step)
		if err != nil {
			return err
		}
		written, err := p.edited(ctx, question(instruction))
		if err != nil {
			return err
		}
		result, err := jsonvalue.Encode(jsonvalue.TextOrValue(written))
		if err != nil {
			return fault.New(fault.InvalidParams, "--editor: %w", err)
		}
		given.step, given.result, given.written = instruction.StepID, string(result), written
	}
	step := given.step
	if step == "" {
		instruction, err := outstanding(at, "")
		if err != nil {
			return err
		}
		step = instruction.StepID
	}
	reply, err := p.handIn(ctx, a, think.NextInput{Workflow: at.Workflow, RunID: at.RunID, StepID: step, Caller: think.Caller{Name: think.ByTerminal}}, given)
	if err != nil && given.editor {
		err = withSavedText(err, given.written)
	}
	if err != nil || p.JSON {
		return p.Printed(reply, err)
	}
	p.printRecorded(at, reply)
	return nil
}

// handIn submits the result, or the receipt that stands for it.
func (p *program) handIn(ctx context.Context, a *app.App, in think.NextInput, given byHand) (*think.Reply, error) {
	if given.receipt != "" && given.result != "" {
		return nil, cli.UsageError("--result and --receipt exclude each other: leave one out")
	}
	if in.ResultRef = given.receipt; in.ResultRef != "" {
		return a.Think.Next(ctx, in)
	}
	result, err := p.ArgumentsOf("--result", given.result)
	if err != nil {
		return nil, err
	}
	in.ResultSnapshot = result
	return a.Think.Answer(ctx, in)
}

// pendingQuestion is what a person sees of an instruction, to answer it.
type pendingQuestion struct {
	StepID        string             `json:"step_id"`
	Call          string             `json:"call"`
	Rationale     string             `json:"rationale,omitempty"`
	Input         any                `json:"input"`
	SuccessSchema any                `json:"success_schema,omitempty"`
	Attempt       int                `json:"attempt"`
	Diagnostics   []fault.Diagnostic `json:"diagnostics,omitempty"`
}

func question(of flow.Instruction) pendingQuestion {
	return pendingQuestion{of.StepID, of.Call, of.Rationale, of.Input, of.SuccessSchema, of.Attempt, of.Diagnostics}
}

// outstanding returns the instruction of the named step, or the only one.
func outstanding(at *think.Position, step string) (flow.Instruction, error) {
	if len(at.Outstanding) == 0 {
		return flow.Instruction{}, fault.New(fault.InvalidTransition, "run %s is %s: none of its steps waits for an answer", at.RunID, at.Status)
	}
	return waitingStep(fault.InvalidTransition, at.RunID, step, at.Outstanding, func(each flow.Instruction) string { return each.StepID })
}

// waitingStep returns the one of a run's waiting steps that is named, or the only one; code is
// that of the error for another name.
func waitingStep[T any](code fault.Code, run, step string, waiting []T, id func(T) string) (found T, err error) {
	ids := make([]string, len(waiting))
	for i, each := range waiting {
		if ids[i] = id(each); ids[i] == step || step == "" && len(waiting) == 1 {
			return each, nil
		}
	}
	names := terminal.Visible(strings.Join(ids, ", "))
	if step == "" {
		return found, cli.UsageError("run " + terminal.Visible(run) + " waits for several answers; name one of " + names)
	}
	return found, fault.New(code, "step %s of run %s does not wait for an answer; waiting: %s", step, run, names)
}

func (p *program) printRecorded(at *think.Position, reply *think.Reply) {
	p.printStanding(think.Pending{RunID: at.RunID}, reply)
	if !reply.Done {
		fmt.Fprintf(p.Stdout, "To go on: savant workflows run %s --run-id %s\n", at.Workflow, at.RunID)
	}
}
