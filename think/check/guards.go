package check

import (
	"maps"
	"slices"
	"strings"

	"github.com/expr-lang/expr/ast"

	"savant/think/flow/expression"
)

// fact is a condition that is known to be true, or false, where an expression is reached.
type fact struct {
	node   ast.Node
	holds  bool
	locals locals
}

// locals are the values of names that let gives, and of # where it is known.
type locals map[string]local

type local struct {
	value ast.Node
	in    locals // those of the value
	text  string
}

// with adds a name.
func (l locals) with(name string, value ast.Node, in locals) locals {
	all := maps.Clone(l)
	if all == nil {
		all = locals{}
	}
	text := in.text(value)
	if len(text) > maxWorded {
		text = "#" + name // names may double a text each
	}
	all[name] = local{value, in, text}
	return all
}

// maxWorded bounds the text of a name's value by which conditions are compared.
const maxWorded = 1000

// nameOf returns a name, or #, as written; "" for other nodes.
func nameOf(node ast.Node) string {
	switch n := node.(type) {
	case *ast.IdentifierNode:
		return n.Value
	case *ast.PointerNode:
		return "#" + n.Name
	}
	return ""
}

// localOf returns what a name, or #, stands for.
func (l locals) localOf(node ast.Node) (local, bool) {
	found, known := l[nameOf(node)]
	return found, known
}

// learn adds what a condition says to facts, taken apart at and, or and not.
func learn(facts []fact, node ast.Node, holds bool, in locals) []fact {
	if named, known := in.localOf(node); known {
		return learn(facts, named.value, holds, named.in)
	}
	switch n := node.(type) {
	case *ast.UnaryNode:
		if negates(n) {
			return learn(facts, n.Node, !holds, in)
		}
	case *ast.BinaryNode:
		if conjunction(n, holds) {
			return learn(learn(facts, n.Left, holds, in), n.Right, holds, in)
		}
	case *ast.VariableDeclaratorNode:
		return learn(facts, n.Expr, holds, in.with(n.Name, n.Value, in))
	}
	return append(slices.Clip(facts), fact{node, holds, in})
}

func negates(n *ast.UnaryNode) bool { return n.Operator == "not" || n.Operator == "!" }

// conjunction reports whether both sides of a condition hold, or both do not.
func conjunction(n *ast.BinaryNode, holds bool) bool {
	if holds {
		return n.Operator == "and" || n.Operator == "&&"
	}
	return n.Operator == "or" || n.Operator == "||"
}

// followsFrom reports whether a condition follows from facts: part by part they say the
// same, or they give the values that decide it.
func followsFrom(facts []fact, node ast.Node, holds bool, typeOf func(ast.Node) *Type) bool {
	switch n := node.(type) {
	case *ast.UnaryNode:
		if negates(n) {
			return followsFrom(facts, n.Node, !holds, typeOf)
		}
	case *ast.BinaryNode:
		switch {
		case conjunction(n, holds):
			return followsFrom(facts, n.Left, holds, typeOf) && followsFrom(facts, n.Right, holds, typeOf)
		case conjunction(n, !holds) && (followsFrom(facts, n.Left, holds, typeOf) || followsFrom(facts, n.Right, holds, typeOf)):
			return true
		}
	}
	text, positive := locals(nil).condition(node)
	said := slices.ContainsFunc(facts, func(known fact) bool {
		same, agrees := known.locals.condition(known.node)
		return same == text && (agrees == positive) == (known.holds == holds)
	})
	return said || entails(facts, node, holds, typeOf)
}

// condition returns the text of a condition by which it is compared with others, equal
// for conditions that say the same; not positive says that it is the text of the
// opposite.
func (l locals) condition(node ast.Node) (text string, positive bool) {
	switch n := node.(type) {
	case *ast.UnaryNode:
		if negates(n) {
			text, positive = l.condition(n.Node)
			return text, !positive
		}
	case *ast.BinaryNode:
		left, right := l.text(n.Left), l.text(n.Right)
		positive = n.Operator != "!=" && n.Operator != "<=" && n.Operator != ">="
		switch n.Operator {
		case "==", "!=":
			return min(left, right) + " == " + max(left, right), positive
		case ">", "<=":
			left, right = right, left
		case "<", ">=":
		default:
			return l.text(n), true
		}
		return left + " < " + right, positive
	}
	return l.text(node), true
}

// text writes a node so that those that give the same are written alike.
func (l locals) text(node ast.Node) string {
	if named, known := l.localOf(node); known {
		return named.text
	}
	switch n := node.(type) {
	case *ast.IdentifierNode, *ast.MemberNode, *ast.ChainNode, *ast.PointerNode:
		if names, _ := l.chain(n); names != nil {
			return strings.Join(names, "")
		}
	case *ast.BinaryNode:
		return "(" + l.text(n.Left) + " " + strings.NewReplacer("and", "&&", "or", "||").Replace(n.Operator) + " " + l.text(n.Right) + ")"
	case *ast.UnaryNode:
		return strings.Replace(n.Operator, "not", "!", 1) + l.text(n.Node)
	case *ast.BuiltinNode, *ast.CallNode:
		name, arguments := functionCall(n)
		return name + l.texts(arguments)
	case *ast.PredicateNode:
		return l.text(n.Node)
	}
	return node.String()
}

func (l locals) texts(nodes []ast.Node) string {
	all := make([]string, len(nodes))
	for i, each := range nodes {
		all[i] = l.text(each)
	}
	return "(" + strings.Join(all, ", ") + ")"
}

// chain returns the names of a read, "state." and "params." left out, and which of them
// stand behind ?.; nil for a read of a computed value.
func (l locals) chain(node ast.Node) (names []string, optional []bool) {
	base, links := expression.Flatten(node)
	if named, known := l.localOf(base); known {
		if names, optional = named.in.chain(named.value); names == nil {
			return nil, nil
		}
	} else {
		switch n := base.(type) {
		case *ast.IdentifierNode:
			names = []string{n.Value}
		case *ast.PointerNode:
			names = []string{"#" + n.Name}
		default:
			return nil, nil
		}
		optional = []bool{false}
	}
	for _, each := range links {
		name := memberText(each.Key)
		if len(names) == 1 && (names[0] == "state" || names[0] == "params") {
			names = []string{strings.TrimPrefix(name, ".")}
			continue
		}
		names, optional = append(slices.Clip(names), name), append(slices.Clip(optional), each.Optional)
	}
	return names, optional
}
