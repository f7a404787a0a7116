package check

import (
	"errors"
	"slices"

	"github.com/expr-lang/expr/ast"

	"savant/think/flow/expression"
)

// certainFailure reports what fails whatever the expression reads, in the parts that every
// evaluation reaches: one that reads nothing, or one with a part that reads nothing and fails
// beside any other, such as a division by zero. lets are the declarations around it that
// read nothing.
func (i *inference) certainFailure(node ast.Node, lets []*ast.VariableDeclaratorNode) {
	switch n := node.(type) {
	case nil, *ast.NilNode, *ast.BoolNode, *ast.IntegerNode, *ast.FloatNode, *ast.StringNode, *ast.IdentifierNode, *ast.PointerNode, *ast.PredicateNode:
		return
	case *ast.VariableDeclaratorNode:
		i.certainFailure(n.Value, lets)
		if readsNothing(n.Value, lets) {
			lets = append(slices.Clip(lets), n)
		}
		i.certainFailure(n.Expr, lets)
		return
	}
	if _, pair := node.(*ast.PairNode); !pair && readsNothing(node, lets) {
		if failed := i.failureOf(node, lets); failed != nil {
			i.add(finding{code: failed.Code, offset: i.program.Offset(node), message: failed.Message})
		}
		return
	}
	for _, probe := range probesOf(node) {
		if probe == nil || !readsNothing(probe, lets) {
			continue
		}
		if failed := i.failureOf(probe, lets); failed != nil {
			i.add(finding{code: failed.Code, offset: i.program.Offset(node), message: failed.Message})
			return
		}
	}
	for _, each := range certainParts(node) {
		i.certainFailure(each, lets)
	}
}

// probesOf returns nodes that fail only if a node does: each has one part of it, beside
// which nothing fails.
func probesOf(node ast.Node) []ast.Node {
	switch n := node.(type) {
	case *ast.BinaryNode:
		switch n.Operator {
		case "/", "%":
			return []ast.Node{&ast.BinaryNode{Operator: n.Operator, Left: &ast.IntegerNode{Value: 1}, Right: n.Right}}
		case "..":
			return []ast.Node{&ast.BinaryNode{Operator: "..", Left: n.Left, Right: n.Left}, &ast.BinaryNode{Operator: "..", Left: callOf("int", n.Right), Right: n.Right}}
		}
	case *ast.SliceNode:
		return []ast.Node{&ast.SliceNode{Node: &ast.StringNode{}, From: n.From}, &ast.SliceNode{Node: &ast.StringNode{}, To: n.To}}
	}
	var first ast.Node
	name, arguments := functionCall(node)
	switch name {
	case "repeat":
		first = &ast.StringNode{}
	case "take", "sort", "sortBy":
		first = &ast.ArrayNode{}
	}
	if first == nil || len(arguments) == 0 {
		return nil
	}
	return []ast.Node{callOf(name, append([]ast.Node{first}, arguments[1:]...)...)}
}

func callOf(function string, arguments ...ast.Node) ast.Node {
	return &ast.BuiltinNode{Name: function, Arguments: arguments}
}

// certainParts returns the parts of a node that every evaluation of it reaches.
func certainParts(node ast.Node) []ast.Node {
	switch n := node.(type) {
	case *ast.UnaryNode:
		return []ast.Node{n.Node}
	case *ast.BinaryNode:
		switch n.Operator {
		case "and", "&&", "or", "||", "??":
			return []ast.Node{n.Left}
		}
		return []ast.Node{n.Left, n.Right}
	case *ast.ConditionalNode:
		return []ast.Node{n.Cond}
	case *ast.SliceNode:
		return []ast.Node{n.Node, n.From, n.To}
	case *ast.ChainNode:
		return []ast.Node{n.Node}
	case *ast.MemberNode:
		return []ast.Node{n.Node}
	case *ast.ArrayNode:
		return n.Nodes
	case *ast.MapNode:
		return n.Pairs
	case *ast.PairNode:
		return []ast.Node{n.Key, n.Value}
	}
	_, arguments := functionCall(node)
	return arguments
}

// readsNothing reports whether a part has the same value in every run: it has no names
// but the declared ones and those of functions.
func readsNothing(node ast.Node, declared []*ast.VariableDeclaratorNode) bool {
	n := &namesRead{declared: declared}
	ast.Walk(&node, n)
	return n.count == 0
}

type namesRead struct {
	declared []*ast.VariableDeclaratorNode
	count    int
}

// Visit counts the names; that of a function comes before its call.
func (r *namesRead) Visit(node *ast.Node) {
	switch n := (*node).(type) {
	case *ast.IdentifierNode:
		if n.Value != "null" && !slices.ContainsFunc(r.declared, func(let *ast.VariableDeclaratorNode) bool { return let.Name == n.Value }) {
			r.count++
		}
	case *ast.CallNode:
		if _, named := n.Callee.(*ast.IdentifierNode); named {
			r.count--
		}
	}
}

// maxTrials is how many parts of an expression are evaluated: each may do as much as a whole one.
const maxTrials = 10

// failureOf evaluates a part that reads nothing, and returns why that fails.
func (i *inference) failureOf(node ast.Node, lets []*ast.VariableDeclaratorNode) (failed *expression.Error) {
	if i.trials++; i.trials > maxTrials {
		return nil
	}
	for _, let := range slices.Backward(lets) {
		node = &ast.VariableDeclaratorNode{Name: let.Name, Value: let.Value, Expr: node}
	}
	program, err := i.program.Part(node)
	if err != nil {
		return nil // it has the item of a predicate around
	}
	_, err = program.Eval(expression.Env{})
	errors.As(err, &failed)
	return failed
}
