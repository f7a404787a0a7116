package states

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"savant/cmd/savant/app"
	"savant/cmd/savant/cli"
	"savant/cmd/savant/terminal"
	"savant/rules/sessions"
	"savant/think"
	"savant/think/audit"
	"savant/think/state"
)

// maxAgainst bounds how much of the workflow file verify reads, in bytes; the parser
// refuses such a long file.
const maxAgainst = 8 << 20

// Verification is how a run is verified.
type Verification struct {
	// Against is another version of the workflow; "": the run is replayed.
	Against string
	// Verbose lists the witness of each result.
	Verbose bool
	// Differences are where hooks and the gateway do not tell the same.
	Differences []string
}

// Verify replays a run, and prints whether it is the same as its record.
func Verify(ctx context.Context, shared *cli.Program, a *app.App, key state.Key, how Verification) error {
	p := &program{shared}
	if how.Against != "" {
		return p.verifyAgainst(ctx, a, key, how.Against)
	}
	return p.verify(ctx, a, key, how)
}

func (p *program) verify(ctx context.Context, a *app.App, key state.Key, how Verification) error {
	out, err := audit.New(a.Think).Debug(ctx, audit.DebugInput{Action: "replay", Workflow: key.Workflow, RunID: key.Run})
	if err != nil {
		return err
	}
	calls, err := a.RuleKeeper().Verify(func(session string) bool { return session == "run "+key.Workflow+" "+key.Run }, key.String())
	if err != nil {
		return err
	}
	if p.JSON {
		return cmp.Or(verdict(p.Print(withCalls{out, calls, how.Differences}), out.Difference), CallsVerdict(calls))
	}
	if how.Verbose {
		if err := p.printWitnesses(out.Log); err != nil {
			return err
		}
	}
	if out.Difference == nil {
		fmt.Fprintf(p.Stdout, "%s: %s, %s%s\n%s", key.Run, terminal.Count(out.To, "record"), out.Verdict, sumOfWitnesses(out.Log)+sumOfRefusals(out.Log), imported(out.Imported))
	} else {
		p.printDifference(key, out.Difference)
	}
	for _, each := range how.Differences {
		fmt.Fprintln(p.Stdout, terminal.Visible(each))
	}
	return cmp.Or(PrintCalls(p.Program, calls), verdict(nil, out.Difference))
}

// withCalls is the output of verify --json.
type withCalls struct {
	*audit.DebugOutput
	Calls       []sessions.Verified `json:"calls,omitempty"`
	Differences []string            `json:"differences,omitempty"`
}

// VerifySession verifies the decisions about the calls of a session that belongs to no run of
// a workflow. If no session has the name, it returns unknown.
func VerifySession(p *cli.Program, a *app.App, name string, unknown error) error {
	calls, err := a.RuleKeeper().Verify(func(session string) bool { return session == name || strings.HasSuffix(session, " "+name) }, "")
	if err == nil && len(calls) == 0 {
		err = unknown
	}
	if err != nil {
		return err
	}
	if p.JSON {
		return cmp.Or(p.Print(map[string]any{"calls": calls}), CallsVerdict(calls))
	}
	return PrintCalls(p, calls)
}

// PrintCalls prints what came of the decisions about calls; exit code 3 if one differs.
func PrintCalls(p *cli.Program, calls []sessions.Verified) error {
	for _, each := range calls {
		fmt.Fprintf(p.Stdout, "rules, %s: %s, %d refused", terminal.Visible(each.Session), terminal.Count(each.Decisions, "decision"), each.Refused)
		if d := each.Difference; d != nil {
			fmt.Fprintf(p.Stdout, ": differs at record %d, %s\n  recorded %s\n  computed %s\n", d.Record, terminal.Visible(d.Tool), terminal.Visible(d.Recorded), terminal.Visible(d.Computed))
			continue
		}
		fmt.Fprintln(p.Stdout, ", identical")
	}
	return CallsVerdict(calls)
}

// CallsVerdict is exit code 3 if a decision about a call differs.
func CallsVerdict(calls []sessions.Verified) error {
	if slices.ContainsFunc(calls, func(each sessions.Verified) bool { return each.Difference != nil }) {
		return cli.StatusError(cli.ExitInvalid)
	}
	return nil
}

// printWitnesses lists the witness of each step's result.
func (p *program) printWitnesses(log []think.Event) error {
	seen := slices.DeleteFunc(slices.Clone(log), func(each think.Event) bool { return each.Witness == "" })
	return terminal.Table(p.Stdout, []string{"VERSION", "STEP", "SEEN BY"}, seen, func(each think.Event) []string {
		return []string{fmt.Sprintf("v%d", each.Version), each.Step, witnessed(each)}
	})
}

// sumOfWitnesses counts results by witness, and those whose witness is only claimed.
func sumOfWitnesses(log []think.Event) string {
	witness := func(each think.Event) string {
		if each.Claimed && each.Witness != "" {
			return "claimed"
		}
		return each.Witness
	}
	if counted := count(log, witness); counted != "" {
		return "; witness " + counted
	}
	return ""
}

// sumOfRefusals counts the calls that the gate refused.
func sumOfRefusals(log []think.Event) string {
	refused := 0
	for _, each := range log {
		if each.Refusal != nil {
			refused += each.Refusal.Count()
		}
	}
	if refused == 0 {
		return ""
	}
	return fmt.Sprintf("; refused %d", refused)
}

// imported returns a line that says up to which version a run was imported; "" for
// other runs.
func imported(version int) string {
	if version == 0 {
		return ""
	}
	return fmt.Sprintf("  imported at v%d: Savant here did not see the witnesses and approvals up to there\n", version)
}

// witnessed formats a witness: "witness gateway, receipt …".
func witnessed(each think.Event) string {
	text := "witness " + each.Witness
	if each.Receipt != "" {
		text += ", receipt " + each.Receipt
	}
	if each.Claimed {
		text += ", claimed"
	}
	return text
}

func (p *program) verifyAgainst(ctx context.Context, a *app.App, key state.Key, file string) error {
	source, err := p.ReadFile(file, maxAgainst)
	if err != nil {
		return err
	}
	out, err := audit.New(a.Think).WhatIf(ctx, key.Workflow, key.Run, source)
	if err != nil {
		return err
	}
	if p.JSON {
		return verdict(p.Print(out), out.Difference)
	}
	if out.Difference == nil {
		fmt.Fprintf(p.Stdout, "%s: %s, %s under %s\n", key.Run, terminal.Count(out.Answers, "answer"), out.Verdict, terminal.Visible(file))
	} else {
		p.printDifference(key, out.Difference)
	}
	return verdict(nil, out.Difference)
}

// verdict returns exit code 3 for a difference, or err if it could not be printed.
func verdict(err error, found *think.Difference) error {
	if err == nil && found != nil {
		return cli.StatusError(cli.ExitInvalid)
	}
	return err
}

func (p *program) printDifference(key state.Key, d *think.Difference) {
	where := fmt.Sprintf("record %d", d.Version)
	if d.Step != "" {
		where += fmt.Sprintf(", step %q", d.Step)
	}
	fmt.Fprintf(p.Stdout, "%s: differs at %s\n  recorded %s\n  replayed %s\n", key.Run, terminal.Visible(where), terminal.Visible(d.Recorded), terminal.Visible(d.Replayed))
}
