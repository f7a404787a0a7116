package workflows

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"savant/cmd/savant/app"
	"savant/cmd/savant/cli"
	"savant/cmd/savant/terminal"
	"savant/fault"
	"savant/think/cases"
	"savant/think/flow"
)

// testOptions are the flags of savant workflows test.
type testOptions struct {
	only, format    string
	coverage, watch bool
	mutate, update  bool
	min, atMost     int
}

func (p *program) testCommand() *cobra.Command {
	o := testOptions{min: -1}
	command := &cobra.Command{Use: "test [NAME…]", Short: "Run the cases of workflows: NAME.cases.yaml beside NAME.yaml",
		Long: "Run the cases of workflows: workflows/NAME.cases.yaml, and NAME.WORD.cases.yaml, beside NAME.yaml.\n" +
			"A case gives parameters and answers, and says what the run comes to. No tool is called, nobody is asked,\n" +
			"and nothing is written. Exit code 1 if a case fails or --min is missed, 3 if a file is not valid.",
		Example: "  savant workflows test\n  savant workflows test release --coverage --min 90",
		RunE: p.OnLook(func(ctx context.Context, a *app.App, names []string) error {
			return p.test(ctx, a, names, o)
		})}
	flags := command.Flags()
	flags.StringVar(&o.only, "only", "", "run one case by its name")
	flags.StringVar(&o.format, "format", "text", "how results are printed: text, json, junit or github")
	flags.BoolVar(&o.coverage, "coverage", false, "list what no case reaches")
	flags.IntVar(&o.min, "min", -1, "fail below this coverage in percent")
	flags.BoolVar(&o.mutate, "mutate", false, "change the workflow in one place after the other, and list the changes that no case notices")
	flags.IntVar(&o.atMost, "at-most", 0, "make at most so many changes of a workflow; 0: all")
	flags.BoolVar(&o.update, "update", false, "rewrite what the cases expect to what the runs come to, and show the difference")
	flags.BoolVar(&o.watch, "watch", false, "run again when a file changes")
	return p.JSONFlag(command)
}

// tested is the output of test --json.
type tested struct {
	Files    []testedFile   `json:"files"`
	Passed   int            `json:"passed"`
	Failed   int            `json:"failed"`
	Coverage testedCoverage `json:"coverage"`
	Mutants  []cases.Mutant `json:"mutants,omitempty"`
}

type testedFile struct {
	File     string             `json:"file"`
	Workflow string             `json:"workflow"`
	Cases    []cases.Result     `json:"cases"`
	Errors   []fault.Diagnostic `json:"errors"`
}

type testedCoverage struct {
	Percent int               `json:"percent"`
	Missing []cases.Uncovered `json:"missing"`
}

func (p *program) test(ctx context.Context, a *app.App, names []string, o testOptions) error {
	if p.JSON && o.format == "text" {
		o.format = "json"
	}
	if err := cli.Choice("--format", o.format, "text", "json", "junit", "github"); err != nil {
		return err
	}
	if p.JSON && o.format != "json" {
		return cli.UsageError("--format " + o.format + ": expected json beside --json, which is the same")
	}
	if o.min > 100 || o.min < -1 {
		return cli.UsageError(fmt.Sprintf("--min %d: expected a percentage from 0 to 100", o.min))
	}
	if o.update && (o.watch || o.mutate) {
		return cli.UsageError("--update: leave out --watch and --mutate")
	}
	if o.update {
		if err := p.updateCases(ctx, a, names, o); err != nil {
			return err
		}
	}
	if !o.watch {
		return p.testOnce(ctx, a, names, o)
	}
	report := func() {
		if err := p.testOnce(ctx, a, names, o); err != nil {
			p.Report(err)
		}
	}
	report()
	return a.Think.Library.Watch(ctx, func([]string) { report() })
}

func (p *program) testOnce(ctx context.Context, a *app.App, names []string, o testOptions) error {
	workflows, err := a.Tested(ctx, names)
	if err != nil {
		return err
	}
	out := runCases(workflows, o.only)
	broken := slices.ContainsFunc(out.Files, func(f testedFile) bool { return len(f.Errors) > 0 })
	if o.only != "" && out.Passed+out.Failed == 0 && !broken {
		return fault.New(fault.InvalidParams, "no case is named %q", fault.Cut(o.only, 100))
	}
	if o.mutate && out.Failed == 0 {
		out.Mutants = mutants(a, workflows, o.atMost)
	}
	p.JSON = p.JSON || o.format == "json"
	switch o.format {
	case "json":
		err = p.Print(out)
	case "junit":
		err = out.writeJUnit(p.Stdout)
	case "github":
		terminal.GitHub(p.Stdout, out.findings())
	default:
		p.printTested(out, o)
	}
	switch {
	case err != nil:
		return err
	case broken:
		return cli.StatusError(cli.ExitInvalid)
	case out.Failed > 0 || out.Coverage.Percent < o.min:
		return cli.StatusError(cli.ExitFailed)
	}
	return nil
}

// runCases runs the cases of workflows; only one of a name if only is not empty.
func runCases(workflows []app.TestedWorkflow, only string) tested {
	out := tested{Files: []testedFile{}}
	whole := cases.Coverage{Missing: []cases.Uncovered{}}
	for _, workflow := range workflows {
		reached, excuses := cases.Points{}, []cases.Excuse{}
		for _, file := range workflow.Files {
			shown := testedFile{File: file.Name, Workflow: workflow.Name, Cases: []cases.Result{}, Errors: workflow.Problems(file)}
			excuses = append(excuses, file.Excuses...)
			if len(shown.Errors) == 0 {
				shown.Cases = workflow.Run(file, only)
			}
			for _, each := range shown.Cases {
				maps.Copy(reached, each.Reached)
				if each.Status == cases.Passed {
					out.Passed++
				} else {
					out.Failed++
				}
			}
			out.Files = append(out.Files, shown)
		}
		if workflow.Graph != nil {
			coverage := cases.Cover(workflow.Graph, reached, excuses)
			whole.Points, whole.Missing = whole.Points+coverage.Points, append(whole.Missing, coverage.Missing...)
		}
	}
	out.Coverage = testedCoverage{whole.Percent(), whole.Missing}
	return out
}

// mutants changes the workflows whose files are valid.
func mutants(a *app.App, workflows []app.TestedWorkflow, atMost int) []cases.Mutant {
	all := []cases.Mutant{}
	for _, each := range workflows {
		var files []*cases.File
		for _, file := range each.Files {
			if len(each.Problems(file)) == 0 {
				files = append(files, file.File)
			}
		}
		if len(files) == 0 {
			continue
		}
		all = append(all, cases.Mutate(each.Graph, files, atMost, func(src []byte) (*flow.Graph, error) {
			workflow, err := a.Think.Library.Parse(each.Graph.Workflow.File, src)
			if err != nil {
				return nil, err
			}
			return a.Think.Library.Compile(workflow)
		})...)
	}
	return all
}

// findings returns errors and differences as diagnostics in the order of the files.
func (t tested) findings() (all []fault.Diagnostic) {
	for _, file := range t.Files {
		all = append(all, file.Errors...)
		for _, each := range file.Cases {
			for _, d := range each.Differences {
				all = append(all, fault.Diagnostic{File: file.File, Line: d.Line, Column: 1, Path: d.Path, Code: fault.ValidationFailed, Message: each.Name + ": " + d.String()})
			}
		}
	}
	return all
}

func (p *program) printTested(out tested, o testOptions) {
	if len(out.Files) == 0 {
		fmt.Fprintln(p.Stdout, "There are no cases: write workflows/NAME.cases.yaml beside a workflow.")
		return
	}
	for _, file := range out.Files {
		for _, each := range file.Errors {
			fmt.Fprintln(p.Stdout, terminal.DiagnosticLine(each, each.Code))
		}
		for _, each := range file.Cases {
			if each.Status == cases.Passed {
				continue
			}
			fmt.Fprintf(p.Stdout, "%s:%d: %s\n", file.File, each.Line, terminal.Visible(each.Name))
			for _, d := range each.Differences {
				p.printDifference(d)
			}
		}
	}
	fmt.Fprintf(p.Stdout, "%d passed, %d failed, %d %% of the points covered\n", out.Passed, out.Failed, out.Coverage.Percent)
	if o.coverage || out.Coverage.Percent < o.min {
		for _, each := range out.Coverage.Missing {
			fmt.Fprintf(p.Stdout, "  %s:%d: %s: no case reaches %s\n", each.File, each.Line, each.Step, each.Kind)
		}
	}
	switch {
	case out.Mutants != nil:
		p.printMutants(out.Mutants)
	case o.mutate:
		fmt.Fprintln(p.Stdout, "No change was tried: all cases must pass first.")
	}
}

// printMutants lists the changes that no case notices.
func (p *program) printMutants(mutants []cases.Mutant) {
	noticed := 0
	for _, each := range mutants {
		if each.KilledBy != "" {
			noticed++
			continue
		}
		to := "left out"
		if each.To != nil {
			to = cases.InJSON(each.To)
		}
		fmt.Fprintf(p.Stdout, "  %s:%d: %s: no case notices the %s %s %s as %s\n", each.File, each.Line, terminal.Visible(cmp.Or(each.Step, "outputs")), each.Kind, terminal.Visible(each.Key()), cases.InJSON(each.From), to)
	}
	fmt.Fprintf(p.Stdout, "%d of %d changes noticed\n", noticed, len(mutants))
}

func (p *program) printDifference(d cases.Difference) {
	fmt.Fprintln(p.Stdout, strings.TrimSuffix(fmt.Sprintf("  line %d, %s: %s", d.Line, terminal.Visible(d.Path), terminal.Visible(d.Message)), ": "))
	if d.Expected != nil {
		fmt.Fprintln(p.Stdout, "    expected", terminal.Visible(cases.InJSON(d.Expected)))
	}
	if d.Seen != nil {
		fmt.Fprintln(p.Stdout, "    seen    ", terminal.Visible(cases.InJSON(d.Seen)))
	}
}
