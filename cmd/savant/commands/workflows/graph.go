package workflows

import (
	"context"
	"fmt"
	"html"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"savant/cmd/savant/app"
	"savant/cmd/savant/cli"
	"savant/fault"
	"savant/hub/graph"
	"savant/internal/visible"
	"savant/think/flow"
)

func (p *program) graphCommand() *cobra.Command {
	var format string
	command := &cobra.Command{Use: "graph NAME", Short: "Draw a workflow's steps in their order",
		Long: "Draw a workflow's steps, each below those that it comes after. What a longer way implies is left out.\n" +
			"--format ascii is for a terminal, mermaid for documents, dot for Graphviz, svg for a browser.",
		Example: "  savant workflows graph release\n  savant workflows graph release --format svg > release.svg",
		Args:    cli.Positional(cobra.ExactArgs(1)),
		RunE: p.OnLook(func(_ context.Context, a *app.App, args []string) error {
			linked, err := a.Think.Library.Graph(args[0])
			if err != nil {
				return err
			}
			text, err := draw(linked, format)
			if err == nil {
				_, err = fmt.Fprint(p.Stdout, text)
			}
			return err
		})}
	command.Flags().StringVar(&format, "format", "ascii", "ascii, mermaid, dot or svg")
	return command
}

// draw returns the drawing of a workflow in a format.
func draw(linked *flow.Graph, format string) (string, error) {
	picture := linked.Picture()
	switch format {
	case "ascii":
		labels := make([][]string, len(picture.Nodes))
		for i, node := range picture.Nodes {
			labels[i] = stepLabel(node)
		}
		return graph.Text(labels, edgesOf(picture))
	case "mermaid":
		return linked.Mermaid(), nil
	case "dot":
		return dot(linked.Workflow.Name, picture), nil
	case "svg":
		return svg(picture)
	}
	return "", cli.Choice("--format", format, "ascii", "mermaid", "dot", "svg")
}

// maxLabel bounds a line of a label, in letters.
const maxLabel = 36

// stepLabel returns the lines of a step: its id, its call, and what decides about it.
func stepLabel(node flow.NodeInfo) []string {
	lines := []string{node.ID, strings.TrimSpace(node.Call + " " + node.Workflow)}
	if node.Foreach != "" {
		lines = append(lines, "each of "+node.Foreach)
	}
	if node.When != "" {
		lines = append(lines, "if "+node.When)
	}
	for i, line := range lines {
		if letters := []rune(visible.Line(line)); len(letters) > maxLabel {
			lines[i] = string(letters[:maxLabel-3]) + "..."
		} else {
			lines[i] = string(letters)
		}
	}
	return lines
}

// edgesOf returns the edges by the numbers of the nodes, without those that a longer way
// implies.
func edgesOf(picture flow.Picture) (edges []graph.Edge) {
	number := map[string]int{}
	for i, node := range picture.Nodes {
		number[node.ID] = i
	}
	for _, each := range picture.Edges {
		edges = append(edges, graph.Edge{From: number[each.From], To: number[each.To], Barrier: each.Barrier})
	}
	return graph.Reduce(len(picture.Nodes), edges)
}

// dot writes the language of Graphviz.
func dot(name string, picture flow.Picture) string {
	var out strings.Builder
	fmt.Fprintf(&out, "digraph %s {\n  node [shape=box, fontname=\"monospace\"];\n", strconv.Quote(name))
	quote := strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace
	for _, node := range picture.Nodes {
		style := ""
		if node.Conditional {
			style = ", style=dashed"
		}
		fmt.Fprintf(&out, "  \"%s\" [label=\"%s\"%s];\n", quote(node.ID), strings.ReplaceAll(quote(strings.Join(stepLabel(node), "\n")), "\n", `\n`), style)
	}
	for _, edge := range edgesOf(picture) {
		style := ""
		if edge.Barrier {
			style = " [style=dotted]"
		}
		fmt.Fprintf(&out, "  \"%s\" -> \"%s\"%s;\n", quote(picture.Nodes[edge.From].ID), quote(picture.Nodes[edge.To].ID), style)
	}
	out.WriteString("}\n")
	return out.String()
}

// Sizes of the SVG in pixels, and how many steps are drawn.
const (
	letterWidth = 8
	lineHeight  = 18
	inset       = 12
	maxDrawn    = 2000
)

// svg writes a picture that needs nothing beside it.
func svg(picture flow.Picture) (string, error) {
	if len(picture.Nodes) > maxDrawn {
		return "", fault.New(fault.LimitExceeded, "%d steps; at most %d are drawn", len(picture.Nodes), maxDrawn)
	}
	sizes := make([]graph.Size, len(picture.Nodes))
	for i, node := range picture.Nodes {
		lines := stepLabel(node)
		for _, line := range lines {
			sizes[i].Width = max(sizes[i].Width, letterWidth*len([]rune(line))+2*inset)
		}
		sizes[i].Height = lineHeight*len(lines) + inset
	}
	edges := edgesOf(picture)
	laid := graph.Layout(sizes, edges)
	var out strings.Builder
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %[1]d %[2]d" font-family="monospace" font-size="13">`+"\n", laid.Width, laid.Height)
	out.WriteString(`<style>rect,path{fill:none;stroke:#556}rect{fill:#fff}.conditional{stroke-dasharray:5 3}.check{stroke-dasharray:2 4}text{fill:#223}marker path{fill:#556}</style>` + "\n" +
		`<defs><marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto"><path d="M0 0L8 4L0 8z"/></marker></defs>` + "\n")
	for i, points := range laid.Edges {
		fmt.Fprintf(&out, `<path%s d="%s" marker-end="url(#arrow)"/>`+"\n", class("check", edges[i].Barrier), graph.Curve(points))
	}
	for i, node := range picture.Nodes {
		box := laid.Nodes[i]
		fmt.Fprintf(&out, `<rect%s x="%d" y="%d" width="%d" height="%d" rx="4"/>`+"\n", class("conditional", node.Conditional), box.X, box.Y, box.Width, box.Height)
		for k, line := range stepLabel(node) {
			fmt.Fprintf(&out, `<text x="%d" y="%d">%s</text>`+"\n", box.X+inset, box.Y+lineHeight*(k+1), html.EscapeString(line))
		}
	}
	out.WriteString("</svg>\n")
	return out.String(), nil
}

// class returns the attribute of a class, if it is meant.
func class(name string, is bool) string {
	if !is {
		return ""
	}
	return ` class="` + name + `"`
}
