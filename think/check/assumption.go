package check

import (
	"fmt"
	"slices"
	"strings"

	"github.com/expr-lang/expr/ast"

	"savant/internal/jsonvalue"
	"savant/think/flow/expression"
)

// An assumption says that a value is not there, or what values are. What conditions give
// under it tells whether they exclude it.
type assumption struct {
	of absence
	// path is the read of the value, as chain gives it; nil for none.
	path []string
	// step is the id of a step that has a status.
	step, status string
	// values are what parts give of which nothing else is known, by their text.
	values map[string]guess
	// results are what expressions gave before, by their text.
	results map[string]guess
	locals  locals
	left    *int // how many nodes may still be looked at
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
		found := a.guessOf(known)
		return found.fails || found.known && found.value != known.holds
	})
}

// suggested reports whether a fact is what the assumption leads to.
func (a assumption) suggested(facts []fact) bool {
	return slices.ContainsFunc(facts, func(known fact) bool {
		found := a.guessOf(known)
		return found.known && found.value == known.holds
	})
}

// guess is what is known of a value: it is known, or its evaluation fails, or neither.
type guess struct {
	known, fails bool
	value        any
}

func guessOf(value any) guess { return guess{known: true, value: value} }

// present is a value of which only is known that it is not null.
type present struct{}

// maxGuessed bounds the nodes of one condition that are looked at.
const maxGuessed = 2000

func (a assumption) guessOf(condition fact) guess {
	left := maxGuessed
	a.locals, a.left = condition.locals, &left
	return a.guess(condition.node, false)
}

// guess evaluates a node as far as the assumption decides it. soft says that null is
// expected.
func (a assumption) guess(node ast.Node, soft bool) guess {
	if *a.left--; *a.left < 0 {
		return guess{}
	}
	found := a.structure(node, soft)
	if found.known || found.fails || len(a.values) == 0 {
		return found
	}
	text, positive := a.locals.condition(node)
	if value, given := a.values[text]; given {
		if truth, is := value.value.(bool); is && !positive {
			return guessOf(!truth)
		}
		return value
	}
	return found
}

// structure evaluates a node from its parts.
func (a assumption) structure(node ast.Node, soft bool) guess {
	switch n := node.(type) {
	case *ast.NilNode:
		return guessOf(nil)
	case *ast.BoolNode:
		return guessOf(n.Value)
	case *ast.IntegerNode:
		return guessOf(n.Value)
	case *ast.FloatNode:
		return guessOf(n.Value)
	case *ast.StringNode:
		return guessOf(n.Value)
	case *ast.IdentifierNode, *ast.MemberNode, *ast.ChainNode, *ast.PointerNode:
		return a.read(n, soft)
	case *ast.UnaryNode:
		return a.evaluated(n.Operator+" %s", a.guess(n.Node, false))
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
	case *ast.VariableDeclaratorNode:
		if value := a.guess(n.Value, false); value.fails {
			return value
		}
		a.locals = a.locals.with(n.Name, n.Value, a.locals)
		return a.guess(n.Expr, soft)
	case *ast.ArrayNode:
		return a.list(n.Nodes)
	case *ast.MapNode:
		if len(n.Pairs) == 0 {
			return guessOf(map[string]any{})
		}
	case *ast.BuiltinNode, *ast.CallNode:
		return a.call(functionCall(n))
	}
	return guess{}
}

// evaluated returns what an expression gives for its operands, which are all evaluated.
func (a assumption) evaluated(format string, operands ...guess) guess {
	texts := make([]any, len(operands))
	all := true
	for i, each := range operands {
		if each.fails {
			return each
		}
		data, err := jsonvalue.Encode(each.value)
		texts[i] = "(" + string(data) + ")"
		all = all && each.known && err == nil && each.value != any(present{})
	}
	if !all {
		return guess{}
	}
	text := fmt.Sprintf(format, texts...)
	if before, evaluated := a.results[text]; evaluated {
		return before
	}
	result := guess{}
	if program, err := expression.Compile(text, expression.Scope{}); err == nil {
		value, err := program.Eval(expression.Env{})
		result = guess{known: err == nil, fails: err != nil, value: value}
	}
	if a.results != nil {
		a.results[text] = result
	}
	return result
}

func (a assumption) list(nodes []ast.Node) guess {
	items := []any{}
	for _, each := range nodes {
		item := a.guess(each, false)
		if !item.known || item.value == any(present{}) {
			return guess{fails: item.fails}
		}
		items = append(items, item.value)
	}
	return guessOf(items)
}

// read guesses the value of a name and its members.
func (a assumption) read(node ast.Node, soft bool) guess {
	if named, known := a.locals.localOf(node); known {
		a.locals = named.in
		return a.guess(named.value, false)
	}
	names, optional := a.locals.chain(node)
	at := len(a.path)
	switch {
	case isNull(node):
		return guessOf(nil)
	case names == nil:
		return a.member(node)
	case a.step != "" && len(names) == 3 && names[0] == "steps" && names[1] == memberName(a.step):
		return a.ofStep(names[2])
	case at == 0 || len(names) < at || !slices.Equal(names[:at], a.path):
		return guess{}
	}
	switch last := len(names) == at; {
	case a.of == missing && !optional[at-1], !last && !optional[at]:
		return guess{fails: true}
	case a.of == skipped && last && !soft:
		return guess{fails: true}
	}
	return guessOf(nil)
}

// member guesses a member of a value that is computed: null and {} have none.
func (a assumption) member(node ast.Node) guess {
	base, links := expression.Flatten(node)
	if n, ok := base.(*ast.BinaryNode); ok && n.Operator == "??" && len(links) > 0 {
		left := links[0]
		left.Optional = true
		first, second := a.guess(follow(n.Left, left, links[1:]), false), a.guess(follow(n.Right, links[0], links[1:]), false)
		if first.known && second.known && a.operation("==", first, second).value == true {
			return first
		}
	}
	switch of := a.guess(base, false); {
	case of.fails, len(links) == 0:
		return of
	case !of.known || of.value != nil && jsonvalue.Kind(of.value) != "object":
		return guess{}
	case links[0].Optional:
		return guessOf(nil)
	}
	return guess{fails: true}
}

// follow makes a node that reads members of a value.
func follow(of ast.Node, first expression.Link, rest []expression.Link) ast.Node {
	read := ast.Node(&ast.MemberNode{Node: of, Property: first.Key, Optional: first.Optional})
	for _, each := range rest {
		read = &ast.MemberNode{Node: read, Property: each.Key, Optional: each.Optional}
	}
	return read
}

// ofStep guesses a field of the step whose status is assumed.
func (a assumption) ofStep(field string) guess {
	switch {
	case field == ".status":
		return guessOf(a.status)
	case field == ".reason" && a.status == "skipped", field == ".error" && a.status == "failed":
		return guessOf(present{})
	case field == ".reason", field == ".error":
		return guessOf(nil)
	}
	return guess{}
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
	case n.Operator == "in":
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

// operation guesses what an operator gives, whose operands are both evaluated.
func (a assumption) operation(operator string, left, right guess) guess {
	equality := operator == "==" || operator == "!="
	null := func(g guess) bool { return g.known && g.value == nil }
	there := func(g guess) bool { return g.value == any(present{}) }
	switch {
	case left.fails || right.fails:
		return guess{fails: true}
	case equality && (null(left) && there(right) || there(left) && null(right)):
		return guessOf(operator == "!=")
	case !equality && (null(left) && operator != "in" || null(right)):
		return guess{fails: true} // no other operator takes null
	}
	if comparisonOperators[operator] {
		left, right = left.against(right), right.against(left)
	}
	return a.evaluated("%s "+strings.ReplaceAll(operator, "%", "%%")+" %s", left, right)
}

// membership guesses whether a value is in a list that is written out, a field in the
// object that lacks it, or the step among those that failed.
func (a assumption) membership(n *ast.BinaryNode, left guess) guess {
	if name, isText := left.value.(string); isText {
		if a.lacks(n.Right, name) {
			return guessOf(false)
		}
		if names, _ := a.locals.chain(n.Right); a.step == name && slices.Equal(names, []string{"run", ".failed"}) {
			return guessOf(a.status == "failed")
		}
	}
	members, ok := n.Right.(*ast.ArrayNode)
	if !ok {
		return a.operation(n.Operator, left, a.guess(n.Right, false))
	}
	known := true
	for _, each := range members.Nodes {
		switch same := a.guess(&ast.BinaryNode{Operator: "==", Left: n.Left, Right: each}, false); {
		case same.fails:
			return same
		case same.known && same.value == true:
			return guessOf(true)
		case !same.known:
			known = false
		}
	}
	return guess{known: known, value: false}
}

// lacks reports whether a node is the object, or its keys, in which the field is missing.
func (a assumption) lacks(node ast.Node, field string) bool {
	if named, known := a.locals.localOf(node); known {
		a.locals = named.in
		return a.lacks(named.value, field)
	}
	if name, arguments := functionCall(node); name == "keys" && len(arguments) == 1 {
		node = arguments[0]
	}
	last := len(a.path) - 1
	names, _ := a.locals.chain(node)
	return a.of == missing && last >= 0 && a.path[last] == memberName(field) && slices.Equal(names, a.path[:last])
}

func (a assumption) call(name string, arguments []ast.Node) guess {
	if len(arguments) == 0 {
		return guess{}
	}
	if predicate, ok := arguments[len(arguments)-1].(*ast.PredicateNode); ok {
		return a.overItems(name, arguments[0], predicate.Node)
	}
	operands := make([]guess, len(arguments))
	for i, each := range arguments {
		if operands[i] = a.guess(each, false); operands[i].fails {
			return operands[i]
		}
	}
	if first := operands[0]; first.known && first.value == nil && name != "type" && name != "string" && name != "toJSON" {
		return guess{fails: true}
	}
	return a.evaluated(name+"("+strings.TrimSuffix(strings.Repeat("%s, ", len(operands)), ", ")+")", operands...)
}

// overItems guesses what a function gives that evaluates a predicate for the items of a
// list, where they are written out.
func (a assumption) overItems(name string, list, predicate ast.Node) guess {
	var items []ast.Node
	switch written, isList := list.(*ast.ArrayNode); {
	case isList:
		items = written.Nodes
	default:
		found := a.guess(list, false)
		if empty, ok := found.value.([]any); !ok || len(empty) > 0 {
			return guess{fails: found.fails || found.known && found.value == nil}
		}
	}
	matches, misses, all := 0, 0, true
	for _, item := range items {
		inner := a
		inner.locals = a.locals.with("#", item, a.locals)
		switch found := inner.guess(predicate, false); {
		case found.fails && all && matches == 0:
			return found
		case !found.known:
			all = false
		case found.value == true:
			matches++
		default:
			misses++
		}
	}
	switch {
	case name == "any" && (all || matches > 0):
		return guessOf(matches > 0)
	case name == "none" && (all || matches > 0):
		return guessOf(matches == 0)
	case name == "all" && (all || misses > 0):
		return guessOf(misses == 0)
	case !all:
	case name == "one":
		return guessOf(matches == 1)
	case name == "count":
		return guessOf(matches)
	case name == "filter" && matches == 0, name == "map" && len(items) == 0:
		return guessOf([]any{})
	case name == "find" && matches == 0:
		return guessOf(nil)
	}
	return guess{}
}
