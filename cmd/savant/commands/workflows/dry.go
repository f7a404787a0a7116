package workflows

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"savant/cmd/savant/app"
	"savant/cmd/savant/cli"
	"savant/cmd/savant/terminal"
	"savant/fault"
	"savant/think/cases"
)

func (p *program) dryCommand() *cobra.Command {
	var want requestedRun
	var answers string
	command := &cobra.Command{Use: "dry NAME", Short: "Show the instructions of a run without a run",
		Long: "Show what a run would issue, without a run: nothing is called, nobody is asked, nothing is written. --answers is a file of\n" +
			"answers by step, as in a case. Where a result is not known, both ways on are shown with their condition.",
		Example: "  savant workflows dry release --param version=1.4.0 --answers answers.yaml",
		Args:    cli.Positional(cobra.ExactArgs(1)),
		RunE: p.OnLook(func(ctx context.Context, a *app.App, args []string) error {
			want.name = args[0]
			made, err := p.dryRun(ctx, a, want, answers)
			if err != nil {
				return p.withParameters(err, want.name)
			}
			if p.JSON {
				return p.Print(made)
			}
			p.printDry(made)
			return nil
		})}
	flags := command.Flags()
	flags.StringArrayVar(&want.pairs, "param", nil, "a parameter, name=value: text, or JSON where the parameter is not text; may be repeated")
	flags.StringVar(&want.params, "params", "", "the parameters as JSON, @FILE to read them from a file, - from stdin")
	flags.StringVar(&answers, "answers", "", "a file of answers by step, as in a case")
	return p.JSONFlag(command)
}

func (p *program) dryRun(ctx context.Context, a *app.App, want requestedRun, file string) (*cases.Dry, error) {
	graph, err := a.Think.Library.Graph(want.name)
	if err == nil {
		err = app.Valid(ctx, a.Think, want.name)
	}
	if err != nil {
		return nil, err
	}
	params, err := p.params(ctx, a, want)
	if err != nil {
		return nil, err
	}
	var answers map[string]any
	if file != "" {
		text, err := p.Read("--answers", file, maxCases)
		if err != nil {
			return nil, err
		}
		if answers, err = cases.ReadAnswers(file, text, graph); err != nil {
			return nil, err
		}
	}
	return cases.DryRun(graph, params, answers)
}

// maxInput bounds what is shown of an input, in bytes.
const maxInput = 160

func (p *program) printDry(made *cases.Dry) {
	wide := 0
	for _, each := range made.Steps {
		wide = max(wide, len(each.StepID))
	}
	for _, each := range made.Steps {
		line := fmt.Sprintf("%-*s  %s: %s", wide, each.StepID, each.Call, dryState(each))
		fmt.Fprintln(p.Stdout, terminal.Visible(line))
		say := func(format string, args ...any) {
			fmt.Fprintf(p.Stdout, "%*s  %s\n", wide, "", terminal.Visible(fmt.Sprintf(format, args...)))
		}
		if each.Input != nil {
			say("  input %s", fault.Cut(cases.InJSON(each.Input), maxInput))
		}
		if each.Foreach != "" && each.Status == cases.Possible {
			say("  for each of %s", each.Foreach)
		}
		for _, condition := range each.If {
			if condition.Step == each.StepID {
				say("  if %s", condition.That)
			} else {
				say("  if %s: %s", condition.Step, condition.That)
			}
		}
		for _, branch := range each.Branches {
			what := "next " + strings.Join(branch.Steps, ", ")
			if branch.Skipped {
				what = "without " + strings.Join(branch.Steps, ", ")
			}
			if len(branch.Steps) == 0 {
				what = ""
			}
			say("  %s → %s", branch.If, strings.TrimPrefix(what+"; "+branch.Then, "; "))
		}
	}
	outcome := map[string]string{"open": "open: no result is known of " + strings.Join(made.Unknown, ", ")}[made.Outcome]
	fmt.Fprintf(p.Stdout, "outcome %s\n", terminal.Visible(strings.TrimSuffix(cmp.Or(outcome, made.Outcome)+": "+made.Reason, ": ")))
}

// dryState says in words where a step stands.
func dryState(step cases.DryStep) string {
	switch {
	case step.Status == cases.Waits:
		return "issued; the " + step.By + "'s answer is not known"
	case step.Status == cases.Possible && step.By == "savant":
		return "decided by Savant"
	case step.Status == cases.Possible:
		return "may be issued"
	case step.Cause != "":
		return step.Status + " (" + step.Cause + ")"
	}
	return step.Status
}
