package expression

import (
	"slices"

	"github.com/expr-lang/expr/ast"
)

// Link is one member access as parsed: .key, ?.key or [key].
type Link struct {
	Key      ast.Node
	Optional bool
	At       ast.Node
}

// Flatten takes a chain of member accesses apart. a?.b[0] and a?.b.c are one
// chain each: where a is null, so is the whole.
func Flatten(node ast.Node) (base ast.Node, links []Link) {
	for {
		switch n := node.(type) {
		case *ast.ChainNode:
			node = n.Node
		case *ast.MemberNode:
			links = append(links, Link{n.Property, n.Optional, n})
			node = n.Node
		default:
			slices.Reverse(links)
			return node, links
		}
	}
}

// firstName returns the name that the first link selects, if the source says
// it: .a or ["a"].
func firstName(links []Link) (string, bool) {
	if len(links) == 0 {
		return "", false
	}
	literal, ok := links[0].Key.(*ast.StringNode)
	if !ok {
		return "", false
	}
	return literal.Value, true
}

// access rewrites a name and the member accesses after it.
func (r *rewriter) access(node ast.Node, soft bool) ast.Node {
	base, links := Flatten(node)
	r.visits += len(links)
	name, ok := base.(*ast.IdentifierNode)
	switch {
	case !ok:
		return r.follow(&path{text: "the value"}, r.node(base, false), links, node)
	case slices.Contains(r.locals, name.Value):
		return r.follow(&path{text: name.Value}, &ast.IdentifierNode{Value: name.Value}, links, node)
	case name.Value == null:
		return r.follow(&path{text: name.Value}, &ast.NilNode{}, links, node)
	}
	start, rest := r.origin(name, links, soft)
	if start == nil {
		return &ast.NilNode{}
	}
	return r.follow(start, nil, rest, node)
}

// follow returns the call that reads links from a path's beginning, or from a
// base. A computed key behind a ?. is evaluated only where it is reached, so
// the access is cut in two at that place.
func (r *rewriter) follow(start *path, base ast.Node, links []Link, at ast.Node) ast.Node {
	if len(links) == 0 && base != nil {
		return base
	}
	cut := guardedAt(links)
	if cut < 0 {
		return r.get(start, base, links, at)
	}
	before := r.follow(start, base, links[:cut], at)
	return r.hold(before, func(held func() ast.Node) ast.Node {
		first, rest := links[cut], links[cut+1:]
		reached := r.get(&path{text: start.text + "…"}, held(), []Link{first}, at)
		return &ast.ConditionalNode{Ternary: true,
			Cond: call("+isNull", at, held()),
			Exp1: &ast.NilNode{},
			Exp2: r.follow(&path{text: start.text + "…"}, reached, rest, at)}
	})
}

// guardedAt returns the first optional link that has a computed key at or
// behind it, or -1.
func guardedAt(links []Link) int {
	optional := slices.IndexFunc(links, func(l Link) bool { return l.Optional })
	if optional < 0 || !slices.ContainsFunc(links[optional:], Link.computed) {
		return -1
	}
	return optional
}

func (l Link) computed() bool {
	_, ok := constantKey(l.Key)
	return !ok
}

// constantKey returns the key that the source says, a string or an int.
func constantKey(key ast.Node) (any, bool) {
	switch n := key.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.IntegerNode:
		return n.Value, true
	case *ast.UnaryNode:
		if literal, ok := n.Node.(*ast.IntegerNode); ok && n.Operator == "-" {
			return -literal.Value, true
		}
	}
	return nil, false
}

// get returns one call that reads a whole path.
func (r *rewriter) get(start *path, base ast.Node, links []Link, at ast.Node) ast.Node {
	read := &path{root: start.root, name: start.name, field: start.field, soft: start.soft, text: start.text, of: start.of}
	arguments := []ast.Node{&ast.ConstantNode{Value: read}}
	if base != nil {
		arguments = append(arguments, base)
	}
	for _, l := range links {
		key, constant := constantKey(l.Key)
		if !constant {
			arguments = append(arguments, r.branch(l.Key, false)) // behind a ?. it may be passed by
		}
		read.members = append(read.members, member{
			key: key, computed: !constant, optional: l.Optional, offset: r.offset(l.At)})
	}
	return call("+get", at, arguments...)
}
