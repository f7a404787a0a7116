package check

import (
	"slices"
	"strings"

	"github.com/expr-lang/expr/ast"

	"savant/think/flow/expression"
)

// fact is a condition that is known to be true, or false, where an expression is reached.
type fact struct {
	node  ast.Node
	holds bool
}

// learn adds what a condition says to facts, taken apart at and, or and not.
func learn(facts []fact, node ast.Node, holds bool) []fact {
	switch n := node.(type) {
	case *ast.UnaryNode:
		if n.Operator == "not" || n.Operator == "!" {
			return learn(facts, n.Node, !holds)
		}
	case *ast.BinaryNode:
		if conjunction(n, holds) {
			return learn(learn(facts, n.Left, holds), n.Right, holds)
		}
	}
	return append(slices.Clip(facts), fact{node, holds})
}

// conjunction reports whether both sides of a condition hold, or both do not.
func conjunction(n *ast.BinaryNode, holds bool) bool {
	if holds {
		return n.Operator == "and" || n.Operator == "&&"
	}
	return n.Operator == "or" || n.Operator == "||"
}

// implied reports whether a condition follows from facts by its wording alone.
func implied(facts []fact, node ast.Node, holds bool) bool {
	switch n := node.(type) {
	case *ast.UnaryNode:
		if n.Operator == "not" || n.Operator == "!" {
			return implied(facts, n.Node, !holds)
		}
	case *ast.BoolNode:
		return n.Value == holds
	case *ast.BinaryNode:
		switch {
		case conjunction(n, holds):
			return implied(facts, n.Left, holds) && implied(facts, n.Right, holds)
		case conjunction(n, !holds) && (implied(facts, n.Left, holds) || implied(facts, n.Right, holds)):
			return true
		}
	}
	wording, positive := worded(node)
	return slices.ContainsFunc(facts, func(known fact) bool {
		other, same := worded(known.node)
		return wording == other && (positive == holds) == (same == known.holds)
	})
}

// worded returns the text of a condition by which it is compared with others; negative
// says that it is the text of the opposite.
func worded(node ast.Node) (text string, positive bool) {
	positive = true
	if n, ok := node.(*ast.BinaryNode); ok && n.Operator == "!=" {
		node, positive = &ast.BinaryNode{Operator: "==", Left: n.Left, Right: n.Right}, false
	}
	return strings.NewReplacer("state.", "", "params.", "", " and ", " && ", " or ", " || ").Replace(node.String()), positive
}

// An assumption says that a value is not there. What conditions give under it tells
// whether they exclude it.
type assumption struct {
	of absence
	// path is the read of the value, as chain gives it.
	path []string
	// step is the id of a step that has a status.
	step, status string
}

type absence uint8

const (
	skipped absence = iota // the step of a capture was skipped
	nothing                // the value is null
	missing                // the object has no such field
)

// excluded reports whether facts contradict the assumption.
func (a assumption) excluded(facts []fact) bool {
	return slices.ContainsFunc(facts, func(known fact) bool {
		found := a.guess(known.node, false)
		return found.fails || found.known && found.value != known.holds
	})
}

// suggested reports whether a fact is what the assumption leads to.
func (a assumption) suggested(facts []fact) bool {
	return slices.ContainsFunc(facts, func(known fact) bool {
		found := a.guess(known.node, false)
		return found.known && found.value == known.holds
	})
}

// guess is what is known of a value: it is known, or its evaluation fails, or neither.
type guess struct {
	known, fails bool
	value        any
}

func is(value any) guess { return guess{known: true, value: value} }

// guess evaluates a condition as far as the assumption decides it.
func (a assumption) guess(node ast.Node, soft bool) guess {
	switch n := node.(type) {
	case *ast.NilNode:
		return is(nil)
	case *ast.BoolNode:
		return is(n.Value)
	case *ast.IntegerNode:
		return is(n.Value)
	case *ast.StringNode:
		return is(n.Value)
	case *ast.IdentifierNode, *ast.MemberNode, *ast.ChainNode, *ast.PointerNode:
		if isNull(n) {
			return is(nil)
		}
		return a.read(n, soft)
	case *ast.UnaryNode:
		return a.unary(n)
	case *ast.BinaryNode:
		return a.binary(n, soft)
	case *ast.ConditionalNode:
		switch condition := a.guess(n.Cond, false); {
		case condition.fails:
			return condition
		case condition.known && condition.value == true:
			return a.guess(n.Exp1, soft)
		case condition.known:
			return a.guess(n.Exp2, soft)
		}
	case *ast.ArrayNode:
		if len(n.Nodes) == 0 {
			return is([0]any{})
		}
	case *ast.BuiltinNode:
		return a.call(n.Name, n.Arguments)
	case *ast.CallNode:
		if name, ok := n.Callee.(*ast.IdentifierNode); ok {
			return a.call(name.Value, n.Arguments)
		}
	}
	return guess{}
}

// read guesses the value of a name and its members.
func (a assumption) read(node ast.Node, soft bool) guess {
	names, optional := chain(node)
	if a.step != "" && len(names) == 3 && names[0] == "steps" && names[1] == "."+a.step {
		return a.ofStep(names[2])
	}
	at := len(a.path)
	if at == 0 || len(names) < at || !slices.Equal(names[:at], a.path) {
		return guess{}
	}
	switch last := len(names) == at; {
	case a.of == missing && !optional[at-1], !last && !optional[at]:
		return guess{fails: true}
	case a.of == skipped && last && !soft:
		return guess{fails: true}
	}
	return is(nil)
}

// present is a value of which only is known that it is not null.
type present struct{}

// ofStep guesses a field of the step whose status is assumed.
func (a assumption) ofStep(field string) guess {
	switch {
	case field == ".status":
		return is(a.status)
	case field == ".reason" && a.status == "skipped", field == ".error" && a.status == "failed":
		return is(present{})
	case field == ".reason", field == ".error":
		return is(nil)
	}
	return guess{}
}

// chain returns the names of a read, "state." and "params." left out, and which of them
// stand behind ?.; nil for a computed one.
func chain(node ast.Node) (names []string, optional []bool) {
	base, links := expression.Flatten(node)
	switch n := base.(type) {
	case *ast.IdentifierNode:
		names = []string{n.Value}
	case *ast.PointerNode:
		names = []string{"#" + n.Name}
	default:
		return nil, nil
	}
	optional = []bool{false}
	for _, each := range links {
		name := strings.TrimPrefix(spelled("x", each.Key), "x")
		if name == "" {
			break
		}
		if len(names) == 1 && (names[0] == "state" || names[0] == "params") {
			names[0] = strings.TrimPrefix(name, ".")
			continue
		}
		names, optional = append(names, name), append(optional, each.Optional)
	}
	return names, optional
}

func (a assumption) unary(n *ast.UnaryNode) guess {
	operand := a.guess(n.Node, false)
	if value, ok := operand.value.(bool); ok && (n.Operator == "not" || n.Operator == "!") {
		return is(!value)
	}
	return guess{fails: operand.fails || operand.known && operand.value == nil}
}

func (a assumption) binary(n *ast.BinaryNode, soft bool) guess {
	left := a.guess(n.Left, n.Operator == "??")
	switch {
	case left.fails:
		return left
	case n.Operator == "??" && left.known && left.value == nil:
		return a.guess(n.Right, soft)
	case n.Operator == "??":
		return left
	}
	if n.Operator == "in" || n.Operator == "not in" {
		return a.membership(n, left)
	}
	switch or := n.Operator == "or" || n.Operator == "||"; {
	case !or && n.Operator != "and" && n.Operator != "&&":
		return a.operation(n.Operator, left, a.guess(n.Right, false))
	case !left.known:
		if right := a.guess(n.Right, false); right.known && right.value == or {
			return right
		}
		return guess{}
	case left.value == or:
		return left
	}
	return a.guess(n.Right, false)
}

// membership guesses whether a value is in a list that is written out, or a field in the
// object that lacks it.
func (a assumption) membership(n *ast.BinaryNode, left guess) guess {
	negated := n.Operator == "not in"
	if last := len(a.path) - 1; a.of == missing && left.known {
		names, _ := chain(n.Right)
		if name, ok := left.value.(string); ok && "."+name == a.path[last] && slices.Equal(names, a.path[:last]) {
			return is(negated)
		}
	}
	members, ok := n.Right.(*ast.ArrayNode)
	if !ok || !left.known {
		return guess{fails: a.guess(n.Right, false).fails}
	}
	for _, each := range members.Nodes {
		switch member := a.guess(each, false); {
		case !member.known:
			return guess{fails: member.fails}
		case member.value == left.value:
			return is(!negated)
		}
	}
	return is(negated)
}

// operation guesses what an operator gives, whose operands are both evaluated.
func (a assumption) operation(operator string, left, right guess) guess {
	switch {
	case left.fails || right.fails:
		return guess{fails: true}
	case operator == "==" && left.known && right.known:
		return is(left.value == right.value)
	case operator == "!=" && left.known && right.known:
		return is(left.value != right.value)
	case operator == "==", operator == "!=":
		return guess{}
	case left.known && left.value == nil, right.known && right.value == nil:
		return guess{fails: true} // no other operator takes null
	case !left.known || !right.known:
		return guess{}
	}
	switch a := left.value.(type) {
	case string:
		if b, ok := right.value.(string); ok {
			return ofTexts(operator, a, b)
		}
	case int:
		if b, ok := right.value.(int); ok {
			return ordered(operator, a, b)
		}
	}
	return guess{}
}

func ofTexts(operator, a, b string) guess {
	switch operator {
	case "contains":
		return is(strings.Contains(a, b))
	case "startsWith":
		return is(strings.HasPrefix(a, b))
	case "endsWith":
		return is(strings.HasSuffix(a, b))
	}
	return ordered(operator, a, b)
}

func ordered[T int | string](operator string, a, b T) guess {
	switch operator {
	case "<":
		return is(a < b)
	case "<=":
		return is(a <= b)
	case ">":
		return is(a > b)
	case ">=":
		return is(a >= b)
	}
	return guess{}
}

func (a assumption) call(name string, arguments []ast.Node) guess {
	if len(arguments) == 0 {
		return guess{}
	}
	argument := a.guess(arguments[0], false)
	switch {
	case argument.fails:
		return argument
	case name == "type" && argument.known && argument.value == nil:
		return is("nil")
	case name == "len" && argument.known && argument.value != nil:
		switch v := argument.value.(type) {
		case string:
			return is(len([]rune(v)))
		case [0]any:
			return is(0)
		}
	case argument.known && argument.value == nil && name != "string" && name != "toJSON":
		return guess{fails: true}
	}
	return guess{}
}
