package rules

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"savant/cmd/savant/app"
	"savant/cmd/savant/cli"
	"savant/cmd/savant/terminal"
	"savant/fault"
	"savant/rules"
)

func (p *program) testCommand() *cobra.Command {
	var mutate bool
	command := &cobra.Command{Use: "test [FILE…]", Short: "Run the cases of rules",
		Long: "Run the cases of rules/NAME.cases.yaml against rules/NAME.yaml, or those of files. A rule that no case saw both allow and\n" +
			"refuse a call is named. Exit code 3 if a case does not go as expected.",
		Example: "  savant rules test\n  savant rules test rules/bank.cases.yaml --mutate",
		RunE:    p.OnLook(func(_ context.Context, a *app.App, files []string) error { return p.test(a, files, mutate) })}
	command.Flags().BoolVar(&mutate, "mutate", false, "leave out each part of a condition and each call that is evidence: exit code 3 where no case notices")
	return p.JSONFlag(command)
}

// testedRules is the output of test --json.
type testedRules struct {
	Cases    int                `json:"cases"`
	Failures []fault.Diagnostic `json:"failures"`
	Unseen   []fault.Diagnostic `json:"unseen"`
	Mutants  []fault.Diagnostic `json:"mutants,omitempty"`
}

func (p *program) test(a *app.App, files []string, mutate bool) error {
	folder := ""
	if len(files) == 0 {
		names, err := a.RuleFiles(true)
		if err != nil {
			return err
		}
		if len(names) == 0 {
			return fault.New(fault.InvalidParams, "there is no rules/NAME.cases.yaml in SAVANT_PATH: write one, or name a file of cases")
		}
		files, folder = names, a.Path
	}
	out := testedRules{Failures: []fault.Diagnostic{}, Unseen: []fault.Diagnostic{}}
	for _, file := range files {
		if err := p.testFile(folder, file, mutate, &out); err != nil {
			return err
		}
	}
	if p.JSON {
		if err := p.Print(out); err != nil {
			return err
		}
	} else {
		p.printTested(out)
	}
	if len(out.Failures)+len(out.Mutants) > 0 {
		return cli.StatusError(cli.ExitInvalid)
	}
	return nil
}

// testFile runs the cases of a file, whose name is relative to a folder.
func (p *program) testFile(folder, name string, mutate bool, out *testedRules) error {
	file := filepath.Join(folder, filepath.FromSlash(name))
	source, err := p.Read("FILE", file, maxCases)
	if err != nil {
		return err
	}
	cases, err := rules.ParseCases(filepath.ToSlash(name), source)
	if err != nil {
		return err
	}
	set, err := p.readRulesOf(file, cases.Path)
	if err != nil {
		return err
	}
	if at := slices.IndexFunc(cases.Cases, func(each rules.Case) bool { return each.File == nil }); at >= 0 && len(set.Files()) == 0 {
		return fault.New(fault.InvalidParams, "%s: case %q has no rules, and there is no NAME.yaml beside this NAME.cases.yaml", cases.Path, cases.Cases[at].Name)
	}
	coverage := rules.Coverage{}
	for _, each := range cases.Cases {
		out.Cases++
		seen := coverage
		if each.File != nil {
			seen = nil
		}
		out.Failures = append(out.Failures, each.Run(set, seen)...)
	}
	out.Unseen = append(out.Unseen, coverage.Unseen(set)...)
	if mutate {
		out.Mutants = append(out.Mutants, rules.Mutate(set, cases.Cases, cases.Path)...)
	}
	return nil
}

// maxCases bounds a file of cases, in bytes.
const maxCases = 4 << 20

// readRulesOf reads the rules that a file of cases is about, which is shown by a name: NAME.yaml of
// NAME.cases.yaml.
func (p *program) readRulesOf(file, shown string) (*rules.Set, error) {
	end := filepath.Ext(file)
	name, isCases := strings.CutSuffix(strings.TrimSuffix(file, end), ".cases")
	if !isCases {
		return rules.New(), nil
	}
	name += end
	if _, err := os.Stat(name); errors.Is(err, fs.ErrNotExist) {
		return rules.New(), nil
	}
	source, err := p.Read("FILE", name, maxCases)
	if err != nil {
		return nil, err
	}
	read, err := rules.Parse(path.Join(path.Dir(shown), filepath.Base(name)), source)
	if err != nil {
		return nil, err
	}
	return rules.New(read), nil
}

func (p *program) printTested(out testedRules) {
	for _, each := range slices.Concat(out.Failures, out.Unseen, out.Mutants) {
		fmt.Fprintln(p.Stdout, terminal.DiagnosticLine(each, each.Code))
	}
	fmt.Fprintf(p.Stdout, "%s, %s\n", terminal.Count(out.Cases, "case"), terminal.Count(len(out.Failures), "failure"))
}
