package flow

import (
	"fmt"
	"slices"
	"strings"
)

// Edge is a dependency: To runs after From.
type Edge struct {
	From string `json:"from"`
	To   string `json:"to"`
	// Barrier says that To depends on From because that is a check above it alone.
	Barrier bool `json:"barrier,omitempty"`
}

// NodeInfo is a step as the graph shows it.
type NodeInfo struct {
	ID          string `json:"id"`
	Call        string `json:"call"`
	CaptureAs   string `json:"capture_as,omitempty"`
	Conditional bool   `json:"conditional,omitempty"`
	When        string `json:"when,omitempty"`
	Foreach     string `json:"foreach,omitempty"`
	Workflow    string `json:"workflow,omitempty"`
	// Barrier says that the step is a check that holds the steps below it. HeldBy is the
	// check that holds this one.
	Barrier bool   `json:"barrier,omitempty"`
	HeldBy  string `json:"held_by,omitempty"`
	// Deps are the steps that come before, besides HeldBy; an entry has neither.
	Deps  []string `json:"deps"`
	Entry bool     `json:"entry"`
}

// Picture is the shape of a graph.
type Picture struct {
	Nodes []NodeInfo `json:"nodes"`
	Edges []Edge     `json:"edges"`
}

// Picture returns the shape of the graph in declaration order.
func (g *Graph) Picture() Picture {
	p := Picture{Nodes: []NodeInfo{}, Edges: []Edge{}}
	for i := range g.nodes {
		n := &g.nodes[i]
		info := NodeInfo{ID: n.step.ID, Call: n.step.Call, CaptureAs: n.step.CaptureAs, Conditional: n.conditional(), Workflow: n.step.Child,
			Barrier: g.edition >= SecondEdition && n.barrier(), Deps: []string{}, Entry: n.waits() == 0 && !(n.handler && g.early > 0)}
		if n.holder >= 0 {
			info.HeldBy = g.nodes[n.holder].step.ID
		}
		for _, dep := range n.deps {
			info.Deps = append(info.Deps, g.nodes[dep].step.ID)
		}
		if n.step.When != nil {
			info.When = n.step.When.Source()
		}
		if n.step.Foreach != nil {
			info.Foreach = n.step.Foreach.Source()
		}
		p.Nodes = append(p.Nodes, info)
		for _, dep := range g.drawn(i) {
			p.Edges = append(p.Edges, Edge{g.nodes[dep].step.ID, n.step.ID, n.relation(dep) == "barrier"})
		}
	}
	return p
}

// drawn returns the nodes from which an edge leads to a node: those before it, without
// a barrier that also holds one of its dependencies; for a handler, those that end what
// it waits for.
func (g *Graph) drawn(i int) []int {
	n := &g.nodes[i]
	if n.handler {
		all := slices.Concat(n.after(), g.ends)
		slices.Sort(all)
		return slices.Compact(all)
	}
	for _, dep := range n.deps {
		if g.nodes[dep].holder == n.holder {
			return n.deps
		}
	}
	return n.after()
}

// RunPicture is a workflow of a run, with the status of its steps.
type RunPicture struct {
	Workflow string
	// Unit is the step that runs the workflow, "" for the run's own workflow. Round is the
	// shown round of Rounds, from 1; both are 0 for the run's own workflow.
	Unit          string
	Round, Rounds int
	Nodes         []StepPicture
	Edges         []Edge
}

// StepPicture is a step in the picture of a run: its place in the graph, and its
// status.
type StepPicture struct {
	NodeInfo
	Now StepStatus // with its id in the run
	// Held is the result of the condition; nil if undecided or absent.
	Held *bool
	// Items counts a loop's items by status, Rounds the rounds of a repeat.
	Items  map[Status]int
	Rounds int
	// Issued is the version that first issued the step or one of its items, Answered the
	// version of the last answer; 0 if none.
	Issued, Answered int
}

// Picture returns the workflow of the run, or the last round of the child that a unit runs:
// "build", "each_3", "poll"; "poll_0" is the first round. UNKNOWN_STEP if the unit runs no
// workflow.
func (v View) Picture(unit string) (*RunPicture, error) {
	f := v.frameOf(unit)
	if f == nil {
		return nil, v.run.unknown(unit)
	}
	shape := f.graph.Picture()
	p := &RunPicture{Workflow: f.graph.Workflow.Name, Unit: unit, Edges: shape.Edges}
	if f.owner != nil {
		p.Unit, p.Round, p.Rounds = f.owner.id, f.round+1, len(f.owner.rounds())
	}
	p.Nodes = v.Nodes(unit)
	for i, info := range shape.Nodes {
		p.Nodes[i].NodeInfo = info
	}
	return p, nil
}

// Nodes returns the steps of Picture without their places in the graph; none where Picture is
// an error.
func (v View) Nodes(unit string) []StepPicture {
	f := v.frameOf(unit)
	if f == nil {
		return nil
	}
	all := make([]StepPicture, len(f.nodes))
	for i := range f.nodes {
		all[i] = f.nodes[i].picture()
	}
	return all
}

// frameOf returns the frame that Picture shows, or nil.
func (v View) frameOf(unit string) *frame {
	if unit == "" {
		return v.run.root
	}
	if step, err := v.Step(unit); err == nil && step.unit != nil {
		if rounds := step.unit.rounds(); len(rounds) > 0 {
			return rounds[len(rounds)-1]
		}
	}
	base, _, _ := cutLast(unit)
	step, err := v.Step(base)
	if err != nil || step.unit == nil || step.node.step().Rounds == 0 {
		return nil
	}
	for _, round := range step.unit.rounds() {
		if round.prefix == unit+"/" {
			return round
		}
	}
	return nil
}

func (n *nodeState) picture() StepPicture {
	p := StepPicture{NodeInfo: NodeInfo{ID: n.step().ID}, Now: n.describe(), Held: n.when}
	if !n.loop() && len(n.units) == 1 {
		p.Now, p.Rounds = n.units[0].describe(), len(n.units[0].rounds())
	}
	if n.loop() {
		p.Items = map[Status]int{}
	}
	for k := range n.units {
		u := &n.units[k]
		if n.loop() {
			p.Items[u.status]++
		}
		issued, answered := u.span()
		if p.Issued == 0 || issued > 0 && issued < p.Issued {
			p.Issued = issued
		}
		p.Answered = max(p.Answered, answered)
	}
	return p
}

// span returns the version that issued a unit, or the first step of its child, and the
// version of the last answer; 0 if none.
func (u *unit) span() (issued, answered int) {
	issued = u.issuedAt
	if count := len(u.attempts); count > 0 {
		answered = u.attempts[count-1].version
	}
	for _, round := range u.rounds() {
		for i := range round.nodes {
			for k := range round.nodes[i].units {
				from, to := round.nodes[i].units[k].span()
				if issued == 0 || from > 0 && from < issued {
					issued = from
				}
				answered = max(answered, to)
			}
		}
	}
	return issued, answered
}

// Mermaid returns the graph as a Mermaid flow chart.
func (g *Graph) Mermaid() string {
	var out strings.Builder
	out.WriteString("flowchart TD\n")
	for i := range g.nodes {
		n := &g.nodes[i]
		label := n.step.ID + "\n" + n.step.Call
		if n.step.Foreach != nil {
			label += "\nforeach " + n.step.Foreach.Source()
		}
		open, close := "[", "]"
		if n.step.When != nil {
			label += "\nwhen " + n.step.When.Source()
			open, close = "{{", "}}"
		}
		if n.step.Person() {
			open, close = "([", "])"
		}
		fmt.Fprintf(&out, "  s%d%s\"%s\"%s\n", i, open, mermaidText.Replace(label), close)
	}
	for i := range g.nodes {
		for _, dep := range g.drawn(i) {
			arrow := "-->"
			if g.nodes[i].relation(dep) == "barrier" {
				arrow = "-. barrier .->"
			}
			fmt.Fprintf(&out, "  s%d %s s%d\n", dep, arrow, i)
		}
	}
	return out.String()
}

var mermaidText = strings.NewReplacer("\"", "#quot;", "<", "#lt;", ">", "#gt;", "\n", "<br/>", "&", "#amp;", "#", "#35;")
