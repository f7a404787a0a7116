package rules

import (
	"fmt"
	"slices"
	"strings"

	"savant/internal/fields"
	"savant/internal/redact"
	"savant/think/flow"
	"savant/think/flow/expression"
)

// File is one file of rules. It is immutable.
type File struct {
	// Path is relative to SAVANT_PATH: "rules/bank.yaml".
	Path, Name string
	// Digest is that of the workflow whose file has the rules, "" for a file of the folder:
	// those of a workflow hold for the calls of its runs.
	Digest string
	Rules  []*Rule
	// Foreign: it is a file of another program, without rules.
	Foreign  bool
	at       string // where they are in the file: "rules" in a workflow's
	evidence map[string]*evidence
	facts    map[string]any
	secret   expression.Names
	success  []success
	layout   *flow.Layout
}

// WithoutSecrets returns the text of the file without the values of its secret facts. It
// returns only a mark if the place of one is not known.
func (f *File) WithoutSecrets(text string) string {
	var values []string
	var spans [][2]int
	for name := range f.secret {
		begin, end, _, known := f.layout.Span([]byte(text), fields.Join(f.at, "facts."+name))
		if !known {
			return redact.Mark
		}
		spans, values = append(spans, [2]int{begin, end}), append(values, fmt.Sprint(f.facts[name]))
	}
	slices.SortFunc(spans, func(a, b [2]int) int { return b[0] - a[0] })
	for _, each := range spans { // the last first: those before keep their places
		text = text[:each[0]] + redact.Mark + text[each[1]:]
	}
	return redact.FromLength(0, values...).KnownOnly().Text(text) // what is repeated elsewhere
}

// Rule restricts the calls of some tools.
type Rule struct {
	ID string
	// Before and Except are names of tools, or patterns with *.
	Before, Except []string
	// Warn: what the rule would refuse is recorded and made.
	Warn bool
	// Message explains the rule to who is refused.
	Message      string
	Line, Column int

	file     *File
	path     string // in the file: "rules[2]"
	when     *condition
	deny     bool
	require  []requirement
	limit    *limit
	approve  *expression.Text
	question *flow.Site
	grant    flow.Grant
}

// requirement is one item of require: names of evidence that must be there, and a
// condition.
type requirement struct {
	needs   []string
	that    *condition
	message string
	path    string
}

// limit bounds how many calls a rule lets pass.
type limit struct {
	most    int
	per     piece // without a program: all calls count together
	within  int64 // milliseconds, 0: any
	project bool
}

// evidence is the last call that fits of some tools, or patterns.
type evidence struct {
	name                   string
	nth                    int      // in the file
	keys                   []string // of where, sorted
	values                 []operand
	last, impliedBy, since []string
	fits                   *condition // if
	within                 int64
	project                bool
	path                   string
}

// tools returns the names and patterns of all tools whose calls can be the evidence.
func (e *evidence) tools() []string { return slices.Concat(e.last, e.impliedBy) }

// only returns the tool whose call it is, "" where there are several.
func (e *evidence) only() string {
	if len(e.last) != 1 || isPattern(e.last[0]) {
		return ""
	}
	return e.last[0]
}

// piece is an expression with its place in the file. shift is how many bytes were put before its
// source.
type piece struct {
	program *expression.Program
	site    *flow.Site
	shift   int
}

// operand is a literal of where, or an expression.
type operand struct {
	literal any
	piece
}

// success says when a call counts as one that succeeded.
type success struct {
	tool string
	that *condition
}

// condition is a condition with its place in the file, as of a piece.
type condition struct {
	*expression.Condition
	site  *flow.Site
	shift int
	// shared: another rule of the file has it, too, so that a call evaluates it once.
	shared bool
}

// runs returns the runs of a call for which the file holds, one without a name for a file of
// the folder.
func (f *File) runs(call Call) []Run {
	if f.Digest == "" {
		return []Run{{}}
	}
	return slices.DeleteFunc(slices.Clone(call.Runs), func(run Run) bool { return run.Digest != f.Digest })
}

// pieces returns the expressions of a condition; nil has none.
func (c *condition) pieces() (all []piece) {
	if c == nil {
		return nil
	}
	for _, program := range c.Programs() {
		all = append(all, piece{program, c.site, c.shift})
	}
	return all
}

// pieces returns the expressions of the rule.
func (r *Rule) pieces() []piece {
	all := r.when.pieces()
	for _, each := range r.require {
		all = append(all, each.that.pieces()...)
	}
	if r.limit != nil && r.limit.per.program != nil {
		all = append(all, r.limit.per)
	}
	if r.approve != nil {
		parts, _ := r.approve.Parts()
		for _, part := range parts {
			all = append(all, piece{part.Program, r.question, -part.Offset})
		}
	}
	return all
}

// pieces returns the expressions of the evidence.
func (e *evidence) pieces() []piece {
	all := e.fits.pieces()
	for _, each := range e.values {
		if each.program != nil {
			all = append(all, each.piece)
		}
	}
	return all
}

// Reads returns what the rules read of a run, sorted: "params.limit", "state.plan".
func (f *File) Reads() []string {
	names := []string{}
	read := func(all []piece) {
		for _, each := range all {
			for _, of := range each.program.References() {
				if of.Root == rootParams || of.Root == rootState {
					names = append(names, of.Root+"."+of.Name)
				}
			}
		}
	}
	for _, rule := range f.Rules {
		read(rule.pieces())
	}
	for _, e := range f.evidence {
		read(e.pieces())
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Guards reports whether the rule is about the calls of a tool.
func (r *Rule) Guards(tool string) bool {
	return matchesAny(r.Before, tool) && !matchesAny(r.Except, tool)
}

// OfWorkflow reports whether it is a workflow's, which holds for its runs alone.
func (r *Rule) OfWorkflow() bool { return r.file.Digest != "" }

// File returns the path of the rule's file.
func (r *Rule) File() string { return r.file.Path }

// Row describes a rule in a list.
type Row struct {
	ID      string   `json:"id"`
	File    string   `json:"file"`
	Line    int      `json:"line"`
	Before  []string `json:"before"`
	Except  []string `json:"except,omitempty"`
	Kinds   []string `json:"kinds"`
	Warn    bool     `json:"warn,omitempty"`
	Message string   `json:"message,omitempty"`
}

// Row describes the rule.
func (r *Rule) Row() Row {
	return Row{r.ID, r.File(), r.Line, r.Before, r.Except, r.Kinds(), r.Warn, r.Message}
}

// Calls says for people which calls the rule is about.
func (r Row) Calls() string {
	before := strings.Join(r.Before, ", ")
	if len(r.Except) > 0 {
		before += " except " + strings.Join(r.Except, ", ")
	}
	return before
}

// Does says for people what the rule does.
func (r Row) Does() string {
	if r.Warn {
		return strings.Join(r.Kinds, ", ") + " (warns)"
	}
	return strings.Join(r.Kinds, ", ")
}

// Needs returns the tools of which the rule needs a call.
func (r *Rule) Needs() []string {
	var tools []string
	for _, each := range r.require {
		for _, name := range each.needs {
			tools = append(tools, r.file.evidence[name].last...)
		}
	}
	return tools
}

// Kinds says what the rule does, in the order in which it is judged.
func (r *Rule) Kinds() []string {
	var kinds []string
	for kind, is := range []bool{kindDeny: r.deny, kindRequire: len(r.require) > 0, kindLimit: r.limit != nil, kindApprove: r.approve != nil} {
		if is {
			kinds = append(kinds, kindNames[kind])
		}
	}
	return kinds
}
