package states

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"savant/cmd/savant/app"
	"savant/cmd/savant/cli"
	"savant/cmd/savant/terminal"
	"savant/engines"
	"savant/fault"
	"savant/think"
	"savant/think/flow"
	"savant/think/form"
	"savant/think/state"
)

// Explain prints where a run stands; of a step, each condition that decided about it.
func Explain(ctx context.Context, p *cli.Program, a *app.App, key state.Key, step string) error {
	if step == "" {
		found, err := a.Think.ExplainRun(ctx, key.Workflow, key.Run)
		if err != nil {
			return err
		}
		refusals, err := a.RuleKeeper().RefusedIn(engines.Call{}, found.Workflow, found.RunID)
		if found.Ruled(refusals); err != nil || p.JSON {
			return p.Printed(found, err)
		}
		_, err = fmt.Fprintln(p.Stdout, terminal.Content(asCommands(found)))
		return err
	}
	found, err := a.Think.Explain(ctx, think.ExplainInput{Workflow: key.Workflow, RunID: key.Run, StepID: step})
	if err != nil || p.JSON {
		return p.Printed(think.StepExplanation{RunID: key.Run, Explanation: found}, err)
	}
	said := string(found.Status)
	if found.Cause != "" {
		said += ": " + think.Cause(found.Cause)
	}
	fmt.Fprintf(p.Stdout, "step %s, %s: %s\n", terminal.Visible(found.StepID), terminal.Visible(found.Call), terminal.Visible(said))
	for _, each := range found.Why {
		fmt.Fprintf(p.Stdout, "  %s\n", terminal.Visible(conditionLine(each)))
		for _, name := range slices.Sorted(maps.Keys(each.Operands)) {
			fmt.Fprintf(p.Stdout, "    %s = %s\n", terminal.Visible(name), terminal.Visible(valueText(each.Operands[name])))
		}
	}
	if found.File != "" {
		fmt.Fprintf(p.Stdout, "  at %s:%d\n", terminal.Visible(found.File), found.Line)
	}
	return nil
}

// asCommands is the text of an explanation with the commands that a person types, in the
// place of the calls that a model makes.
func asCommands(x *think.RunExplanation) string {
	pairs := []string{"think.state.get shows", "savant state get " + x.RunID + " shows", "think.debug {run_id, action: fork, adopt: true}", "savant state fork " + x.RunID + " --adopt",
		"To go on, do what the instruction says and answer with think.next.", "To go on: savant workflows run " + x.Workflow + " --run-id " + x.RunID,
		"Only a person can continue it.", "To answer it: savant approve " + x.RunID}
	for _, each := range x.Failed {
		pairs = append(pairs, flow.Reopen(x.RunID, each.StepID, true), "savant state reset "+x.RunID+" "+each.StepID+" --force")
	}
	return strings.NewReplacer(pairs...).Replace(x.Text)
}

// conditionLine is a condition in one line: its kind, what it says, and what came of it.
func conditionLine(c flow.Condition) string {
	line := c.Kind
	for _, text := range []string{c.Step, c.Expression} {
		if text != "" {
			line += " " + text
		}
	}
	if c.Value != nil {
		line += " → " + valueText(c.Value)
	}
	if c.Status != "" {
		line += ": " + string(c.Status)
	}
	if c.Cause != "" {
		line += ", " + think.Cause(c.Cause)
	}
	if c.Message != "" {
		line += ": " + c.Message
	}
	return line
}

// valueText is a value of a condition as JSON on one line, or the beginning of it.
func valueText(value any) string {
	switch value := value.(type) {
	case flow.Beginning:
		return string(value)
	case fault.Code:
		return string(value)
	}
	return form.Encoded(value)
}
