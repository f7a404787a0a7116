package flow

import (
	"fmt"
	"strings"
)

// Edge is a dependency: To runs after From.
type Edge struct {
	From string `json:"from"`
	To   string `json:"to"`
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
	// Deps are the steps that come before; an entry has none.
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
			Deps: []string{}, Entry: len(n.deps) == 0}
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
		for _, dep := range n.deps {
			p.Edges = append(p.Edges, Edge{g.nodes[dep].step.ID, n.step.ID})
		}
	}
	return p
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
		for _, dep := range g.nodes[i].deps {
			fmt.Fprintf(&out, "  s%d --> s%d\n", dep, i)
		}
	}
	return out.String()
}

var mermaidText = strings.NewReplacer("\"", "#quot;", "<", "#lt;", ">", "#gt;", "\n", "<br/>", "&", "#amp;", "#", "#35;")
