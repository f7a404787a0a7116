package expression

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/expr-lang/expr/ast"

	"savant/fault"
)

// rewriter walks a parsed expression, refuses what is not of the language and
// returns a tree in which every operation is a call of this package. The first
// error stops it.
type rewriter struct {
	scope      Scope
	source     string
	references []Reference
	locals     []string // names of let in view
	predicates []string // functions whose predicates enclose this node
	hidden     int      // names of let given by the rewriter
	branches   int      // parts around this node that an evaluation may pass by
	certain    []string // captures with a hard read outside of such parts
	visits     int
	lists      []ListRead
	negative   bool // more calls can only make the part false, see Read.Negative
	unclear    bool // see Read.Unclear, and isUnclear of the whole
	isUnclear  bool
	err        error
}

// node rewrites one node. soft means that the node is the left side of a ??, so null is
// allowed.
func (r *rewriter) node(node ast.Node, soft bool) ast.Node {
	r.visits++
	if scale := int(r.scope.scale()); r.visits > scale*maxVisits {
		r.fail(node, fault.ExpressionError, fmt.Sprintf("the expression has more than %d parts", scale*maxNodes))
	}
	if r.err != nil {
		return &ast.NilNode{}
	}
	rewritten := r.rewrite(node, soft)
	rewritten.SetLocation(node.Location())
	return rewritten
}

func (r *rewriter) rewrite(node ast.Node, soft bool) ast.Node {
	switch n := node.(type) {
	case *ast.NilNode, *ast.BoolNode, *ast.IntegerNode, *ast.StringNode:
		return n
	case *ast.FloatNode:
		return &ast.ConstantNode{Value: canonical(n.Value)}
	case *ast.IdentifierNode, *ast.MemberNode, *ast.ChainNode:
		return r.access(n, soft)
	case *ast.UnaryNode:
		return r.unary(n)
	case *ast.BinaryNode:
		return r.binary(n, soft)
	case *ast.ConditionalNode:
		return &ast.ConditionalNode{Ternary: n.Ternary,
			Cond: r.truth(n.Cond), Exp1: r.branch(n.Exp1, soft), Exp2: r.branch(n.Exp2, soft)}
	case *ast.VariableDeclaratorNode:
		return r.let(n, soft)
	case *ast.SliceNode:
		return r.slice(n)
	case *ast.ArrayNode:
		return &ast.ArrayNode{Nodes: r.nodes(n.Nodes)}
	case *ast.MapNode:
		return r.object(n)
	case *ast.PointerNode:
		return r.pointer(n)
	case *ast.BuiltinNode:
		return r.builtin(n)
	case *ast.CallNode:
		return r.function(n)
	case *ast.SequenceNode:
		return r.fail(n, fault.ExpressionError, "one expression only: what stands before ; has no effect")
	default:
		return r.fail(node, fault.ExpressionError, "this is not part of the language")
	}
}

func (r *rewriter) nodes(nodes []ast.Node) []ast.Node {
	rewritten := make([]ast.Node, len(nodes))
	for i, node := range nodes {
		rewritten[i] = r.node(node, false)
	}
	return rewritten
}

// fail records the first error and returns a placeholder node.
func (r *rewriter) fail(at ast.Node, code fault.Code, message string) ast.Node {
	if r.err == nil {
		r.err = &Error{Code: code, Offset: r.offset(at), Message: message}
	}
	return &ast.NilNode{}
}

func (r *rewriter) offset(node ast.Node) int {
	return byteOffset(r.source, node.Location().From)
}

// call returns a call of a function of this package. $env is the evaluation that the
// virtual machine was started with; a source cannot name it.
func call(name string, at ast.Node, arguments ...ast.Node) ast.Node {
	node := &ast.CallNode{
		Callee:    &ast.IdentifierNode{Value: name},
		Arguments: append([]ast.Node{&ast.IdentifierNode{Value: "$env"}}, arguments...),
	}
	node.SetLocation(at.Location())
	return node
}

// branch rewrites a part that an evaluation may pass by.
func (r *rewriter) branch(node ast.Node, soft bool) ast.Node {
	r.branches++
	rewritten := r.node(node, soft)
	r.branches--
	return rewritten
}

// hold evaluates a value once and gives it a name that no source can say.
func (r *rewriter) hold(value ast.Node, use func(name func() ast.Node) ast.Node) ast.Node {
	r.hidden++
	name := "+" + strconv.Itoa(r.hidden)
	held := func() ast.Node { return &ast.IdentifierNode{Value: name} }
	return &ast.VariableDeclaratorNode{Name: name, Value: value, Expr: use(held)}
}

func (r *rewriter) let(n *ast.VariableDeclaratorNode, soft bool) ast.Node {
	if message := r.takenAs(n.Name); message != "" {
		return r.fail(n, fault.AmbiguousName, fmt.Sprintf("let %s: %s", n.Name, message))
	}
	value := r.affected(effect{unclear: true}, n.Value)
	r.locals = append(r.locals, n.Name)
	rest := r.node(n.Expr, soft)
	r.locals = r.locals[:len(r.locals)-1]
	return &ast.VariableDeclaratorNode{Name: n.Name, Value: value, Expr: rest}
}

// takenAs returns what a name already means, or "".
func (r *rewriter) takenAs(name string) string {
	switch {
	case r.scope.isRoot(name), name == null, name == "$env":
		return "this name belongs to the language"
	case slices.Contains(r.locals, name):
		return "this name was given before"
	}
	if _, taken := functions[name]; taken {
		return "this is the name of a function"
	}
	if meanings := r.scope.meanings(name); len(meanings) > 0 {
		return "this is already " + article(meanings[0])
	}
	return ""
}

// article describes the content of a root, for messages.
func article(root string) string {
	switch root {
	case rootItem:
		return "the loop variable"
	case rootState:
		return "a capture"
	default:
		return "a parameter"
	}
}

// refer records a read.
func (r *rewriter) refer(reference Reference) {
	r.references = append(r.references, reference)
}

// distinct returns each reference once, by offset: the first hard read of a name, else
// its first soft read.
func distinct(references []Reference) []Reference {
	if len(references) < 2 {
		return references
	}
	slices.SortStableFunc(references, func(a, b Reference) int {
		return cmp.Or(boolean(a.Soft)-boolean(b.Soft), a.Offset-b.Offset)
	})
	type read struct{ root, name, field string }
	seen := make(map[read]bool, len(references))
	unique := references[:0]
	for _, reference := range references {
		key := read{reference.Root, reference.Name, reference.Field}
		if !seen[key] {
			seen[key] = true
			unique = append(unique, reference)
		}
	}
	slices.SortFunc(unique, func(a, b Reference) int { return a.Offset - b.Offset })
	return unique
}

func boolean(b bool) int {
	if b {
		return 1
	}
	return 0
}
