package workflows

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"savant/cmd/savant/app"
	"savant/cmd/savant/cli"
	"savant/cmd/savant/terminal"
	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/rules/sessions"
	"savant/think"
	"savant/think/flow"
)

// approval is a decision given on the command line.
type approval struct {
	workflow, run, step string
	decline, revoke     bool
	comment             string
	answer              string
	answered            bool
}

// ApproveCommand is `savant approve`.
func ApproveCommand(shared *cli.Program) *cobra.Command {
	p := &program{shared}
	var said approval
	command := &cobra.Command{Use: "approve RUN [STEP]", Short: "Answer a step that waits for a person",
		Long: "Answer a step that waits for a person: human.approve or human.ask; or a rule's question about a call, which the refused call\n" +
			"and savant rules status name: savant approve call:…. It shows the question and asks for your answer, at a terminal only, so\n" +
			"that only a person can give it. With --revoke it takes back an approval that covers calls of the run.",
		Args: cli.Positional(cobra.RangeArgs(1, 2)),
		RunE: func(command *cobra.Command, args []string) error {
			said.run, said.step, said.answered = args[0], strings.Join(args[1:], ""), command.Flags().Changed("answer")
			return p.With(command.Context(), func(a *app.App) error { return p.approve(command.Context(), a, said) })
		}}
	flags := command.Flags()
	flags.StringVar(&said.workflow, "workflow", "", "the run's workflow, if the run id is not unique")
	flags.BoolVar(&said.decline, "decline", false, "decline instead of approving")
	flags.BoolVar(&said.revoke, "revoke", false, "take back an approval of the step that covers calls")
	flags.StringVar(&said.comment, "comment", "", "a comment, kept with the answer")
	flags.StringVar(&said.answer, "answer", "", "the answer to a question: JSON, or text")
	for _, other := range []string{"decline", "comment", "answer"} {
		command.MarkFlagsMutuallyExclusive("revoke", other)
	}
	return command
}

func (p *program) approve(ctx context.Context, a *app.App, said approval) error {
	if !terminal.IsTerminal(p.Stdin) {
		return fault.New(fault.ApprovalRequired, "only a person can answer, at a terminal: savant approve %s", strings.TrimSpace(said.run+" "+said.step))
	}
	if said.revoke {
		return p.revoke(ctx, a, said)
	}
	if sessions.IsQuestion(said.run) {
		return p.approveCall(ctx, a, said)
	}
	return p.approveOnce(ctx, a, said)
}

// approveCall shows a whole call and answers the rule's question about it.
func (p *program) approveCall(ctx context.Context, a *app.App, said approval) error {
	if said.answered || said.comment != "" || said.step != "" {
		return cli.UsageError("a rule asks for approval: only --decline can be given")
	}
	waiting, err := a.RuleKeeper().Questions()
	if err != nil {
		return err
	}
	at := slices.IndexFunc(waiting, func(each sessions.Question) bool { return each.Name == said.run })
	if at < 0 {
		return fault.New(fault.InvalidTransition, "no question %s waits for a person", fault.Cut(said.run, 60)).Hinted(fault.Hint{Text: "savant rules status lists them"})
	}
	asked := waiting[at]
	input, err := terminal.Indented(asked.Input)
	if err != nil {
		return err
	}
	fmt.Fprintf(p.Stdout, "%s asks about a call of %s:\n\n%s\n\ninput:\n%s\nA yes counts for %s, for %s.\n\n", terminal.Visible(asked.Session), terminal.Visible(asked.Tool),
		terminal.QuoteLines(strings.Join(asked.Texts, "\n")), input, terminal.Count(asked.Grant.Most, "such call"), time.Duration(asked.Grant.Within)*time.Millisecond)
	approved, err := p.decided(ctx, said)
	if err == nil {
		_, err = a.RuleKeeper().Answer(ctx, asked.Name, approved, "terminal")
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(p.Stdout, "Recorded. The answer counts when the same call is made again.")
	return err
}

// revoke shows the approvals of a run that cover calls, and takes one back.
func (p *program) revoke(ctx context.Context, a *app.App, said approval) error {
	run, err := a.FindRun(ctx, said.workflow, said.run, app.OfWorkflow)
	if err != nil {
		return err
	}
	all, err := a.Think.ScopedApprovals(ctx, run.Workflow, run.RunID)
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(each think.ScopedApproval) bool {
		return each.Over != "" || said.step != "" && each.Step != said.step
	})
	var ids []string
	for _, each := range all {
		where := ""
		if ids = append(ids, each.Step); each.Where != "" {
			where = " where " + each.Where
		}
		fmt.Fprintf(p.Stdout, "step %s, approved by %s: %d of %s used, until %s\n", terminal.Visible(each.Step), terminal.Visible(each.By), each.Used,
			terminal.Count(each.AtMost, "call")+" of "+terminal.Visible(each.Call+where), each.Expires)
	}
	switch {
	case len(all) == 0:
		return fault.New(fault.InvalidTransition, "run %s has no approval that covers calls now", said.run)
	case len(all) > 1:
		return cli.UsageError("run " + terminal.Visible(said.run) + " has several; name one of " + terminal.Visible(strings.Join(ids, ", ")))
	}
	if p.confirm(ctx, "Revoke it?") != nil {
		return fault.New(fault.ApprovalRequired, "nothing was revoked")
	}
	if err := a.Think.Revoke(ctx, run.Workflow, run.RunID, all[0].Step, think.Caller{Name: think.ByTerminal}); err != nil {
		return err
	}
	_, err = fmt.Fprintln(p.Stdout, "Revoked. It covers no more calls.")
	return err
}

// approveOnce shows the question to the person at the terminal and records the answer.
func (p *program) approveOnce(ctx context.Context, a *app.App, said approval) error {
	run, err := a.FindRun(ctx, said.workflow, said.run, app.OfWorkflow)
	if err != nil {
		return err
	}
	said.workflow, said.run = run.Workflow, run.RunID
	waiting, err := a.Think.Pending(ctx, said.workflow, said.run)
	if err != nil {
		return err
	}
	if len(waiting) == 0 {
		return fault.New(fault.InvalidTransition, "run %s waits for no person", said.run)
	}
	pending, err := waitingStep(fault.UnknownStep, said.run, said.step, waiting, func(each think.Pending) string { return each.StepID })
	if err != nil {
		return err
	}
	if err := pending.Admits(think.ByLocal, said.decline); err != nil {
		hint := "they answer in the hub (savant hub), with their own token"
		if pending.Admits(think.ByLocal, true) == nil {
			hint = "with --decline you take it back"
		}
		return fault.From(err).Hinted(fault.Hint{Text: hint})
	}
	if err := p.show(pending); err != nil {
		return err
	}
	var answer any
	var reply *think.Reply
	for range 1 + maxMisfits {
		if answer, err = p.decideHere(ctx, a, pending, said); err != nil {
			return err
		}
		reply, err = a.Think.Approve(ctx, pending, answer, think.Caller{Name: think.ByTerminal})
		if said.answered || !errors.Is(err, fault.ValidationFailed) {
			break
		}
		fmt.Fprintf(p.Stdout, "That does not fit: %s.\n", terminal.Visible(strings.TrimSuffix(fault.From(err).Message(), ".")))
	}
	if err != nil {
		return err
	}
	p.printStanding(pending, reply)
	return nil
}

// decideHere is decide, but ends with STATE_CONFLICT when the question is answered
// elsewhere.
func (p *program) decideHere(ctx context.Context, a *app.App, pending think.Pending, said approval) (any, error) {
	asking, stop := context.WithCancel(ctx)
	elsewhere := make(chan error, 1)
	go func() {
		elsewhere <- a.Think.AwaitAnswer(asking, pending)
		stop()
	}()
	answer, err := p.decide(asking, a, pending, said)
	stop()
	switch gone := <-elsewhere; {
	case gone == nil:
		return nil, fault.New(fault.StateConflict, "step %s of run %s was meanwhile answered elsewhere", pending.StepID, pending.RunID)
	case !errors.Is(gone, context.Canceled):
		return nil, gone
	}
	return answer, err
}

// show prints what the answer will be bound to: each thing once, and the schema of an
// answer only when the person asks for it.
func (p *program) show(pending think.Pending) error {
	input := ""
	if rest := withoutShown(pending); rest != nil {
		text, err := terminal.Indented(rest)
		if err != nil {
			return err
		}
		input = "input:\n" + text
	}
	_, err := fmt.Fprintf(p.Stdout, "%s %s asks, at step %s:\n\n%s\n\n%sdigest: %s\n\n", pending.Workflow, pending.RunID, pending.StepID,
		terminal.QuoteLines(pending.Message), input, pending.Digest)
	if err == nil && pending.Count > 1 {
		_, err = fmt.Fprintf(p.Stdout, "%d of %d persons agreed.\n\n", len(pending.Agreed), pending.Count)
	}
	return err
}

// withoutShown returns what of the input the message and the form do not show; nil if
// that is nothing.
func withoutShown(pending think.Pending) any {
	input, ok := pending.Input.(map[string]any)
	if !ok {
		return pending.Input
	}
	input = maps.Clone(input)
	if input["message"] == pending.Message {
		delete(input, "message")
	}
	if flow.AnsweringOf(pending.Call) == flow.FillsIn {
		delete(input, "schema")
	}
	if len(input) == 0 {
		return nil
	}
	return input
}

// decide asks the person and returns the answer to record.
func (p *program) decide(ctx context.Context, a *app.App, pending think.Pending, said approval) (any, error) {
	if flow.AnsweringOf(pending.Call) != flow.Decides {
		return p.answer(ctx, a, pending, said)
	}
	if said.answered {
		return nil, cli.UsageError("step " + pending.StepID + " asks for approval: --answer is for questions")
	}
	approved, err := p.decided(ctx, said)
	if err != nil {
		return nil, err
	}
	answer := map[string]any{"approved": approved}
	if said.comment != "" {
		answer["comment"] = said.comment
	}
	return answer, nil
}

// decided asks whether the person approves what was shown.
func (p *program) decided(ctx context.Context, said approval) (approved bool, err error) {
	if said.decline {
		return false, p.confirm(ctx, "Decline this?")
	}
	approved, err = p.approves(ctx)
	return approved, stillWaits(err)
}

func (p *program) answer(ctx context.Context, a *app.App, pending think.Pending, said approval) (any, error) {
	if said.decline || said.comment != "" {
		return nil, cli.UsageError("step " + pending.StepID + " asks a question: --decline and --comment are for approvals")
	}
	q := p.questionsOf(a, pending.Form())
	if !said.answered {
		value, err := q.ask(ctx)
		return value, stillWaits(err)
	}
	answer := jsonvalue.TextOrValue(said.answer)
	if pending.Schema != nil {
		answer = q.parse(said.answer)
	}
	return answer, p.confirm(ctx, "Send the answer "+terminal.Visible(said.answer)+"?")
}

// confirm returns nil if the person says yes. Otherwise the step stays unanswered.
func (p *program) confirm(ctx context.Context, question string) error {
	agreed, err := p.Typed.Confirm(ctx, p.Stdin, p.Stdout, question)
	if err == nil && !agreed {
		err = terminal.ErrNoAnswer
	}
	return stillWaits(err)
}

// stillWaits returns why a person's step has no answer; nil if err is nil.
func stillWaits(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fault.ValidationFailed):
		return err
	case errors.Is(err, terminal.ErrNoAnswer):
		return fault.New(fault.ApprovalRequired, "nothing was answered; the step still waits")
	}
	return fault.New(fault.ApprovalRequired, "interrupted; the step still waits")
}

func (p *program) printStanding(pending think.Pending, reply *think.Reply) {
	fmt.Fprintf(p.Stdout, "Recorded. Run %s is %s", pending.RunID, reply.State.Status)
	if reply.Instruction != nil {
		fmt.Fprintf(p.Stdout, "; next is step %s", reply.Instruction.StepID)
	}
	fmt.Fprintln(p.Stdout, ".")
}
