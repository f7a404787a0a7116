package adopt

import (
	"cmp"
	"strings"

	"gonum.org/v1/gonum/graph/formats/dot"
	"gonum.org/v1/gonum/graph/formats/dot/ast"

	"savant/fault"
)

// readDOT reads a flowchart in Graphviz' language.
func (d *Draft) readDOT(source []byte) error {
	d.Kind = "dot"
	file, err := dot.ParseBytes(source)
	if err != nil {
		return fault.New(fault.YAMLSchemaViolation, "this is no graph in DOT: %w", err)
	}
	c := &chart{}
	lines := strings.Split(string(source), "\n")
	for _, graph := range file.Graphs {
		if d.Description == "" && graph.ID != "" {
			d.Description = unquoted(graph.ID)
		}
		c.statements(graph.Stmts, lines)
	}
	d.readChart(c)
	return nil
}

// lineOf returns the first line that has all of some words, whole: the parser keeps no
// places.
func lineOf(lines []string, words ...string) int {
next:
	for i, line := range lines {
		rest := line
		for _, word := range words {
			at := strings.Index(rest, word)
			if at < 0 {
				continue next
			}
			rest = rest[at+len(word):]
		}
		return i + 1
	}
	return 1
}

func (c *chart) statements(statements []ast.Stmt, lines []string) {
	for _, each := range statements {
		switch s := each.(type) {
		case *ast.NodeStmt:
			label := attribute(s.Attrs, "label")
			quote, _, _ := strings.Cut(label, `\n`)
			c.node(unquoted(s.Node.ID), unescaped(label), lineOf(lines, s.Node.ID), cmp.Or(quote, unquoted(s.Node.ID)))
		case *ast.EdgeStmt:
			c.edges(s, lines)
		case *ast.Subgraph:
			c.statements(s.Stmts, lines)
		}
	}
}

// edges reads A -> B -> C, where each may be a group of nodes.
func (c *chart) edges(s *ast.EdgeStmt, lines []string) {
	label := unescaped(attribute(s.Attrs, "label"))
	from := c.vertices(s.From, lines)
	for edge := s.To; edge != nil; edge = edge.To {
		to := c.vertices(edge.Vertex, lines)
		for _, a := range from {
			for _, b := range to {
				c.arrows = append(c.arrows, arrow{from: a, to: b, label: label, line: lineOf(lines, c.nodes[a].id, "->", c.nodes[b].id)})
			}
		}
		from = to
	}
}

func (c *chart) vertices(vertex ast.Vertex, lines []string) []int {
	switch v := vertex.(type) {
	case *ast.Node:
		id := unquoted(v.ID)
		return []int{c.node(id, "", lineOf(lines, v.ID), id)}
	case *ast.Subgraph:
		c.statements(v.Stmts, lines)
		var found []int
		for _, each := range v.Stmts {
			if s, is := each.(*ast.NodeStmt); is {
				found = append(found, c.node(unquoted(s.Node.ID), "", 1, unquoted(s.Node.ID)))
			}
		}
		return found
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
	return text
}

// unescaped replaces Graphviz' line breaks.
func unescaped(label string) string {
	return strings.NewReplacer(`\n`, " ", `\l`, " ", `\r`, " ").Replace(label)
}
