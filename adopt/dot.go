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
func (d *Draft) readDOT(source string, first int, above string) ([]*Step, error) {
	d.Kind = cmp.Or(d.Kind, "dot")
	readable := grouped().ReplaceAllFunc(joined().ReplaceAll([]byte(source), nil), func(group []byte) []byte { return bytes.ReplaceAll(group, []byte(","), []byte(";")) })
	file, err := dot.ParseBytes(readable)
	if err != nil {
		return nil, fault.New(fault.YAMLSchemaViolation, "this is no graph in DOT: %w", err)
	}
	c := &dotChart{lines: strings.Split(source, "\n"), first: first, edges: map[[2]string]*arrow{}}
	for _, graph := range file.Graphs {
		if d.Description == "" && d.Kind == "dot" {
			d.Description = unquoted(graph.ID)
		}
		c.strict = graph.Strict
		c.statements(graph.Stmts, "")
	}
	return d.readChart(&c.chart, above)
}

// dotChart reads graphs in DOT into a chart.
type dotChart struct {
	chart
	lines  []string
	first  int
	at     int                  // the line of what was read last
	strict bool                 // there is one edge between two nodes, however often it is written
	edges  map[[2]string]*arrow // of a strict graph
}

// maxAhead is how many lines further on a node or an edge is looked for.
const maxAhead = 1000

// lineOf returns the line that has some words in their order, at or behind what was read
// last: the parser keeps no places.
func (c *dotChart) lineOf(words ...string) int {
next:
	for i, line := range c.lines[c.at:min(c.at+maxAhead, len(c.lines))] {
		for _, word := range words {
			_, behind, has := strings.Cut(line, word)
			if !has {
				continue next
			}
			line = behind
		}
		c.at += i
		break
	}
	return c.first + c.at
}

// statements reads the statements of a graph or of a part of one, and returns the nodes that
// they name. edgeLabel is that of edges without one.
func (c *dotChart) statements(statements []ast.Stmt, edgeLabel string) (nodes []*node) {
	for _, each := range statements {
		switch s := each.(type) {
		case *ast.AttrStmt:
			if s.Kind == ast.EdgeKind {
				edgeLabel = cmp.Or(attribute(s.Attrs, "label"), edgeLabel)
			}
		case *ast.NodeStmt:
			nodes = append(nodes, c.named(s.Node, attribute(s.Attrs, "label")))
		case *ast.EdgeStmt:
			nodes = append(nodes, c.chain(s, edgeLabel)...)
		case *ast.Subgraph:
			nodes = append(nodes, c.statements(s.Stmts, edgeLabel)...)
		}
	}
	return nodes
}

// named returns the node of a name. A label that it has already stays if there is no other.
func (c *dotChart) named(written *ast.Node, label string) *node {
	id := unquoted(written.ID)
	quote, _, _ := strings.Cut(cmp.Or(label, id), `\n`)
	return c.node(id, unescaped(label), c.lineOf(written.ID), quote)
}

// chain reads A -> B -> C, where each may be a group of nodes, and returns all of them.
func (c *dotChart) chain(s *ast.EdgeStmt, edgeLabel string) (nodes []*node) {
	label := unescaped(cmp.Or(attribute(s.Attrs, "label"), edgeLabel))
	from := c.vertices(s.From, edgeLabel)
	nodes = slices.Clone(from)
	for edge := s.To; edge != nil; edge = edge.To {
		to := c.vertices(edge.Vertex, edgeLabel)
		for _, a := range from {
			for _, b := range to {
				if c.large {
					return nil
				}
				c.edge(a, b, label)
			}
		}
		from, nodes = to, append(nodes, to...)
	}
	return nodes
}

func (c *dotChart) edge(from, to *node, label string) {
	between := [2]string{from.id, to.id}
	if same := c.edges[between]; same != nil && c.strict {
		same.label = cmp.Or(label, same.label)
		return
	}
	c.edges[between] = c.arrow(from, to, label, c.lineOf(from.id, "->", to.id))
}

func (c *dotChart) vertices(vertex ast.Vertex, edgeLabel string) []*node {
	switch v := vertex.(type) {
	case *ast.Node:
		return []*node{c.named(v, "")}
	case *ast.Subgraph:
		return compact(c.statements(v.Stmts, edgeLabel))
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
