package flow

import (
	"fmt"
	"slices"

	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/think/flow/expression"
)

// Explanation explains the status of a step.
type Explanation struct {
	StepID        string      `json:"step_id"`
	Call          string      `json:"call"`
	Rationale     string      `json:"rationale,omitempty"`
	SuccessSchema any         `json:"success_schema,omitempty"`
	DependsOn     []string    `json:"depends_on"`
	Status        Status      `json:"status"`
	Cause         string      `json:"cause,omitempty"`
	Attempt       int         `json:"attempt,omitempty"`
	Why           []Condition `json:"why"`
	// File and Line are the position of the step.
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
}

// Condition is one thing that decided about a step.
type Condition struct {
	// Kind is depends_on, barrier, run, when, foreach, join, approval, scope or failure.
	Kind string `json:"kind"`
	// Expression is the condition as written.
	Expression string `json:"expression,omitempty"`
	// Value is its result; it is absent while undecided.
	Value any `json:"value,omitempty"`
	// Operands are the known values that the expression reads.
	Operands map[string]any `json:"operands,omitempty"`
	Step     string         `json:"step,omitempty"`
	Status   Status         `json:"status,omitempty"`
	Cause    string         `json:"cause,omitempty"`
	Message  string         `json:"message,omitempty"`
}

// maxOperand bounds what an explanation repeats of a value.
const maxOperand = 200

// Beginning is the beginning of a value's JSON, in place of a value that is longer than
// maxOperand. It is shown as it stands, not as a text.
type Beginning string

func beginning(data []byte) Beginning { return Beginning(fault.Cut(string(data), maxOperand)) }

// Explain explains the status of a step. It returns refs if captures that the step reads
// are missing.
func (v View) Explain(step Handle) (*Explanation, []Ref) {
	n, u := step.node, step.unit
	var m missing
	if m.node(n); len(m.refs) > 0 {
		return nil, m.refs
	}
	e := n.graphExplanation()
	e.StepID = step.ID()
	e.Status, e.Cause = n.shownStatus()
	if u != nil {
		e.Status, e.Cause = v.run.finalStatus(u.status, u.cause)
		e.Attempt = u.attempt
	}
	for _, dep := range n.node().after() {
		d := &n.frame.nodes[dep]
		e.DependsOn = append(e.DependsOn, d.id())
		status, cause := d.shownStatus()
		e.Why = append(e.Why, Condition{Kind: n.node().relation(dep), Step: d.id(), Status: status, Cause: cause})
	}
	e.Why = append(e.Why, n.conditions(u)...)
	if u != nil && u.rare().failure != nil {
		failure := u.rare().failure
		e.Why = append(e.Why, Condition{Kind: "failure", Value: failure.Code, Message: fault.Cut(failure.Details, maxFailure)})
	}
	return e, nil
}

// maxFailure bounds the words of a failure in an explanation, in bytes.
const maxFailure = 4000

// Explain explains a step without a run.
func (g *Graph) Explain(step string) (*Explanation, error) {
	at, ok := g.index[step]
	if !ok {
		return nil, g.unknown(fmt.Sprintf("workflow %q", g.Workflow.Name), step)
	}
	n := &nodeState{frame: &frame{graph: g}, index: at}
	e := n.graphExplanation()
	e.Status = Pending
	if g.nodes[at].conditional() {
		e.Status = Conditional
	}
	for _, dep := range g.nodes[at].after() {
		e.DependsOn = append(e.DependsOn, g.nodes[dep].step.ID)
		if g.nodes[at].relation(dep) == "barrier" {
			e.Why = append(e.Why, Condition{Kind: "barrier", Step: g.nodes[dep].step.ID})
		}
	}
	if s := n.step(); s.When != nil {
		e.Why = append(e.Why, Condition{Kind: "when", Expression: s.When.Source()})
	}
	if s := n.step(); s.Foreach != nil {
		e.Why = append(e.Why, Condition{Kind: "foreach", Expression: s.Foreach.Source()})
	}
	e.Why = append(e.Why, n.step().Approval.conditions(nil)...)
	return e, nil
}

// relation says how the node waits for another: as a dependency or for a barrier.
func (n *node) relation(to int) string {
	if to == n.holder && !slices.Contains(n.deps, to) {
		return "barrier"
	}
	return "depends_on"
}

func (n *nodeState) graphExplanation() *Explanation {
	s := n.step()
	e := &Explanation{StepID: s.ID, Call: s.Call, Rationale: s.Rationale, DependsOn: []string{}, Why: []Condition{},
		File: n.frame.graph.Workflow.File, Line: s.at.line}
	if s.Schema != nil {
		e.SuccessSchema = s.Schema.JSON()
	}
	return e
}

func (n *nodeState) conditions(u *unit) []Condition {
	var list []Condition
	s := n.step()
	item := -1
	if u != nil {
		item = u.item
	}
	if s.When != nil {
		c := Condition{Kind: "when", Expression: s.When.Source(), Operands: n.operands(s.When, item)}
		switch {
		case n.when != nil:
			c.Value = *n.when
		case u != nil && n.node().perItem:
			c.Value = u.cause != "when"
		}
		list = append(list, c)
	}
	if s.Foreach != nil {
		c := Condition{Kind: "foreach", Expression: s.Foreach.Source(), Operands: n.operands(s.Foreach, -1)}
		if n.list != nil {
			c.Value = shortenedList(n.list.items)
		}
		list = append(list, c)
	}
	if n.node().handler {
		list = append(list, Condition{Kind: "run", Message: "it reads run.status or run.failed, and so waits for every step that neither does nor comes after one that does"})
	}
	if s.Join != JoinAll {
		list = append(list, Condition{Kind: "join", Value: string(s.Join)})
	}
	if u != nil {
		return append(list, s.Approval.conditions(u.rare().agreed)...)
	}
	return append(list, s.Approval.conditions(nil)...)
}

// operands returns the settled values that an expression reads.
func (n *nodeState) operands(p *expression.Program, item int) map[string]any {
	operands := map[string]any{}
	env := n.env(-1)
	if n.list != nil && item >= 0 && item < len(n.list.items) {
		env = n.env(item)
	}
	for _, reference := range p.References() {
		switch reference.Root {
		case "params":
			operands["params."+reference.Name] = operandExcerpt(n.frame.params[reference.Name])
		case "state":
			if at, ok := n.frame.graph.captures[reference.Name]; ok && n.frame.nodes[at].status.settled() {
				if beginning, long := n.frame.nodes[at].beginning(); long {
					operands["state."+reference.Name] = beginning
				} else if value := env.Steps.Capture(reference.Name); value != expression.NoCapture {
					operands["state."+reference.Name] = operandExcerpt(value)
				} else {
					operands["state."+reference.Name] = nil
				}
			}
		case "steps":
			operands["steps."+reference.Name+"."+reference.Field] = operandExcerpt(n.frame.Field(reference.Name, reference.Field))
		case "run":
			if isOutcome(reference) {
				operands["run."+reference.Name] = operandExcerpt(env.Run[reference.Name])
			}
		case "item":
			operands[n.step().As] = operandExcerpt(env.Item)
		}
	}
	return operands
}

// beginning returns the beginning of a long capture, which is not decoded for that.
func (n *nodeState) beginning() (text Beginning, long bool) {
	if !n.has || n.size() <= Inline {
		return "", false
	}
	if n.loop() {
		return beginning(n.join(maxOperand)), true
	}
	return beginning(n.bytes()), true
}

// shortenedList is shortened for lists; it encodes only the shown items.
func shortenedList(items []any) any {
	text := []byte{'['}
	for _, item := range items {
		data, err := jsonvalue.Encode(item)
		if err != nil {
			return items
		}
		if text = append(append(text, data...), ','); len(text) > maxOperand {
			return beginning(text)
		}
	}
	return items
}

func operandExcerpt(value any) any {
	if items, is := value.([]any); is {
		return shortenedList(items)
	}
	data, err := jsonvalue.Encode(value)
	if err != nil || len(data) <= maxOperand {
		return value
	}
	return beginning(data)
}

// Line describes one step of a run.
type Line struct {
	ID, Call string
	Status   Status
	Cause    string
	Attempt  int
	Failure  *fault.Error
	// Items counts the items of a loop.
	Items int
	// After are the steps that this one waits for; When and Foreach are its
	// conditions, as they are written.
	After         []string
	When, Foreach string
}

// Outline returns a line for each step in order: one for a loop, plus its failed and
// waiting items; the steps of a running child follow the step that runs it.
func (v View) Outline() []Line { return v.run.root.outline(nil) }

func (f *frame) outline(list []Line) []Line {
	for i := range f.nodes {
		n := &f.nodes[i]
		list = append(list, n.line())
		for k := range n.units {
			u := &n.units[k]
			if n.loop() && (u.status == Failed || u.status == Issued) {
				list = append(list, u.line())
			}
			if rounds := u.rounds(); len(rounds) > 0 && (u.status == Issued || u.status == Failed) {
				list = rounds[len(rounds)-1].outline(list)
			}
		}
	}
	return list
}

func (n *nodeState) line() Line {
	s := n.step()
	line := Line{ID: n.id(), Call: s.Call}
	line.Status, line.Cause = n.shownStatus()
	if s.When != nil {
		line.When = s.When.Source()
	}
	if s.Foreach != nil {
		line.Foreach, line.Items = s.Foreach.Source(), len(n.units)
	}
	if !n.loop() && len(n.units) == 1 {
		u := &n.units[0]
		line.Attempt, line.Failure = u.attempt, u.rare().failure
	}
	for _, dep := range n.node().after() {
		if d := &n.frame.nodes[dep]; !d.status.settled() {
			line.After = append(line.After, d.id())
		}
	}
	return line
}

func (u *unit) line() Line {
	line := Line{ID: u.id, Call: u.step().Call, Attempt: u.attempt, Failure: u.rare().failure}
	line.Status, line.Cause = u.run().finalStatus(u.status, u.cause)
	return line
}
