package expression

import (
	"reflect"
	"slices"

	"github.com/expr-lang/expr/ast"

	"savant/internal/shell"
)

// ofRules are further functions in the expressions of rules.
var ofRules = map[string]signature{"date": {1, 2, date}, "days": {2, 2, days}, "seconds": {2, 2, seconds}, "commands": {1, 1, commands}}

// Root is a root of a rule's expressions.
type Root struct {
	// Names are the names under it; nil: any.
	Names Names
	// Lists says that the root holds a list of calls for each name, of which a literal
	// must name one.
	Lists bool
	// Members says that it cannot be read as a whole.
	Members bool
}

// Values are the values of a rule's roots. A value may be an error, which ends the
// evaluation.
type Values interface{ Value(Read) any }

// Read is one read of Values: a whole root, or the list under a name.
type Read struct {
	Root, Name string
	// Negative says that more calls in the list can only make the expression false, as in
	// none(list, …) and len(list) < 3.
	Negative bool
	// Unclear says that this cannot be told, as in let n = len(list).
	Unclear bool
	// Keys and Equal, where they are given, ask only for those calls whose input has these
	// values.
	Keys  []string
	Equal []any
}

// ListRead is a list of calls that an expression reads.
type ListRead struct {
	Root, Name string
	// Function is what takes the list and a predicate, "" where none does; Keys are those
	// by which it looks calls up.
	Function string
	Keys     []string
	// Inputs are the members of input whose values the keys have; nil: one has another value.
	Inputs []string
	// Results says that the predicate reads results.
	Results bool
	// Depth counts the predicates around the read.
	Depth, Offset int
}

// Lists returns the lists of calls that the expression reads, in source order.
func (p *Program) Lists() []ListRead { return slices.Clone(p.lists) }

// scale says how many times as long as usual a source may be.
func (s Scope) scale() uint {
	if s.Roots != nil {
		return longer
	}
	return 1
}

// fromRule resolves a name that starts with a root of a rule.
func (r *rewriter) fromRule(name *ast.IdentifierNode, links []Link, soft bool) (*path, []Link) {
	root := r.scope.Roots[name.Value]
	key, constant := firstName(links)
	switch {
	case root.Lists && !constant:
		return r.unresolved(name, name.Value+" cannot be read as a whole: name a tool, as in "+name.Value+`["pay.refund"]`)
	case root.Members && !constant:
		return r.unresolved(name, name.Value+" cannot be read as a whole: name what is read of it, as in "+name.Value+".version")
	case root.Names != nil && constant && !root.Names[key]:
		return r.unresolved(links[0].Key, r.notUnder(name.Value, key))
	}
	read := r.read(name, name.Value, key, links, soft)
	read.of = &Read{Root: name.Value, Negative: r.negative, Unclear: r.unclear}
	r.isUnclear = r.isUnclear || root.Lists && r.unclear
	read.text = name.Value
	if !root.Lists {
		return read, links
	}
	read.of.Name, read.text = key, qualifiedName(name.Value, key)
	r.lists = append(r.lists, ListRead{Root: name.Value, Name: key, Depth: len(r.predicates), Offset: r.offset(name)})
	return read, links[1:]
}

// plainRead returns the path of a rewritten expression that only reads Values, so that no
// machine is needed for it.
func plainRead(rewritten ast.Node) *path {
	whole, _ := rewritten.(*ast.CallNode) // a call of result, of the evaluation and a value
	read, is := whole.Arguments[1].(*ast.CallNode)
	if !is || len(read.Arguments) != 2 {
		return nil
	}
	constant, is := read.Arguments[1].(*ast.ConstantNode)
	if !is {
		return nil
	}
	if plain, is := constant.Value.(*path); is && plain.of != nil {
		return plain
	}
	return nil
}

// value reads one of the Env's Values.
func (e *evaluation) value(read Read) any {
	value := e.env.Values.Value(read)
	if err, failed := value.(error); failed {
		e.fail("%s", err)
		return nil
	}
	return value
}

// effect says what more calls in a part do: the opposite of what they do in the whole, or what
// cannot be told.
type effect struct{ flipped, unclear bool }

// affected rewrites a part.
func (r *rewriter) affected(by effect, node ast.Node) ast.Node {
	negative, unclear := r.negative, r.unclear
	r.negative, r.unclear = negative != by.flipped, unclear || by.unclear
	rewritten := r.node(node, false)
	r.negative, r.unclear = negative, unclear
	return rewritten
}

// isOptional reports whether a node reads a member behind a ?.
func isOptional(node ast.Node) bool {
	_, links := Flatten(node)
	return slices.ContainsFunc(links, func(l Link) bool { return l.Optional })
}

// same is == of two optional reads in a rule: what is missing twice is not equal.
func same(e *evaluation) any { return e.args[0] != nil && e.equal(e.args[0], e.args[1], 0) }

// isEmpty reports whether a list has no items, at the same cost for each.
func isEmpty(e *evaluation) any {
	items, _ := e.args[0].([]any)
	return len(items) == 0
}

// isNothing reports whether a node is what few calls give: 0, null or false.
func isNothing(node ast.Node) bool {
	switch n := node.(type) {
	case *ast.NilNode:
		return true
	case *ast.IdentifierNode:
		return n.Value == null
	case *ast.IntegerNode:
		return n.Value == 0
	case *ast.BoolNode:
		return !n.Value
	}
	return false
}

// selective are the functions for which only those items count whose predicate holds.
var selective = NamesOf("any", "none", "one", "filter", "find", "findLast", "count")

// items rewrites the list of a function with a predicate. A list of calls of which the
// predicate says .input.k == value is looked up by these values.
func (r *rewriter) items(n *ast.BuiltinNode) ast.Node {
	before, outer := len(r.lists), r.unclear
	r.unclear = outer && n.Name != "any" && n.Name != "find" && n.Name != "findLast"
	list := r.node(n.Arguments[0], false)
	unclear := r.unclear
	r.unclear = outer
	base, links := Flatten(n.Arguments[0])
	name, named := base.(*ast.IdentifierNode)
	if !named || len(links) != 1 || len(r.lists) != before+1 || !r.scope.Roots[name.Value].Lists || r.err != nil {
		return list
	}
	read := &r.lists[before]
	read.Function = n.Name
	predicate := n.Arguments[1].(*ast.PredicateNode) // as the parser made it
	read.Results = useOf(predicate.Node).result
	keys, values := equalities(predicate.Node)
	if len(keys) == 0 || !selective[n.Name] {
		return list
	}
	read.Keys, read.Inputs = keys, membersOfInput(values)
	wanted := &Read{Root: read.Root, Name: read.Name, Negative: r.negative, Unclear: unclear, Keys: keys}
	// As without an index, the values are not computed for an empty list.
	return &ast.ConditionalNode{Ternary: true, Cond: call("+isEmpty", n.Arguments[0], list), Exp1: &ast.ArrayNode{},
		Exp2: call("+lookup", n.Arguments[0], append([]ast.Node{&ast.ConstantNode{Value: wanted}}, r.nodes(values)...)...)}
}

// lookup reads the calls that have given values in their input.
func lookup(e *evaluation) any {
	read := *e.args[0].(*Read)
	read.Equal = e.args[1:]
	return e.value(read)
}

// equalities returns the k and the value of each .input.k == value that a predicate
// needs, where the value does not depend on the item; sorted by k. What stands behind a
// condition that is not about the item is not looked up: that may guard it.
func equalities(node ast.Node) (keys []string, values []ast.Node) {
	n, is := node.(*ast.BinaryNode)
	switch {
	case is && (n.Operator == "and" || n.Operator == "&&"):
		if keys, values = equalities(n.Left); !useOf(n.Left).item {
			return keys, values
		}
		more, others := equalities(n.Right)
		for i, key := range more {
			if at, known := slices.BinarySearch(keys, key); !known {
				keys, values = slices.Insert(keys, at, key), slices.Insert(values, at, others[i])
			}
		}
	case is && n.Operator == "==":
		for _, side := range [][2]ast.Node{{n.Left, n.Right}, {n.Right, n.Left}} {
			if key, ofItem := inputKey(side[0]); ofItem && !useOf(side[1]).item {
				return []string{key}, []ast.Node{side[1]}
			}
		}
	}
	return keys, values
}

// membersOfInput returns the k of each input.k, nil where a value is another one.
func membersOfInput(values []ast.Node) (members []string) {
	for _, each := range values {
		base, links := Flatten(each)
		name, is := base.(*ast.IdentifierNode)
		key, constant := firstName(links)
		if !is || name.Value != rootInput || len(links) != 1 || links[0].Optional || !constant {
			return nil
		}
		members = append(members, key)
	}
	return members
}

// inputKey returns the k of .input.k.
func inputKey(node ast.Node) (string, bool) {
	base, links := Flatten(node)
	item, is := base.(*ast.PointerNode)
	if !is || item.Name != "" || len(links) != 2 || links[0].Optional || links[1].Optional {
		return "", false
	}
	input, _ := firstName(links)
	key, constant := firstName(links[1:])
	return key, constant && input == rootInput
}

// use says how a part of a predicate uses the item: at all, and its result.
type use struct{ item, result bool }

func useOf(node ast.Node) use {
	var found use
	ast.Walk(&node, &found)
	return found
}

// Visit implements ast.Visitor.
func (u *use) Visit(node *ast.Node) {
	switch n := (*node).(type) {
	case *ast.PointerNode:
		u.item = true
	case *ast.MemberNode:
		_, ofItem := n.Node.(*ast.PointerNode)
		name, constant := n.Property.(*ast.StringNode)
		u.result = u.result || ofItem && constant && name.Value == rootResult
	}
}

// commands returns the commands that a shell would run of a text, of a list of texts, or of a
// tool's input, each with its name, args, flags and text, see package shell.
func commands(e *evaluation) any {
	key := commandsKey(e.args[0])
	found, known := e.env.Commands[key]
	if !known {
		var err error
		if found, err = shell.Of(e.args[0]); err != nil {
			e.exceed("commands cannot read the text: %s", err)
			return nil
		}
		if e.env.Commands != nil && key != nil {
			e.env.Commands[key] = found
		}
	}
	list := make([]any, len(found))
	for i, each := range found {
		args, flags, text := texts(each.Args), texts(each.Flags()), each.Text()
		if !e.grow(5+len(args)+len(flags)) || !e.produce(2*len(text)) {
			return nil
		}
		list[i] = map[string]any{"name": each.Name, "args": args, "flags": flags, "text": text}
	}
	return list
}

// commandsKey names a text by itself and an input by where it is in memory; nil: another value.
func commandsKey(value any) any {
	switch v := value.(type) {
	case string:
		return v
	case map[string]any:
		return reflect.ValueOf(v).Pointer()
	}
	return nil
}

func texts(all []string) []any {
	values := make([]any, len(all))
	for i, each := range all {
		values[i] = each
	}
	return values
}
