package expression

import (
	"fmt"
	"slices"

	"github.com/expr-lang/expr/ast"

	"savant/fault"
)

// builtin rewrites a call of a name that expr-lang knows.
func (r *rewriter) builtin(n *ast.BuiltinNode) ast.Node {
	switch n.Name {
	case "all", "any", "none", "one", "filter", "find", "findIndex":
		return r.predicate(n, "+test")
	case "findLast", "findLastIndex":
		return r.fromEnd(n)
	case "count":
		if len(n.Arguments) == 1 {
			n = &ast.BuiltinNode{Name: n.Name, Arguments: []ast.Node{n.Arguments[0], itself(n)}}
		}
		return r.predicate(n, "+test")
	case "map":
		return r.predicate(n, "+turn")
	case "reduce":
		return r.reduce(n)
	case "sum":
		if len(n.Arguments) == 1 {
			return call("+sum", n, r.node(n.Arguments[0], false))
		}
		return call("+sum", n, r.mapped(n, r.node(n.Arguments[0], false)))
	case "groupBy", "sortBy":
		return r.byKey(n)
	}
	return r.functionCall(n.Name, n.Arguments, n)
}

// itself returns the predicate #.
func itself(at ast.Node) ast.Node {
	item := &ast.PointerNode{}
	item.SetLocation(at.Location())
	predicate := &ast.PredicateNode{Node: item}
	predicate.SetLocation(at.Location())
	return predicate
}

// predicate keeps a loop of the virtual machine. It checks that the list is one
// and spends the cost of each turn.
func (r *rewriter) predicate(n *ast.BuiltinNode, check string) ast.Node {
	outer := r.negative
	r.negative = outer != (n.Name == "none" || n.Name == "all")
	list := call("+list", n.Arguments[0], r.items(n))
	r.negative = outer != (n.Name == "none")
	body := r.body(n, check)
	r.negative = outer
	return &ast.BuiltinNode{Name: n.Name, Arguments: []ast.Node{list, body}}
}

// fromEnd rewrites findLast and findLastIndex as a search in the reversed list.
// The backward loops of expr-lang leave a value on the stack at every turn, which
// an enclosing call takes for its argument.
func (r *rewriter) fromEnd(n *ast.BuiltinNode) ast.Node {
	return r.hold(call("+reversed", n.Arguments[0], r.items(n)),
		func(list func() ast.Node) ast.Node {
			forward := map[string]string{"findLast": "find", "findLastIndex": "findIndex"}[n.Name]
			found := &ast.BuiltinNode{Name: forward, Arguments: []ast.Node{list(), r.body(n, "+test")}}
			if n.Name == "findLast" {
				return found
			}
			return call("+mirrored", n, list(), found)
		})
}

// body rewrites the predicate of a function, its second argument. The cost of a
// turn is the size of the predicate.
func (r *rewriter) body(n *ast.BuiltinNode, check string) ast.Node {
	predicate := n.Arguments[1].(*ast.PredicateNode) // as the parser made it
	visits := r.visits
	r.predicates = append(r.predicates, n.Name)
	item := r.branch(predicate.Node, false)
	r.predicates = r.predicates[:len(r.predicates)-1]
	turn := call(check, predicate.Node, item, &ast.IntegerNode{Value: (r.visits - visits) / nodesPerStep})
	body := &ast.PredicateNode{Node: turn}
	body.SetLocation(predicate.Location())
	return body
}

// mapped returns the values of the predicate of n for each item of a list.
func (r *rewriter) mapped(n *ast.BuiltinNode, list ast.Node) ast.Node {
	checked := call("+list", n.Arguments[0], list)
	mapped := &ast.BuiltinNode{Name: "map", Arguments: []ast.Node{checked, r.body(n, "+turn")}}
	mapped.SetLocation(n.Location())
	return mapped
}

// byKey rewrites groupBy and sortBy as a call with the list and the keys of its
// items. Those of expr-lang are not stable, panic on keys that are not hashable,
// and evaluate the order argument of sortBy inside the loop.
func (r *rewriter) byKey(n *ast.BuiltinNode) ast.Node {
	return r.hold(r.node(n.Arguments[0], false), func(list func() ast.Node) ast.Node {
		arguments := []ast.Node{list(), r.mapped(n, list())}
		if len(n.Arguments) == 3 {
			arguments = append(arguments, r.node(n.Arguments[2], false))
		}
		return call("+"+n.Name, n, arguments...)
	})
}

// reduce evaluates the initial value outside the loop. expr-lang evaluates it
// inside, where # is already the item of the inner list.
func (r *rewriter) reduce(n *ast.BuiltinNode) ast.Node {
	list := r.node(n.Arguments[0], false)
	if len(n.Arguments) < 3 {
		list = call("+someItems", n, list)
		return &ast.BuiltinNode{Name: n.Name, Arguments: []ast.Node{list, r.body(n, "+turn")}}
	}
	list = call("+list", n.Arguments[0], list)
	return r.hold(r.node(n.Arguments[2], false), func(start func() ast.Node) ast.Node {
		return &ast.BuiltinNode{Name: n.Name, Arguments: []ast.Node{list, r.body(n, "+turn"), start()}}
	})
}

// function rewrites a call of a name that expr-lang does not know.
func (r *rewriter) function(n *ast.CallNode) ast.Node {
	if callee, ok := n.Callee.(*ast.IdentifierNode); ok {
		return r.functionCall(callee.Value, n.Arguments, n)
	}
	message := "there are no methods"
	if callee, ok := n.Callee.(*ast.MemberNode); ok {
		if name, ok := callee.Property.(*ast.StringNode); ok {
			if meant, other := similar[name.Value]; other {
				message += fmt.Sprintf(": instead of x.%s(…) use %s", name.Value, meant)
			} else {
				message += fmt.Sprintf(": instead of x.%s(…) write %s(x, …)", name.Value, name.Value)
			}
		}
	}
	return r.fail(n, fault.ExpressionError, message)
}

// functionCall rewrites a call of a function on the allow-list.
func (r *rewriter) functionCall(name string, arguments []ast.Node, at ast.Node) ast.Node {
	known, ok := functions[name]
	if r.scope.Roots != nil && !ok {
		known, ok = ofRules[name]
	}
	if !ok || known.answer == nil {
		return r.fail(at, fault.ExpressionError, noFunction(name))
	}
	if given := len(arguments); given < known.least || given > known.most {
		return r.fail(at, fault.ExpressionError, fmt.Sprintf("%s takes %s, found %d", name, known.takes(), given))
	}
	return call(name, at, r.nodes(arguments)...)
}

func (s signature) takes() string {
	switch {
	case s.most == variadic:
		return fmt.Sprintf("at least %s", argumentCount(s.least))
	case s.least == s.most:
		return argumentCount(s.least)
	default:
		return fmt.Sprintf("%d to %s", s.least, argumentCount(s.most))
	}
}

func argumentCount(arguments int) string {
	if arguments == 1 {
		return "1 argument"
	}
	return fmt.Sprintf("%d arguments", arguments)
}

// unavailable explains why some functions of expr-lang do not exist here.
var unavailable = map[string]string{
	"now": noClock, "date": noClock, "duration": noClock, "timezone": noClock,
	"get": "read a member that may be missing with a?.b or a?.[key]",
}

const noClock = "expressions have no clock and no randomness; pass the value as a parameter"

// similar are functions of other languages.
var similar = map[string]string{
	"default": "??, as in x ?? 0", "d": "??, as in x ?? 0", "length": "len", "size": "len", "toString": "string", "str": "string", "toUpperCase": "upper",
	"toLowerCase": "lower", "forEach": "map", "select": "filter", "unique": "uniq", "some": "any",
	"every": "all", "includes": "contains", "tojson": "toJSON", "json": "toJSON", "fromjson": "fromJSON", "parseJSON": "fromJSON", "entries": "toPairs", "items": "toPairs",
	"number": "float", "substring": "a slice, text[from:to]", "format": "a template, or + and string(…)",
	"random": "nothing: " + noClock, "rand": "nothing: " + noClock, "uuid": "nothing: " + noClock,
}

func noFunction(name string) string {
	message := "no such function: " + quote(name)
	if reason, ok := unavailable[name]; ok {
		return message + ": " + reason
	}
	if meant, ok := similar[name]; ok {
		return message + ": use " + meant
	}
	return message + fault.NearestHint(": did you mean %s?", name, functionNames)
}

// Functions returns the names of the functions that an expression can call,
// sorted.
func Functions() []string { return slices.Clone(functionNames) }
