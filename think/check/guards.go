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
func followsFrom(facts []fact, node ast.Node, holds bool) bool {
	switch n := node.(type) {
	case *ast.UnaryNode:
		if negates(n) {
			return followsFrom(facts, n.Node, !holds)
		}
	case *ast.BinaryNode:
		switch {
		case conjunction(n, holds):
			return followsFrom(facts, n.Left, holds) && followsFrom(facts, n.Right, holds)
		case conjunction(n, !holds) && (followsFrom(facts, n.Left, holds) || followsFrom(facts, n.Right, holds)):
			return true
		}
	}
	return entails(facts, node, holds) || isDecided(facts, node, holds)
}

// isDecided reports whether the values that facts give decide a condition.
func isDecided(facts []fact, node ast.Node, holds bool) bool {
	values := map[string]any{}
	var choices []fact // one of several values
	for _, known := range facts {
		switch text, all := known.values(); len(all) {
		case 0:
		case 1:
			values[text] = all[0]
		default:
			choices = append(choices, known)
		}
	}
	gives := func(text string, value any) bool {
		with := maps.Clone(values)
		with[text] = value
		found := assumption{values: with}.guessOf(fact{node: node})
		return found.known && found.value == holds
	}
	if len(values) > 0 && gives("", nil) {
		return true
	}
	return slices.ContainsFunc(choices, func(known fact) bool {
		text, all := known.values()
		return !slices.ContainsFunc(all, func(value any) bool { return !gives(text, value) })
	}) || slices.ContainsFunc(facts, func(known fact) bool {
		text, limit, upward := known.bound()
		other, _, same := fact{node: node, holds: holds}.bound()
		return text != "" && text == other && upward == same && gives(text, limit)
	})
}

// values returns the values of which a fact says that a read has one.
func (f fact) values() (text string, all []any) {
	if n, ok := f.node.(*ast.BinaryNode); ok {
		right := assumption{}.guessOf(fact{node: n.Right, locals: f.locals})
		left := assumption{}.guessOf(fact{node: n.Left, locals: f.locals})
		members, isList := right.value.([]any)
		switch equal := n.Operator == "==" && f.holds || n.Operator == "!=" && !f.holds; {
		case equal && right.known:
			return f.locals.text(n.Left), []any{right.value}
		case equal && left.known:
			return f.locals.text(n.Right), []any{left.value}
		case n.Operator == "in" && f.holds && isList:
			return f.locals.text(n.Left), members
		}
		return "", nil
	}
	if names, _ := f.locals.chain(f.node); names != nil {
		return f.locals.text(f.node), []any{f.holds}
	}
	return "", nil
}

// bound returns the limit that a fact sets to a read, and whether the read is above it.
func (f fact) bound() (text string, limit any, upward bool) {
	n, ok := f.node.(*ast.BinaryNode)
	if !ok || n.Operator[0] != '<' && n.Operator[0] != '>' {
		return "", nil, false
	}
	upward = (n.Operator[0] == '>') == f.holds
	if right := (assumption{}).guessOf(fact{node: n.Right, locals: f.locals}); right.known {
		return f.locals.text(n.Left), right.value, upward
	}
	if left := (assumption{}).guessOf(fact{node: n.Left, locals: f.locals}); left.known {
		return f.locals.text(n.Right), left.value, !upward
	}
	return "", nil, false
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
			for _, side := range [][2]ast.Node{{n.Left, n.Right}, {n.Right, n.Left}} {
				if value, literally := side[1].(*ast.BoolNode); literally {
					text, same := l.condition(side[0])
					return text, same == (value.Value == positive)
				}
			}
			return min(left, right) + " == " + max(left, right), positive
		case ">", "<=":
			left, right = right, left
		case "<", ">=":
		default:
			return l.text(n), true
		}
		switch { // no length is below 0
		case left == "0" && strings.HasPrefix(right, "len("):
			return left + " == " + right, !positive
		case strings.HasPrefix(left, "len(") && right == "1":
			return "0 == " + left, positive
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
