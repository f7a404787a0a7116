// Package rules holds the commands about rules: to list, check, explain and test them.
package rules

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"savant/cmd/savant/app"
	"savant/cmd/savant/cli"
	"savant/cmd/savant/commands/clients"
	"savant/cmd/savant/terminal"
	"savant/fault"
	"savant/internal/pattern"
	"savant/rules"
	"savant/rules/sessions"
)

// program is the command line in this package.
type program struct{ *cli.Program }

// Command is `savant rules`.
func Command(shared *cli.Program) *cobra.Command {
	p := &program{shared}
	return cli.Group("rules", "List, check, explain and test rules about calls", p.listCommand(), p.checkCommand(), p.explainCommand(), p.statusCommand(), p.testCommand(), p.tryCommand(), p.addCommand(), p.newCommand())
}

func cells(r rules.Row) []string {
	return []string{r.ID, fmt.Sprintf("%s:%d", r.File, r.Line), r.Calls(), r.Does(), r.Message}
}

func (p *program) listCommand() *cobra.Command {
	return p.listing("list", "List the rules of SAVANT_PATH", cobra.NoArgs)
}

func (p *program) explainCommand() *cobra.Command {
	return p.listing("explain TOOL", "List the rules about the calls of a tool", cobra.ExactArgs(1))
}

// listing lists all rules, or those about a tool.
func (p *program) listing(use, short string, takes cobra.PositionalArgs) *cobra.Command {
	return p.JSONFlag(&cobra.Command{Use: use, Short: short, Args: cli.Positional(takes), RunE: p.OnLook(func(_ context.Context, a *app.App, args []string) error {
		set, err := a.AllRules()
		if err != nil {
			return err
		}
		if len(args) == 0 {
			return p.print(set.All())
		}
		name, _ := sessions.ToolOf(set, args[0])
		tool, known := a.Tools.Resolve(name)
		if known {
			name = tool.Name
		}
		found := set.Guards(name)
		if len(found) == 0 && !p.JSON {
			hint := ""
			if !known {
				hint = fault.NearestHint(" Did you mean %s?", name, append(set.Spelled(), a.Tools.Names()...))
			}
			_, err := fmt.Fprintf(p.Stdout, "No rule is about %s.%s\n", terminal.Visible(name), terminal.Visible(hint))
			return err
		}
		return p.print(found)
	})})
}

// toolWitness says who sees the calls of a tool that a rule is about.
type toolWitness struct {
	Tool  string   `json:"tool"`
	By    string   `json:"seen_by"`
	Rules []string `json:"rules"`
}

func (s toolWitness) cells() []string { return []string{s.Tool, s.By, strings.Join(s.Rules, ", ")} }

// serverless is the client whose hooks do not say of which server a tool is.
const serverless = "Cursor"

// maxSessions bounds the sessions that status lists.
const maxSessions = 20

// hooksAlone says who sees the calls of a client's own tools, and of its other servers'. A
// client that does not say the server of a tool is no witness of all tools of one.
func hooksAlone(name string, hooked, blind []string) string {
	_, tool, ofServer := strings.Cut(name, ".")
	if at := slices.Index(hooked, serverless); at >= 0 && ofServer && strings.Trim(tool, "*") == "" {
		hooked, blind = slices.Delete(slices.Clone(hooked), at, at+1), append(slices.Clone(blind), serverless+", which does not say the server of a tool")
	} else if len(hooked) == 0 {
		return "nobody: no client here has hooks (savant setup)"
	}
	var by []string
	if len(hooked) > 0 {
		by = append(by, "the hooks of "+strings.Join(hooked, ", "))
	}
	if len(blind) > 0 {
		by = append(by, "nobody in "+strings.Join(blind, ", "))
	}
	return strings.Join(by, "; ")
}

func (p *program) statusCommand() *cobra.Command {
	return p.JSONFlag(&cobra.Command{Use: "status", Short: "Say who sees the calls that rules are about", Args: cli.Positional(cobra.NoArgs),
		Long: "Say who sees the calls that rules are about or look at. A client's own tools, and those of its other servers, are seen by its\n" +
			"hooks alone: without hooks (savant setup) no rule holds for them.",
		RunE: p.OnLook(func(_ context.Context, a *app.App, _ []string) error {
			set, err := a.AllRules()
			if err != nil {
				return err
			}
			hooked, blind, err := clients.Watching(p.Program)
			if err != nil {
				return err
			}
			rows := []toolWitness{}
			for _, name := range set.Names() {
				row := toolWitness{Tool: name, By: hooksAlone(name, hooked, blind), Rules: []string{}}
				if slices.ContainsFunc(a.Tools.Names(), func(tool string) bool { return pattern.Matches(name, tool) }) {
					others := row.By
					if row.By = "the server"; strings.HasPrefix(name, "*") {
						row.By += "; other tools: " + others
					}
				}
				for _, rule := range set.Guards(name) {
					row.Rules = append(row.Rules, rule.ID)
				}
				rows = append(rows, row)
			}
			list, _, err := a.RuleKeeper().Sessions()
			if err != nil {
				return err
			}
			questions, err := a.RuleKeeper().Questions()
			if err != nil {
				return err
			}
			if p.JSON {
				return p.Print(map[string]any{"tools": rows, "sessions": append([]sessions.Session{}, list...), "waiting": questions})
			}
			p.offerSet(len(rows))
			if err := terminal.Table(p.Stdout, []string{"TOOL", "SEEN BY", "RULES"}, rows, toolWitness.cells); err != nil || len(list) == 0 {
				return err
			}
			fmt.Fprintln(p.Stdout)
			if err := terminal.Table(p.Stdout, []string{"SESSION", "CALLS", "REFUSED", "WARNED OF", "LAST"}, list[:min(len(list), maxSessions)], func(s sessions.Session) []string {
				return []string{s.Name, strconv.Itoa(s.Calls), strconv.Itoa(s.Refused), strconv.Itoa(s.Warned), terminal.When(time.UnixMilli(s.Last).UTC().Format(time.RFC3339), time.Now())}
			}); err != nil || len(questions) == 0 {
				return err
			}
			fmt.Fprintln(p.Stdout)
			return terminal.Table(p.Stdout, []string{"WAITS FOR A PERSON", "TOOL", "QUESTION"}, questions, func(q sessions.Question) []string {
				return []string{"savant approve " + q.Name, q.Tool, strings.Join(q.Texts, " ")}
			})
		})})
}

// offerSet tells a person without rules how to add some.
func (p *program) offerSet(rules int) {
	if rules == 0 {
		fmt.Fprintln(p.Stderr, "no rules: savant rules add SET adds a bundled set")
	}
}

func (p *program) print(all []*rules.Rule) error {
	rows := make([]rules.Row, len(all))
	for i, rule := range all {
		rows[i] = rule.Row()
	}
	if p.JSON {
		return p.Print(map[string]any{"rules": rows})
	}
	p.offerSet(len(all))
	return terminal.Table(p.Stdout, []string{"RULE", "PLACE", "BEFORE", "DEMANDS", "MESSAGE"}, rows, cells)
}

func (p *program) checkCommand() *cobra.Command {
	var format string
	command := &cobra.Command{Use: "check", Short: "Check the rules of SAVANT_PATH", Args: cli.Positional(cobra.NoArgs),
		Long: "Check the rules of SAVANT_PATH against the tools that are published: names, arguments, results, and what can never be met.\n" +
			"Prints file:line:col: error: message [CODE] with the line; exit code 3 if there are errors.",
		RunE: p.OnLook(func(_ context.Context, a *app.App, _ []string) error { return p.check(a, format) })}
	command.Flags().StringVar(&format, "format", "text", "how findings are printed: text, json, sarif or github")
	return p.JSONFlag(command)
}

func (p *program) check(a *app.App, format string) error {
	format, err := p.FindingsFormat(format)
	if err != nil {
		return err
	}
	var found []fault.Diagnostic
	set, err := a.Rules()
	switch {
	case err == nil:
		found = rules.Check(set, a.CheckedTools())
	case len(fault.From(err).Diagnostics) > 0:
		found = fault.From(err).Diagnostics
	default:
		return err
	}
	for i, each := range found {
		if source, err := a.RuleFile(each.File); err == nil {
			found[i] = each.Quoting(fault.Lines(string(source)))
		}
	}
	errors := 0
	for _, each := range found {
		if each.Severity == "" {
			errors++
		}
	}
	return p.Findings(format, found, map[string]any{"findings": append([]fault.Diagnostic{}, found...), "errors": errors},
		terminal.Count(errors, "error")+", "+terminal.Count(len(found)-errors, "warning"))
}
