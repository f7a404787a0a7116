package states

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"savant/cmd/savant/app"
	"savant/cmd/savant/cli"
	"savant/cmd/savant/terminal"
	"savant/fault"
	"savant/think"
	"savant/think/audit"
	"savant/think/state"
)

// changeCommand is a command that changes one run. A run with a unique id can be named
// without its workflow.
func (p *program) changeCommand(command *cobra.Command, work func(ctx context.Context, a *app.App, key state.Key, rest []string) error) *cobra.Command {
	var workflow string
	command.RunE = p.OnApp(func(ctx context.Context, a *app.App, args []string) error {
		run, err := a.FindRun(ctx, workflow, args[0], app.OfWorkflow)
		if err != nil {
			return err
		}
		return work(ctx, a, run.Key(), args[1:])
	})
	command.Flags().StringVar(&workflow, "workflow", "", "the run's workflow, if the run id is not unique")
	return p.JSONFlag(command)
}

func (p *program) stateForkCommand() *cobra.Command {
	var in audit.DebugInput
	command := p.changeCommand(&cobra.Command{Use: "fork RUN", Short: "Start a new run with the answers of another one",
		Long: "Start a new run with the answers of another run, all of them or those up to --from. The old run stays as it is.\n\n" +
			"With --adopt the new run follows the workflow's file as it is now: correct the file of a blocked run, then\n" +
			"fork it. If the answers lead to other steps under the new file, nothing is started, the first difference is\n" +
			"shown, and the exit code is 3; --from an earlier step leaves those answers behind.",
		Example: "  savant state fork 01k2… --adopt\n  savant state fork 01k2… --from review --name again",
		Args:    cli.Positional(cobra.ExactArgs(1))},
		func(ctx context.Context, a *app.App, key state.Key, _ []string) error {
			in.Action, in.Workflow, in.RunID = "fork", key.Workflow, key.Run
			return p.fork(ctx, a, key, in)
		})
	flags := command.Flags()
	flags.StringVar(&in.FromStep, "from", "", "a version such as v3, a step (before its answer), a named checkpoint, or start; default the present")
	flags.StringVar(&in.NewRunID, "name", "", "name the new run")
	flags.BoolVar(&in.Adopt, "adopt", false, "follow the workflow's file as it is now")
	return command
}

func (p *program) fork(ctx context.Context, a *app.App, key state.Key, in audit.DebugInput) error {
	out, err := audit.New(a.Think).Debug(ctx, in)
	if err != nil {
		return err
	}
	if p.JSON {
		return verdict(p.Print(out), out.Difference)
	}
	if out.Difference != nil {
		p.printDifference(key, out.Difference)
		fmt.Fprintf(p.Stderr, "savant: nothing was started: the answers lead to other steps under the present file; to start before the difference: savant state fork %s --adopt --from v%d\n",
			key.Run, max(1, out.Difference.Version-1))
		return verdict(nil, out.Difference)
	}
	run := out.Reply.State.RunID
	fmt.Fprintf(p.Stdout, "run %s begins with the answers of %s up to v%d%s\nto go on: savant workflows run %s --run-id %s\n",
		run, key.Run, out.From, stateAfter(out.Reply), key.Workflow, run)
	return nil
}

// stateAfter returns the status and the step of a run after a change, as the end of a sentence.
func stateAfter(reply *think.Reply) string {
	text := "; it is " + string(reply.State.Status)
	if reply.Instruction != nil {
		text += " and stands at step " + terminal.Visible(reply.Instruction.StepID)
	}
	return text
}

func (p *program) stateResetCommand() *cobra.Command {
	var force bool
	command := p.changeCommand(&cobra.Command{Use: "reset RUN CHECKPOINT", Short: "Take a run back to an earlier version",
		Long: "Take a run back to a version such as v3, to before the answer of a step, to a named checkpoint, or to the start.\n" +
			"What was settled since is issued anew. Nothing is erased: savant state history shows the records that were left behind.",
		Example: "  savant state reset 01k2… review\n  savant state reset 01k2… v3",
		Args:    cli.Positional(cobra.ExactArgs(2))},
		func(ctx context.Context, a *app.App, key state.Key, rest []string) error {
			if err := a.Undriven(key); err != nil {
				return err
			}
			out, err := a.Think.Reset(ctx, think.ResetInput{Caller: think.Caller{Name: think.ByTerminal}, Workflow: key.Workflow, RunID: key.Run, Checkpoint: rest[0], Force: force})
			if failure := fault.From(err); err != nil && failure.Code == fault.ResetNotAllowed {
				return fault.New(failure.Code, "run %s has ended: --force resets it all the same", key.Run)
			}
			if err != nil || p.JSON {
				return p.Printed(out, err)
			}
			fmt.Fprintf(p.Stdout, "run %s is back at %s%s\nto go on: savant workflows run %s --run-id %s\n", key.Run, terminal.Visible(rest[0]),
				stateAfter(&think.Reply{State: out.State, Instruction: out.Instruction}), key.Workflow, key.Run)
			return nil
		})
	command.Flags().BoolVar(&force, "force", false, "also reset a run that has ended")
	return command
}

func (p *program) stateDeleteCommand() *cobra.Command {
	return p.changeCommand(&cobra.Command{Use: "delete RUN", Short: "Move a run to the trash, whatever its status",
		Long: "Move a run to the trash, whatever its status. savant state restore brings it back, until savant state prune --purge.",
		Args: cli.Positional(cobra.ExactArgs(1))},
		func(ctx context.Context, a *app.App, key state.Key, _ []string) error {
			if err := a.Undriven(key); err != nil {
				return err
			}
			if err := a.Store.Delete(ctx, key); err != nil {
				return err
			}
			if p.JSON {
				return p.Print(map[string]string{"workflow": key.Workflow, "run_id": key.Run})
			}
			_, err := fmt.Fprintf(p.Stdout, "run %s is in the trash; to bring it back: savant state restore %s\n", key.Run, key.Run)
			return err
		})
}
