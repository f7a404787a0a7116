package expression

import (
	"fmt"
	"math"
	"strconv"

	"github.com/expr-lang/expr/ast"

	"savant/fault"
)

func (r *rewriter) binary(n *ast.BinaryNode, soft bool) ast.Node {
	switch n.Operator {
	case "and", "&&", "or", "||":
		return &ast.BinaryNode{Operator: n.Operator, Left: r.truth(n.Left), Right: call("+truth", n.Right, r.branch(n.Right, false))}
	case "??":
		return &ast.BinaryNode{Operator: "??", Left: r.node(n.Left, true), Right: r.branch(n.Right, soft)}
	case "!=", "==":
		if r.scope.Roots != nil && isOptional(n.Left) && isOptional(n.Right) {
			same := call("+same", n, r.affected(effect{unclear: true}, n.Left), r.affected(effect{unclear: true}, n.Right))
			if n.Operator == "==" {
				return same
			}
			return &ast.UnaryNode{Operator: "not", Node: same}
		}
	}
	left, right := effects(n)
	switch n.Operator {
	case "!=":
		return &ast.UnaryNode{Operator: "not", Node: call("+==", n, r.affected(left, n.Left), r.affected(right, n.Right))}
	case "matches":
		return call("+matches", n, r.node(n.Left, false), r.pattern(n.Right))
	}
	if _, known := operators[n.Operator]; !known {
		return r.fail(n, fault.ExpressionError, "there is no operator "+n.Operator)
	}
	return call("+"+n.Operator, n, r.affected(left, n.Left), r.affected(right, n.Right))
}

// effects returns those of the sides of an operation.
func effects(n *ast.BinaryNode) (left, right effect) {
	switch n.Operator {
	case "==", "!=":
		nothing := isNothing(n.Left) || isNothing(n.Right)
		both := effect{flipped: nothing && n.Operator == "==", unclear: !nothing}
		return both, both
	case "<", "<=":
		return effect{flipped: true}, effect{}
	case ">", ">=", "-":
		return effect{}, effect{flipped: true}
	}
	return effect{}, effect{}
}

func (r *rewriter) unary(n *ast.UnaryNode) ast.Node {
	switch n.Operator {
	case "not", "!":
		return &ast.UnaryNode{Operator: "not", Node: call("+truth", n.Node, r.affected(effect{flipped: true}, n.Node))}
	case "-":
		switch literal := n.Node.(type) {
		case *ast.IntegerNode:
			return &ast.IntegerNode{Value: -literal.Value}
		case *ast.FloatNode:
			return &ast.ConstantNode{Value: canonical(-literal.Value)}
		}
		return call("+negate", n, r.node(n.Node, false))
	default:
		return call("+number", n, r.node(n.Node, false))
	}
}

// truth rewrites an operand that has to be true or false.
func (r *rewriter) truth(node ast.Node) ast.Node {
	return call("+truth", node, r.node(node, false))
}

// pattern rewrites the right side of matches. A literal is compiled here.
func (r *rewriter) pattern(node ast.Node) ast.Node {
	literal, ok := node.(*ast.StringNode)
	if !ok {
		return r.node(node, false)
	}
	compiled, err := newPattern(literal.Value)
	if err != nil {
		return r.fail(node, fault.ExpressionError, err.Error())
	}
	return &ast.ConstantNode{Value: compiled}
}

func (r *rewriter) slice(n *ast.SliceNode) ast.Node {
	var from, to ast.Node = &ast.IntegerNode{Value: 0}, &ast.IntegerNode{Value: math.MaxInt}
	value := r.node(n.Node, false)
	if n.From != nil {
		from = r.node(n.From, false)
	}
	if n.To != nil {
		to = r.node(n.To, false)
	}
	return call("+a slice", n, value, from, to)
}

// object rewrites {key: value}. A repeated key is an error: the virtual machine
// fills objects from the end and would silently keep the first value.
func (r *rewriter) object(n *ast.MapNode) ast.Node {
	pairs := make([]ast.Node, 0, len(n.Pairs))
	seen := make(map[string]bool, len(n.Pairs))
	for _, node := range n.Pairs {
		pair := node.(*ast.PairNode) // as the parser made it
		rewritten := &ast.PairNode{Key: pair.Key, Value: r.node(pair.Value, false)}
		if literal, ok := pair.Key.(*ast.StringNode); !ok {
			rewritten.Key = call("+key", pair.Key, r.node(pair.Key, false))
		} else if seen[literal.Value] {
			return r.fail(literal, fault.ExpressionError, fmt.Sprintf("the key %s is written twice", quote(literal.Value)))
		} else {
			seen[literal.Value] = true
		}
		pairs = append(pairs, rewritten)
	}
	return &ast.MapNode{Pairs: pairs}
}

// pointer rewrites #, #index and #acc. The virtual machine looks them up in the
// innermost predicate, where #acc of an outer one would silently be null.
func (r *rewriter) pointer(n *ast.PointerNode) ast.Node {
	innermost := ""
	if len(r.predicates) > 0 {
		innermost = r.predicates[len(r.predicates)-1]
	}
	switch {
	case innermost == "":
		return r.fail(n, fault.ExpressionError, "# is known only inside a predicate")
	case n.Name == "",
		n.Name == "index" && (innermost == "map" || innermost == "reduce"),
		n.Name == "acc" && innermost == "reduce":
		return &ast.PointerNode{Name: n.Name}
	case n.Name == "index":
		return r.fail(n, fault.ExpressionError, "#index is known only in the predicate of map and reduce")
	case n.Name == "acc":
		return r.fail(n, fault.ExpressionError, "#acc is known only in the predicate of reduce; let can give it a name")
	default:
		return r.fail(n, fault.ExpressionError, "there is no #"+strconv.Quote(n.Name)+": only #, #index and #acc")
	}
}
