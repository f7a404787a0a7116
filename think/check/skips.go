package check

import (
	"fmt"
	"slices"

	"github.com/expr-lang/expr/ast"

	"savant/fault"
	"savant/think/flow"
	"savant/think/flow/expression"
)

// skip says of a capture that its step may be skipped, and why.
type skip struct {
	capture string
	step    *flow.Step
	reasons []flow.Skip
}

// skipsOf returns the captures that may not be there when a step reads them, by name
// and by "steps." with the id of the step: those of steps with a `when`, or with
// join: success. What is skipped because of its own reads is not among them, because
// those reads are reported.
func skipsOf(graph *flow.Graph) map[string]skip {
	skips := map[string]skip{}
	for _, step := range graph.Workflow.Steps {
		switch {
		case step.CaptureAs == "":
		case step.Join == flow.JoinSuccess:
			addSkip(skips, step, graph.Skips(step.ID))
		case step.When != nil && step.When.Source() != "true" && !ofItem(step.When):
			addSkip(skips, step, []flow.Skip{{By: step}})
		}
	}
	return skips
}

func addSkip(skips map[string]skip, step *flow.Step, reasons []flow.Skip) {
	if len(reasons) > 0 {
		skips[step.CaptureAs] = skip{step.CaptureAs, step, reasons}
		skips["steps"+memberName(step.ID)] = skips[step.CaptureAs]
	}
}

// ofItem reports whether a `when` is decided for each item of a loop.
func ofItem(when *expression.Program) bool {
	return when != nil && slices.ContainsFunc(when.References(), func(reference expression.Reference) bool {
		return reference.Root == "item" || reference.Root == "loop"
	})
}

// unread returns a step of which an output may read the capture although it was skipped,
// so that the output is null; "" for none.
func (c *checker) unread(output *flow.Template) string {
	in := c.scopeOf(nil)
	in.skips = map[string]skip{}
	for _, step := range c.w.Steps {
		if step.CaptureAs != "" {
			addSkip(in.skips, step, c.graph.Skips(step.ID))
		}
	}
	for _, text := range output.Texts() {
		parts, _ := text.Parts()
		for _, part := range parts {
			c.ready(part.Program)
			_, found := infer(part.Program, in)
			for _, each := range found {
				if each.about != "" {
					return in.skips[each.about].step.ID
				}
			}
		}
	}
	return ""
}

// allDone returns what a step with join: success knows of those it reads.
func (c *checker) allDone() (facts []fact) {
	for _, step := range c.w.Steps {
		if step.OnFailure == flow.Continue && step.Foreach == nil {
			status := &ast.MemberNode{Property: &ast.StringNode{Value: "status"}, Node: &ast.MemberNode{
				Node: &ast.IdentifierNode{Value: "steps"}, Property: &ast.StringNode{Value: step.ID}}}
			facts = append(facts, fact{node: &ast.BinaryNode{Operator: "==", Left: status, Right: &ast.StringNode{Value: "done"}}, holds: true})
		}
	}
	return facts
}

// factsOf returns what holds where a condition let a step run.
func factsOf(when *expression.Program) []fact {
	node, err := when.Parse()
	if err != nil {
		return nil
	}
	return learn(nil, node, true, nil)
}

// unguarded notes the hard read of a capture whose step may be skipped, if nothing
// around the read excludes that. links are the members before the capture was found.
func (i *inference) unguarded(read *readChain, name *ast.IdentifierNode, links []expression.Link, soft bool) {
	capture, rest := name.Value, read.links
	if capture == "state" && len(rest) < len(links) {
		key, _ := links[0].Key.(*ast.StringNode)
		capture = key.Value
	} else if i.locals[capture] != nil || capture == i.item {
		return
	}
	from, may := i.skips[capture]
	if may = may && from.step.ID != i.reader; !may || len(rest) > 0 && rest[0].Optional || len(rest) == 0 && soft || i.excludes(capture) {
		return
	}
	found := advice{finding: finding{code: fault.UnresolvedVar, severity: warning, offset: i.program.Offset(name), about: capture,
		message: fmt.Sprintf("step %q may be skipped (%s), and this hard read then skips step %q too", from.step.ID, reasonOf(from.step.ID, from.reasons[0]), i.reader)},
		after: fmt.Sprintf(", or read it where steps.%s.status == \"done\"; where the skip is meant, give step %q the same when, or join: success", from.step.ID, i.reader)}
	if found.base = capture; len(rest) == 0 {
		found.base += " ?? …"
	}
	read.soft[0] = true
	read.advice = append(read.advice, found)
}

// excludes reports whether what is known here rules out that the step of a capture was
// skipped: a guard says so, or its `when` follows.
func (i *inference) excludes(capture string) bool {
	if len(i.facts) == 0 {
		return false
	}
	if i.skips[capture].assumed().excluded(i.facts) {
		return true
	}
	facts := slices.Clone(i.facts)
	for _, name := range mentioned(i.facts) { // what guards say of other steps says why they ran
		other, known := i.skips[name]
		switch {
		case !known:
		case other.assumed().excluded(i.facts):
			facts = other.learn(facts, true)
		case other.assumed().suggested(i.facts):
			facts = other.learn(facts, false)
		}
	}
	return !slices.ContainsFunc(i.skips[capture].reasons, func(reason flow.Skip) bool { return !follows(facts, reason, i.typeOf) })
}

// mentioned returns the captures, and the steps as "steps." with the id, that conditions
// name.
func mentioned(facts []fact) []string {
	found := &mentions{seen: map[ast.Node]bool{}}
	for _, each := range facts {
		found.findMentions(each.node, each.locals)
	}
	slices.Sort(found.names)
	return slices.Compact(found.names)
}

type mentions struct {
	names  []string
	locals locals
	seen   map[ast.Node]bool // values of names
}

func (m *mentions) findMentions(node ast.Node, where locals) {
	outer := m.locals
	m.locals = where
	ast.Walk(&node, m)
	m.locals = outer
}

// Visit gathers the names that a node may read.
func (m *mentions) Visit(node *ast.Node) {
	names, _ := m.locals.chain(*node)
	named, isLocal := m.locals.localOf(*node)
	switch {
	case len(names) > 1 && names[0] == "steps":
		m.names = append(m.names, "steps"+names[1])
	case len(names) > 0:
		m.names = append(m.names, names[0])
	case isLocal && !m.seen[named.value]:
		m.seen[named.value] = true
		m.findMentions(named.value, named.in)
	}
}

// learn adds to facts that the step ran, or was skipped.
func (s skip) learn(facts []fact, ran bool) []fact {
	if !ran && len(s.reasons) > 1 {
		return facts // one of them did not hold
	}
	for _, reason := range s.reasons {
		if reason.Failed {
			continue // a failure has no condition
		}
		if when, err := reason.By.When.Parse(); err == nil {
			facts = learn(facts, when, ran, nil)
		}
	}
	return facts
}

// assumed is the assumption that the step of a capture was skipped.
func (s skip) assumed() assumption {
	return assumption{of: skipped, path: []string{s.capture}, step: s.step.ID, status: "skipped"}
}
