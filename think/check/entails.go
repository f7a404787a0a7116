package check

import (
	"maps"

	"github.com/expr-lang/expr/ast"

	"savant/internal/jsonvalue"
	"savant/think/flow/expression"
)

// maxParts bounds the parts of conditions of which every combination is tried.
const maxParts = 10

// truths are the parts of conditions that may be true or false, by their text.
type truths map[string]int

// entails reports whether a condition holds, or does not, in every case in which facts do:
// of a chain of if and else the last one, where the others do not hold.
func entails(facts []fact, node ast.Node, holds bool) bool {
	parts := truths{}
	goal := parts.formula(node, nil)
	if len(parts) > maxParts {
		return false
	}
	var known []func(row int) bool
	for _, each := range facts {
		more := maps.Clone(parts)
		if formula := more.formula(each.node, each.locals); len(more) <= maxParts {
			parts, known = more, append(known, func(row int) bool { return formula(row) == each.holds })
		}
	}
	for row := range 1 << len(parts) {
		possible := goal(row) != holds
		for at := 0; possible && at < len(known); at++ {
			possible = known[at](row)
		}
		if possible {
			return false
		}
	}
	return true
}

// formula returns what a condition is in a row of the table, whose bits are the parts.
func (t truths) formula(node ast.Node, in locals) func(row int) bool {
	switch n := node.(type) {
	case *ast.UnaryNode:
		if negates(n) {
			inner := t.formula(n.Node, in)
			return func(row int) bool { return !inner(row) }
		}
	case *ast.BinaryNode:
		if list, isList := n.Right.(*ast.ArrayNode); isList && n.Operator == "in" && len(list.Nodes) <= maxParts {
			return t.anyOf(n.Left, list.Nodes, in)
		}
		if all := conjunction(n, true); all || conjunction(n, false) {
			left, right := t.formula(n.Left, in), t.formula(n.Right, in)
			return func(row int) bool {
				if first := left(row); first != all {
					return first
				}
				return right(row)
			}
		}
	}
	text, positive := in.condition(node)
	at, known := t[text]
	if !known {
		at = len(t)
		t[text] = at
	}
	return func(row int) bool { return row>>at&1 == 1 == positive }
}

// anyOf returns whether a value is one of several.
func (t truths) anyOf(value ast.Node, members []ast.Node, in locals) func(row int) bool {
	each := make([]func(row int) bool, len(members))
	for i, member := range members {
		each[i] = t.formula(&ast.BinaryNode{Operator: "==", Left: value, Right: member}, in)
	}
	return func(row int) bool {
		for _, same := range each {
			if same(row) {
				return true
			}
		}
		return false
	}
}

// domains returns what the types say of the values that a condition compares: each is one
// of those that there are.
func (i *inference) domains(condition ast.Node) []fact {
	compared := &comparisons{}
	ast.Walk(&condition, compared)
	var facts []fact
	for _, each := range compared.reads {
		quiet := inference{scope: i.scope, program: i.program, locals: map[string]*Type{}, values: locals{}}
		quiet.skips = nil
		found := quiet.node(each, false)
		if len(found.values) == 0 || len(found.values) > maxParts {
			continue
		}
		data, err := jsonvalue.Encode(found.values)
		if err != nil {
			continue
		}
		if list, err := expression.Compile(string(data), expression.Scope{}); err == nil {
			if members, err := list.Parse(); err == nil {
				facts = append(facts, fact{node: &ast.BinaryNode{Operator: "in", Left: each, Right: members}, holds: true})
			}
		}
	}
	return facts
}

// comparisons gathers the reads that a condition compares.
type comparisons struct{ reads []ast.Node }

// Visit takes what stands on the sides of a comparison.
func (c *comparisons) Visit(node *ast.Node) {
	n, is := (*node).(*ast.BinaryNode)
	if !is || n.Operator != "==" && n.Operator != "!=" && n.Operator != "in" {
		return
	}
	for _, side := range []ast.Node{n.Left, n.Right} {
		if names, _ := locals(nil).chain(side); names != nil {
			c.reads = append(c.reads, side)
		}
	}
}
