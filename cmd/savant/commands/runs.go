package commands

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

	"savant/cmd/savant/app"
	"savant/cmd/savant/cli"
	"savant/cmd/savant/commands/agents"
	"savant/cmd/savant/commands/proofs"
	"savant/cmd/savant/commands/states"
	"savant/cmd/savant/terminal"
	"savant/fault"
	"savant/think/state"
)

// runsCommand is `savant runs`: alone it lists.
func (p *program) runsCommand() *cobra.Command {
	command := p.listCommand("runs", "List all runs, of workflows and of the agent", app.OfWorkflow, app.OfAgent)
	command.AddCommand(p.listCommand("list", "List runs of workflows and of the agent, the last changed first", app.OfWorkflow, app.OfAgent),
		p.showCommand(), p.explainCommand(), p.cancelCommand(), p.traceCommand())
	return command
}

// listed is which runs a list has.
type listed struct {
	status, workflow, since string
	limit                   int
	kinds                   []app.Kind
}

func (p *program) listCommand(use, short string, kinds ...app.Kind) *cobra.Command {
	want := listed{kinds: kinds}
	command := &cobra.Command{Use: use, Short: short, Args: cli.Positional(cobra.NoArgs),
		RunE: p.OnLook(func(ctx context.Context, a *app.App, _ []string) error {
			if want.limit < 1 {
				return cli.ErrLimit
			}
			return p.listRuns(ctx, a, want)
		})}
	flags := command.Flags()
	flags.StringVar(&want.status, "status", "", "only runs with this status, such as waiting, done or ok")
	flags.StringVar(&want.workflow, "workflow", "", "only runs of this workflow; agent: only those of the agent")
	flags.StringVar(&want.since, "since", "", "only runs that changed in this time: 30d, 2w or 12h")
	flags.IntVar(&want.limit, "limit", 50, "how many runs at most")
	return p.JSONFlag(command)
}

func (p *program) listRuns(ctx context.Context, a *app.App, want listed) error {
	after := time.Time{}
	if want.since != "" {
		age, err := cli.Age("--since", want.since)
		if err != nil {
			return err
		}
		after = time.Now().Add(-age)
	}
	all, err := a.Runs(ctx, want.kinds...)
	if err != nil {
		return err
	}
	runs, more := []app.Run{}, 0
	var statuses, workflows []string // of all runs
	tell, end := terminal.ProgressOf(p.Stderr, p.Variable, "runs")
	for i, each := range all {
		at, _ := time.Parse(time.RFC3339Nano, each.Updated)
		workflows = append(workflows, cmp.Or(each.Workflow, string(app.OfAgent)))
		if want.workflow != "" && cmp.Or(each.Workflow, string(app.OfAgent)) != want.workflow || want.since != "" && at.Before(after) {
			continue
		}
		if len(runs) == want.limit && want.status == "" {
			more++
			continue
		}
		if each.Kind == app.OfWorkflow {
			tell(float64(i), float64(len(all)), "opening runs")
			standing := a.StandingOf(ctx, state.Info{Workflow: each.Workflow, Run: each.RunID, Status: each.Status})
			each.Standing, each.Status = &standing, standing.Status
		}
		statuses = append(statuses, each.Status)
		switch {
		case want.status != "" && each.Status != want.status:
		case len(runs) == want.limit:
			more++
		default:
			runs = append(runs, each)
		}
	}
	end()
	if p.JSON {
		return p.Print(map[string]any{"runs": runs, "total": len(runs) + more})
	}
	if len(runs) == 0 && want.status+want.workflow+want.since != "" {
		fmt.Fprintln(p.Stderr, "no such runs"+meantOf("status", want.status, statuses)+meantOf("workflow", want.workflow, workflows)+"; all: savant runs")
		return nil
	}
	return p.tableOfRuns(runs, more)
}

// meantOf asks whether another value of a filter was meant, if none is as it says.
func meantOf(flag, value string, known []string) string {
	if value == "" || slices.Contains(known, value) {
		return ""
	}
	return fault.NearestHint(", did you mean --"+flag+" %s?", value, known)
}

func (p *program) tableOfRuns(runs []app.Run, more int) error {
	if len(runs) == 0 {
		fmt.Fprintln(p.Stderr, "no runs yet; to begin one: savant workflows run hello, or savant run \"a goal\"")
	}
	now := time.Now()
	err := terminal.Table(p.Stdout, []string{"RUN", "WORKFLOW", "STATUS", "STEP", "VERSION", "CHANGED", "GOAL"}, runs, func(run app.Run) []string {
		status, step, version := run.Status, strconv.Itoa(run.Steps), ""
		if run.Standing != nil {
			status, step, version = run.Standing.String(), run.Standing.Step(), fmt.Sprintf("v%d", run.Version)
		}
		return []string{run.RunID, cmp.Or(run.Workflow, "("+string(run.Kind)+")"), status, step, version, terminal.When(run.Updated, now), strings.Join(strings.Fields(fault.Cut(run.Goal, 80)), " ")}
	})
	for _, each := range runs {
		if each.Warning != "" {
			fmt.Fprintf(p.Stderr, "savant: %s is %s: %s\n", each.RunID, each.Status, terminal.Visible(each.Warning))
		}
	}
	if more > 0 {
		fmt.Fprintf(p.Stderr, "%s more: --limit %d shows all\n", terminal.Count(more, "run"), len(runs)+more)
	}
	return err
}

// onRun is a command about a run of either kind. rest are the arguments behind the run.
func (p *program) onRun(command *cobra.Command, work func(ctx context.Context, a *app.App, run app.Run, rest []string) error) *cobra.Command {
	var workflow string
	command.RunE = p.OnApp(func(ctx context.Context, a *app.App, args []string) error {
		run, err := a.FindRun(ctx, workflow, args[0], app.OfWorkflow, app.OfAgent)
		if err != nil {
			return err
		}
		return work(ctx, a, run, args[1:])
	})
	if command.Args == nil {
		command.Args = cli.Positional(cobra.ExactArgs(1))
	}
	command.Flags().StringVar(&workflow, "workflow", "", "the run's workflow, if the run id is not unique")
	return p.JSONFlag(command)
}

func (p *program) showCommand() *cobra.Command {
	return p.Look(p.onRun(&cobra.Command{Use: "show RUN", Short: "Show what a run did; explain RUN says why, cancel RUN ends it",
		Long: "Show what a run did, and where it stands. RUN is a run of a workflow or of the agent: its id, any beginning that only\n" +
			"one run has, @last for the one that was started last, or @last:NAME for the last one of a workflow."},
		func(ctx context.Context, a *app.App, run app.Run, _ []string) error {
			if run.Kind == app.OfAgent {
				return agents.Show(p.Program, a, run.RunID)
			}
			return states.Show(ctx, p.Program, a, run.Key())
		}))
}

func (p *program) explainCommand() *cobra.Command {
	return p.Look(p.onRun(&cobra.Command{Use: "explain RUN [STEP]", Short: "Explain where a run stands, or why a step was done, skipped or failed",
		Long: "Explain where a run stands; or about a step each condition with the values that it reads, and why it was skipped or\n" +
			"failed. Of a run of the agent, why its model took a step, and what came of it.",
		Args: cli.Positional(cobra.RangeArgs(1, 2))},
		func(ctx context.Context, a *app.App, run app.Run, rest []string) error {
			if run.Kind == app.OfAgent {
				return agents.Explain(p.Program, a, run.RunID, strings.Join(rest, ""))
			}
			return states.Explain(ctx, p.Program, a, run.Key(), strings.Join(rest, ""))
		}))
}

func (p *program) verifyCommand() *cobra.Command {
	var want states.Verification
	var workflow string
	command := &cobra.Command{Use: "verify RUN", Short: "Check a run against its record, and say what that proves", Args: cli.Positional(cobra.ExactArgs(1)),
		Long: "Replay a run of a workflow, and compare every state and instruction with its\n" +
			"record. It counts what Savant saw itself (gateway), what a person gave, and what\n" +
			"only the client vouches for (self). Of a run of the agent it checks the journal.\n" +
			"It also computes again what the rules decided about the run's calls. RUN may be\n" +
			"another session of savant rules status. Exit code 3 if anything differs.\n\n" +
			"With --against the answers go through another version of the workflow.",
		RunE: p.OnLook(func(ctx context.Context, a *app.App, args []string) error {
			run, err := a.FindRun(ctx, workflow, args[0], app.OfWorkflow, app.OfAgent)
			switch {
			case errors.Is(err, fault.UnknownRun) && want.Against == "":
				return states.VerifySession(p.Program, a, args[0], err)
			case err != nil:
				return err
			case run.Kind == app.OfWorkflow:
				if want.Differences, err = proofs.Differences(ctx, a, run.Key()); err != nil {
					return err
				}
				return states.Verify(ctx, p.Program, a, run.Key(), want)
			case want.Verbose || want.Against != "":
				return cli.UsageError("run " + run.RunID + " is of the agent: --against and --verbose are for runs of workflows")
			}
			return agents.Verify(ctx, p.Program, a, run.RunID)
		})}
	command.Flags().BoolVar(&want.Verbose, "verbose", false, "list each step with the witness of its result")
	command.Flags().StringVar(&want.Against, "against", "", "another version of the run's workflow; - for stdin")
	command.Flags().StringVar(&workflow, "workflow", "", "the run's workflow, if the run id is not unique")
	return p.JSONFlag(command)
}

func (p *program) cancelCommand() *cobra.Command {
	var reason string
	command := p.onRun(&cobra.Command{Use: "cancel RUN", Short: "End a run of any process, and keep its records",
		Long: "End a run that should not continue, also while another process drives it or a\n" +
			"person is asked. A running call is stopped, what was done stays, and a late answer\n" +
			"is refused with your name and the reason. A cancelled run of a workflow cannot be\n" +
			"reset: savant state fork starts a new run with its answers.",
		Example: "  savant cancel 01k2… --reason 'the branch is gone'"},
		func(ctx context.Context, a *app.App, run app.Run, _ []string) error {
			if run.Kind == app.OfWorkflow {
				return states.Cancel(ctx, p.Program, a, run.Key(), reason)
			}
			if reason != "" {
				return cli.UsageError("run " + run.RunID + " is of the agent: --reason is for runs of workflows")
			}
			return agents.Cancel(p.Program, a, run.RunID)
		})
	command.Flags().StringVar(&reason, "reason", "", "why, in a sentence")
	return command
}

func (p *program) traceCommand() *cobra.Command {
	return p.JSONFlag(&cobra.Command{Use: "trace RUN", Short: "Print the events of a run", Args: cli.Positional(cobra.ExactArgs(1)),
		Long: "Print the events of a run, of the agent or of a workflow, a line each; with --json as they are in the trace. Events\n" +
			"that rotated out of the trace are missing.",
		RunE: p.OnLook(func(ctx context.Context, a *app.App, args []string) error {
			run, unknown := a.FindRun(ctx, "", args[0], app.OfWorkflow, app.OfAgent)
			if unknown != nil && !errors.Is(unknown, fault.UnknownRun) {
				return unknown
			}
			traced, err := agents.Trace(p.Program, a, cmp.Or(run.RunID, args[0])) // the trace has deleted runs, too
			if err == nil && !traced {
				return unknown
			}
			return err
		})})
}
