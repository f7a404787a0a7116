package adopt

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"gonum.org/v1/gonum/graph/formats/dot"
	"gonum.org/v1/gonum/graph/formats/dot/ast"

	"savant/fault"
	"savant/internal/pattern"
)

// What Graphviz reads and the parser does not: two texts that a plus makes one, and commas
// between the nodes of a group.
var (
	joined  = pattern.Lazy(`"\s*\+\s*"`)
	grouped = pattern.Lazy(`\{[^{}\[\]"<]*\}`)
)

// readDOT reads a flowchart in Graphviz' language; first is the line of its first line in
// the document.
func (d *Draft) readDOT(source string, first int) error {
	d.Kind = cmp.Or(d.Kind, "dot")
	readable := grouped().ReplaceAllFunc(joined().ReplaceAll([]byte(source), nil), func(group []byte) []byte { return bytes.ReplaceAll(group, []byte(","), []byte(";")) })
	file, err := dot.ParseBytes(readable)
	if err != nil {
		return fault.New(fault.YAMLSchemaViolation, "this is no graph in DOT: %w", err)
	}
	c := &dotChart{lines: strings.Split(source, "\n"), first: first}
	for _, graph := range file.Graphs {
		if d.Description == "" && d.Kind == "dot" {
			d.Description = unquoted(graph.ID)
		}
		c.strict = graph.Strict
		c.statements(graph.Stmts, "")
	}
	d.readChart(&c.chart)
	return nil
}

// dotChart reads graphs in DOT into a chart.
type dotChart struct {
	chart
	lines  []string
	first  int
	strict bool // there is one edge between two nodes, however often it is written
}

// lineOf returns the first line that has all of some words, whole: the parser keeps no
// places.
func (c *dotChart) lineOf(words ...string) int {
next:
	for i, line := range c.lines {
		rest := line
		for _, word := range words {
			at := strings.Index(rest, word)
			if at < 0 {
				continue next
			}
			rest = rest[at+len(word):]
		}
		return c.first + i
	}
	return c.first
}

// statements reads the statements of a graph or of a part of one, and returns the nodes that
// they name. edgeLabel is that of edges without one.
func (c *dotChart) statements(statements []ast.Stmt, edgeLabel string) (nodes []int) {
	for _, each := range statements {
		switch s := each.(type) {
		case *ast.AttrStmt:
			if s.Kind == ast.EdgeKind {
				edgeLabel = cmp.Or(attribute(s.Attrs, "label"), edgeLabel)
			}
		case *ast.NodeStmt:
			nodes = append(nodes, c.named(s.Node, attribute(s.Attrs, "label")))
		case *ast.EdgeStmt:
			nodes = append(nodes, c.edges(s, edgeLabel)...)
		case *ast.Subgraph:
			nodes = append(nodes, c.statements(s.Stmts, edgeLabel)...)
		}
	}
	return nodes
}

// named returns the node of a name. A label that it has already stays if there is no other.
func (c *dotChart) named(node *ast.Node, label string) int {
	id := unquoted(node.ID)
	quote, _, _ := strings.Cut(cmp.Or(label, id), `\n`)
	return c.node(id, unescaped(label), c.lineOf(node.ID), quote)
}

// edges reads A -> B -> C, where each may be a group of nodes, and returns all of them.
func (c *dotChart) edges(s *ast.EdgeStmt, edgeLabel string) (nodes []int) {
	label := unescaped(cmp.Or(attribute(s.Attrs, "label"), edgeLabel))
	from := c.vertices(s.From, edgeLabel)
	nodes = slices.Clone(from)
	for edge := s.To; edge != nil; edge = edge.To {
		to := c.vertices(edge.Vertex, edgeLabel)
		for _, a := range from {
			for _, b := range to {
				c.edge(arrow{from: a, to: b, label: label, line: c.lineOf(c.nodes[a].id, "->", c.nodes[b].id)})
			}
		}
		from, nodes = to, append(nodes, to...)
	}
	return nodes
}

func (c *dotChart) edge(made arrow) {
	same := func(each arrow) bool { return each.from == made.from && each.to == made.to }
	if at := slices.IndexFunc(c.arrows, same); c.strict && at >= 0 {
		c.arrows[at].label = cmp.Or(made.label, c.arrows[at].label)
		return
	}
	c.arrows = append(c.arrows, made)
}

func (c *dotChart) vertices(vertex ast.Vertex, edgeLabel string) []int {
	switch v := vertex.(type) {
	case *ast.Node:
		return []int{c.named(v, "")}
	case *ast.Subgraph:
		return c.statements(v.Stmts, edgeLabel)
	}
	return nil
}

func attribute(attributes []*ast.Attr, name string) string {
	for _, each := range attributes {
		if strings.EqualFold(each.Key, name) {
			return unquoted(each.Val)
		}
	}
	return ""
}

func unquoted(text string) string {
	if len(text) > 1 && text[0] == '"' && text[len(text)-1] == '"' {
		return strings.ReplaceAll(text[1:len(text)-1], `\"`, `"`)
	}
	if len(text) > 1 && text[0] == '<' && text[len(text)-1] == '>' {
		return strings.TrimSpace(untagged(text[1 : len(text)-1]))
	}
	return text
}

// unescaped replaces Graphviz' line breaks.
func unescaped(label string) string {
	return strings.NewReplacer(`\n`, " ", `\l`, " ", `\r`, " ").Replace(label)
}
