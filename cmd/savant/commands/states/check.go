package states

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"savant/cmd/savant/app"
	"savant/cmd/savant/cli"
	"savant/cmd/savant/terminal"
	"savant/fault"
	"savant/internal/ownfolder"
	"savant/think/maintenance"
	"savant/think/state"
)

// checkedRun is a run with problems.
type checkedRun struct {
	Workflow string                `json:"workflow"`
	Run      string                `json:"run_id"`
	Problems []state.Problem       `json:"problems"`
	Repaired *maintenance.Repaired `json:"repaired,omitempty"`
	// Refused is why nothing was repaired.
	Refused *fault.Error `json:"refused,omitempty"`
}

// checkReport is the output of savant state check.
type checkReport struct {
	Checked int          `json:"checked"`
	Damaged []checkedRun `json:"damaged"`
	// Remaining counts the runs that still have problems.
	Remaining int `json:"remaining"`
}

func (p *program) stateCheckCommand() *cobra.Command {
	var workflow string
	var all, repair bool
	command := &cobra.Command{Use: "check [RUN]", Short: "Verify the files of runs, and repair them",
		Long: "Verify every record, snapshot, checkpoint and artifact of a run, or of all runs.\n\n" +
			"With --repair a damaged run goes back to its last good version. The damaged files are kept in the trash,\n" +
			"and the command lists what was lost. Exit code 3 if something is still wrong.",
		Args: cli.Positional(cobra.MaximumNArgs(1)),
		RunE: func(command *cobra.Command, args []string) error {
			if all && len(args) > 0 {
				return cli.UsageError("name a run or pass --all, not both")
			}
			p.Open.Looking = !repair
			return p.With(command.Context(), func(a *app.App) error { return p.checkRuns(command.Context(), a, workflow, args, repair) })
		}}
	command.Flags().StringVar(&workflow, "workflow", "", "the run's workflow, if the run id is not unique")
	command.Flags().BoolVar(&all, "all", false, "check all runs, the default without RUN")
	command.Flags().BoolVar(&repair, "repair", false, "restore the last good version of what is damaged")
	return p.JSONFlag(command)
}

func (p *program) checkRuns(ctx context.Context, a *app.App, workflow string, args []string, repair bool) error {
	keys, err := runsToCheck(ctx, a, workflow, args)
	if err != nil {
		return err
	}
	out := checkReport{Damaged: []checkedRun{}}
	tell, end := terminal.ProgressOf(p.Stderr, p.Variable, "check")
	defer end()
	for i, key := range keys {
		tell(float64(i), float64(len(keys)), "checking runs")
		checked, err := checkRun(ctx, a, key, repair)
		if len(args) == 0 && fault.From(err) != nil && fault.From(err).Code == fault.UnknownRun {
			continue // a name without a record is no run
		}
		if err != nil {
			return err
		}
		out.Checked++
		if len(checked.Problems) == 0 {
			continue
		}
		out.Damaged = append(out.Damaged, checked)
		if checked.Repaired == nil || len(checked.Repaired.Remaining) > 0 {
			out.Remaining++
		}
	}
	end()
	if p.JSON {
		err = p.Print(out)
	} else {
		p.printCheck(out)
	}
	if err == nil && out.Remaining > 0 {
		return cli.StatusError(cli.ExitInvalid)
	}
	return err
}

func runsToCheck(ctx context.Context, a *app.App, workflow string, args []string) ([]state.Key, error) {
	if len(args) > 0 {
		run, err := a.FindRun(ctx, workflow, args[0], app.OfWorkflow)
		return []state.Key{run.Key()}, err
	}
	keys, err := a.Store.Keys(ctx)
	if workflow == "" {
		return keys, err
	}
	return slices.DeleteFunc(keys, func(key state.Key) bool { return key.Workflow != workflow }), err
}

func checkRun(ctx context.Context, a *app.App, key state.Key, repair bool) (checkedRun, error) {
	out := checkedRun{Workflow: key.Workflow, Run: key.Run}
	problems, err := a.Keeper().Check(ctx, key)
	out.Problems = problems
	if coded := fault.From(err); coded != nil && (coded.Code == fault.Internal || ownfolder.Displaced(err)) {
		// This need not be damage: nothing is repaired, and other runs are checked.
		out.Problems = append(out.Problems, state.Problem{File: key.Workflow + "/" + key.Run, Message: coded.Message(), Blocking: true})
		out.Refused = fault.New(fault.Internal, "make the file readable first")
		return out, nil
	}
	if err != nil || len(problems) == 0 || !repair {
		return out, err
	}
	out.Repaired, err = a.Keeper().Repair(ctx, key)
	if coded := fault.From(err); coded != nil && (coded.Code == fault.StateCorrupt || coded.Code == fault.Internal || ownfolder.Displaced(err)) {
		out.Refused = coded
		return out, nil
	}
	return out, err
}

func (p *program) printCheck(out checkReport) {
	for _, each := range out.Damaged {
		fmt.Fprintf(p.Stdout, "%s/%s:\n", each.Workflow, each.Run)
		for _, problem := range each.Problems {
			fmt.Fprintln(p.Stdout, "  "+problemLine(problem))
		}
		if each.Refused != nil {
			fmt.Fprintln(p.Stdout, "  not repaired: "+terminal.Visible(each.Refused.Details))
		}
		if each.Repaired != nil {
			p.printRepaired(each.Repaired)
		}
	}
	fmt.Fprintf(p.Stdout, "%s checked, %d damaged, %d still damaged\n", terminal.Count(out.Checked, "run"), len(out.Damaged), out.Remaining)
}

func problemLine(problem state.Problem) string {
	return terminal.Visible(problem.File + ": " + strings.ReplaceAll(problem.Message, problem.File+": ", ""))
}

func (p *program) printRepaired(done *maintenance.Repaired) {
	line := func(format string, args ...any) {
		fmt.Fprintln(p.Stdout, "  "+terminal.Visible(fmt.Sprintf(format, args...)))
	}
	if done.Version == 0 {
		line("the run is lost: it has no complete record")
	} else {
		line("repaired: the run stands at v%d", done.Version)
	}
	for _, each := range done.Lost {
		line("lost: v%d, %s", each.Version, cmp.Or(strings.TrimSpace(each.Kind+" "+each.Step), "which cannot be read"))
	}
	if done.Unlisted > 0 {
		line("lost: %s, whose content is unknown", terminal.Count(done.Unlisted, "further record"))
	}
	for _, each := range done.Restored {
		line("made again: %s", each)
	}
	for _, each := range done.Kept {
		line("the damaged files are in %s", each)
	}
	for _, each := range done.Remaining {
		line("remains: %s", problemLine(each))
	}
}
