package states

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"savant/cmd/savant/app"
	"savant/cmd/savant/cli"
	"savant/cmd/savant/terminal"
	"savant/think"
	"savant/think/flow"
	"savant/think/state"
)

// runCommand is a command that reads one run. A run with a unique id can be named
// without its workflow.
func (p *program) runCommand(use, short string, work func(context.Context, *app.App, state.Key) error) *cobra.Command {
	return p.Look(p.changeCommand(&cobra.Command{Use: use + " RUN", Short: short, Args: cli.Positional(cobra.ExactArgs(1))},
		func(ctx context.Context, a *app.App, key state.Key, _ []string) error { return work(ctx, a, key) }))
}

// Show prints the status of a run.
func Show(ctx context.Context, shared *cli.Program, a *app.App, key state.Key) error {
	p := &program{shared}
	found, err := a.Think.StateGet(ctx, think.StateGetInput{Workflow: key.Workflow, RunID: key.Run, Limit: -1})
	if err != nil || p.JSON {
		return p.Printed(found, err)
	}
	return p.showRun(found, a.StandingOf(ctx, state.Info{Workflow: key.Workflow, Run: key.Run, Status: string(found.Snapshot.Status)}))
}

func (p *program) showRun(found *think.StateGet, standing app.Standing) error {
	now := time.Now()
	snapshot := found.Snapshot
	var rows [][]string
	row := func(cells ...string) { rows = append(rows, cells) }
	row("run", snapshot.RunID)
	drift := ""
	if found.Drift {
		drift = "; its file has changed since"
	}
	row("workflow", snapshot.Workflow+" "+snapshot.Release+drift)
	row("status", fmt.Sprintf("%s, v%d", standing, snapshot.Version))
	if count := len(found.History); count > 0 {
		row("began", terminal.When(found.History[0].Time, now))
		row("changed", terminal.When(found.History[count-1].Time, now))
	}
	if snapshot.Error != nil {
		row("because", snapshot.Error.Error())
		row("to go on", think.WayOut(snapshot.RunID, snapshot.Error))
	}
	if snapshot.Cancelled != nil {
		row("because", snapshot.Cancelled.String())
		row("to go on", "savant state fork "+snapshot.RunID)
	}
	if len(found.Outstanding) > 0 {
		row("stands at", strings.Join(found.Outstanding, ", "))
	}
	row("steps", count(snapshot.Steps, func(each flow.StepStatus) string { return string(each.Status) }))
	for i, each := range snapshot.Steps {
		switch {
		case each.Status == flow.Skipped:
			row("skipped", each.ID+": "+think.Cause(each.Cause))
		case each.Status == flow.Failed:
			first, rest, _ := strings.Cut(whyFailed(each, snapshot.Steps[i+1:]), "\n")
			if rest != "" {
				first += " … (all of it: savant explain " + snapshot.RunID + " " + each.ID + ")"
			}
			row("failed", each.ID+": "+first)
		}
	}
	if seen := count(snapshot.Steps, func(each flow.StepStatus) string { return each.Witness }); seen != "" {
		row("witness", seen)
	}
	if found.Refused > 0 {
		row("refused", refusedCalls(found.Refused))
	}
	if found.Imported > 0 {
		row("imported", fmt.Sprintf("at v%d; Savant here did not see the witnesses and approvals up to there", found.Imported))
	}
	for _, each := range found.Checkpoints {
		row("checkpoint", fmt.Sprintf("%s, v%d", each.Name, each.Version))
	}
	if from := found.Lineage; from != nil {
		row("fork of", fmt.Sprintf("%s, v%d", from.Run, from.Version))
	}
	return terminal.Table(p.Stdout, nil, rows, slices.Clone[[]string])
}

// whyFailed returns code and cause of a failed step. A loop has those of its first failed
// item, which is among the steps after it.
func whyFailed(step flow.StepStatus, after []flow.StepStatus) string {
	if step.Code != "" {
		return step.Code + ": " + step.Details
	}
	for _, each := range after {
		if each.Code != "" && strings.HasPrefix(each.ID, step.ID+"_") {
			return each.Code + ": its item " + each.ID + ": " + each.Details
		}
	}
	return "an item of the loop failed"
}

// refusedCalls says how many calls the gate refused.
func refusedCalls(number int) string { return terminal.Count(number, "call") + " that were not issued" }

// count counts items by a non-empty word of each: "3 done, 1 issued".
func count[T any](items []T, word func(T) string) string {
	counts := map[string]int{}
	for _, each := range items {
		if said := word(each); said != "" {
			counts[said]++
		}
	}
	parts := make([]string, 0, len(counts))
	for _, said := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%d %s", counts[said], said))
	}
	return strings.Join(parts, ", ")
}

func (p *program) stateHistoryCommand() *cobra.Command {
	return p.runCommand("history", "List the records of a run", func(ctx context.Context, a *app.App, key state.Key) error {
		events, err := a.Keeper().History(ctx, key)
		if err != nil || p.JSON {
			return p.Printed(map[string]any{"workflow": key.Workflow, "run_id": key.Run, "history": events}, err)
		}
		now := time.Now()
		return terminal.Table(p.Stdout, []string{"VERSION", "TIME", "BY", "KIND", "STEP"}, events, func(each think.Event) []string {
			return []string{fmt.Sprintf("v%d", each.Version), terminal.When(each.Time, now), madeBy(each), each.Kind, eventText(each)}
		})
	})
}

// madeBy says who made a record, and what its client calls itself.
func madeBy(each think.Event) string {
	if each.Claims == "" {
		return each.By
	}
	return each.By + " (claims: " + each.Claims + ")"
}

// eventText is the text of a history line after its kind.
func eventText(each think.Event) string {
	text := each.Step
	if each.Attempt > 1 {
		text += fmt.Sprintf(" (attempt %d)", each.Attempt)
	}
	if each.To > 0 {
		text += fmt.Sprintf("to v%d", each.To)
	}
	if each.Kind == think.KindCancelled {
		text += (&flow.Cancellation{By: each.By, Reason: each.Reason}).String()
	}
	if each.Tool != "" {
		text += ": " + terminal.Visible(each.Tool)
	}
	if each.Approval > 0 {
		text += fmt.Sprintf(" (approval v%d)", each.Approval)
	}
	if refusal := each.Refusal; refusal != nil {
		text += ": " + terminal.Visible(refusal.Tool) + " (" + refusal.Why + ")"
		if refusal.Times > 1 {
			text += fmt.Sprintf(", %d times", refusal.Times)
		}
	}
	if each.Claimed && each.Witness == "" {
		text += " (claimed)"
	}
	if each.Refused != "" {
		text += ": " + string(each.Refused)
	}
	if each.Witness != "" {
		text += " (" + witnessed(each) + ")"
	}
	return text
}
