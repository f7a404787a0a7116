package check

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/expr-lang/expr/ast"

	"savant/fault"
	"savant/think/flow/expression"
)

// Severities of a diagnostic; an error has none.
const (
	warning = "warning"
	note    = "note"
)

// finding is an error at a byte offset of an expression.
type finding struct {
	code     fault.Code
	severity string
	offset   int
	message  string
	missing  bool // a field that is not there
	// about is the capture that a finding is about, which is told once for a step.
	about string
}

// scope has the types of an expression's names.
type scope struct {
	params   map[string]*Type
	captures map[string]*Type
	item     string // the name of the loop's variable, "" outside loops
	of       *Type  // its type
	result   *Type  // nil if absent
	own      string // the capture of a loop whose items repeat: each reads its own
	names    Names  // of a rule, whose expressions know no others
	reader   string // the id of the step that evaluates the expression
	// facts hold wherever the expression is evaluated; skips are the captures whose steps
	// may be skipped, nil where a read of one is harmless.
	facts []fact
	skips map[string]skip
	// wanted are the kinds that the value of the expression must be of, and what wants them;
	// 0 for any.
	wanted kinds
	what   string
	// assertion is the path of the input of a flow.assert, whose message is rendered only to
	// explain a failure.
	assertion string
}

// inference finds the type of one expression.
type inference struct {
	scope
	program  *expression.Program
	findings []finding
	locals   map[string]*Type
	values   locals   // of the same names, as far as they can be followed
	items    []*Type  // of the predicates around, the innermost last
	lists    []string // the lists of those predicates, as written
	// untyped are reads whose type the expression itself tests, so their known type
	// says nothing about the branches.
	untyped []string
	trials  int // how many parts were evaluated
}

// infer returns the type of a compiled expression, and what is wrong in it.
func infer(program *expression.Program, in scope) (*Type, []finding) {
	tree, err := program.Parse()
	if err != nil {
		return anything, nil // it was compiled: the parser read it
	}
	i := &inference{scope: in, program: program, locals: map[string]*Type{}, values: locals{}}
	found := i.node(tree, false)
	if in.wanted != 0 {
		i.needsPresent(tree, found, in.wanted, in.what)
	}
	if in.names == nil && len(i.findings) == 0 {
		i.certainFailure(tree, nil)
	}
	return found, i.findings
}

func (i *inference) report(at ast.Node, severity string, format string, args ...any) {
	i.add(finding{code: fault.ExpressionError, severity: severity, offset: i.program.Offset(at), message: fmt.Sprintf(format, args...)})
}

// absent reports a field that cannot be there.
func (i *inference) absent(at ast.Node, severity string, format string, args ...any) {
	i.add(finding{code: fault.ExpressionError, severity: severity, offset: i.program.Offset(at), message: fmt.Sprintf(format, args...), missing: true})
}

func (i *inference) add(found finding) {
	if !slices.Contains(i.findings, found) {
		i.findings = append(i.findings, found)
	}
}

// node returns the type of a node. soft says that null is expected: it is the left side
// of a ??.
func (i *inference) node(node ast.Node, soft bool) *Type {
	switch n := node.(type) {
	case *ast.NilNode:
		return ofNull
	case *ast.BoolNode:
		return literal(n.Value)
	case *ast.IntegerNode:
		return literal(n.Value)
	case *ast.FloatNode:
		return ofNumber
	case *ast.StringNode:
		return literal(n.Value)
	case *ast.IdentifierNode, *ast.MemberNode, *ast.ChainNode:
		return i.access(n, soft)
	case *ast.UnaryNode:
		return i.unary(n)
	case *ast.BinaryNode:
		return i.binary(n, soft)
	case *ast.ConditionalNode:
		return i.conditional(n, soft)
	case *ast.VariableDeclaratorNode:
		return i.let(n, soft)
	case *ast.SliceNode:
		return i.slice(n)
	case *ast.ArrayNode:
		return i.array(n)
	case *ast.MapNode:
		return i.mapping(n)
	case *ast.PointerNode:
		return i.pointer(n)
	case *ast.PredicateNode:
		return i.node(n.Node, false)
	case *ast.BuiltinNode, *ast.CallNode:
		return i.call(functionCall(n))
	}
	return anything
}

// functionCall returns the name of the function that a node calls, and its arguments.
func functionCall(node ast.Node) (name string, arguments []ast.Node) {
	switch n := node.(type) {
	case *ast.BuiltinNode:
		return n.Name, n.Arguments
	case *ast.CallNode:
		if callee, ok := n.Callee.(*ast.IdentifierNode); ok {
			return callee.Value, n.Arguments
		}
	}
	return "", nil
}

func (i *inference) conditional(n *ast.ConditionalNode, soft bool) *Type {
	i.truth(n.Cond, "a condition")
	before := len(i.untyped)
	i.untyped = append(i.untyped, guardedReads(n.Cond)...)
	joined := join(i.inferUnder(n.Cond, true, n.Exp1, soft), i.inferUnder(n.Cond, false, n.Exp2, soft))
	i.untyped = i.untyped[:before]
	return joined
}

// inferUnder returns the type of a node that is reached where a condition holds, or does not.
func (i *inference) inferUnder(condition ast.Node, holds bool, node ast.Node, soft bool) *Type {
	outer := i.facts
	i.facts = learn(outer, condition, holds, i.values)
	found := i.node(node, soft)
	i.facts = outer
	return found
}

// truth checks an operand that has to be true or false.
func (i *inference) truth(node ast.Node, what string) *Type {
	found := i.node(node, false)
	if found.kinds&boolean == 0 {
		i.report(node, "", "%s must be true or false, not %s%s", what, found.kinds, truthHint(found))
	}
	i.needsPresent(node, found, boolean, what)
	return ofBool
}

// truthHint suggests how to turn a value into a condition.
func truthHint(of *Type) string {
	switch {
	case of.kinds&^null == list, of.kinds&^null == text, of.kinds&^null == object:
		return ": to ask whether it is empty write len(…) > 0"
	case of.kinds&^null&^number == 0 && of.kinds&number != 0:
		return ": compare it, as in … > 0"
	}
	return ""
}

func (i *inference) let(n *ast.VariableDeclaratorNode, soft bool) *Type {
	types, values := i.locals, i.values
	value := i.node(n.Value, false)
	i.locals = maps.Clone(types)
	i.locals[n.Name] = value
	i.values = values.with(n.Name, n.Value, values)
	rest := i.node(n.Expr, soft)
	i.locals, i.values = types, values
	return rest
}

func (i *inference) slice(n *ast.SliceNode) *Type {
	sliced := i.node(n.Node, false)
	for _, bound := range []ast.Node{n.From, n.To} {
		if bound != nil {
			i.need(bound, number, "a bound of a slice")
		}
	}
	if sliced.kinds&(list|text) == 0 && sliced.kinds&^null != 0 {
		i.report(n, "", "%s cannot be sliced: a list or a string can", sliced.kinds)
		return anything
	}
	part := *sliced
	part.values, part.prefix, part.item = nil, nil, sliced.itemType()
	part.kinds &= list | text
	return &part
}

func (i *inference) array(n *ast.ArrayNode) *Type {
	all := make([]*Type, len(n.Nodes))
	for at, each := range n.Nodes {
		all[at] = i.node(each, false)
	}
	return listOf(join(all...))
}

func (i *inference) mapping(n *ast.MapNode) *Type {
	made := &Type{kinds: object, fields: map[string]*Type{}, openness: closed, origin: "the map"}
	for _, each := range n.Pairs {
		pair, ok := each.(*ast.PairNode)
		if !ok {
			return anything
		}
		value := i.node(pair.Value, false)
		if name, constant := pair.Key.(*ast.StringNode); constant {
			made.fields[name.Value] = value
		} else {
			i.node(pair.Key, false)
			made.openness = open
		}
	}
	return made
}

func (i *inference) pointer(n *ast.PointerNode) *Type {
	switch {
	case n.Name == "index":
		return ofInt
	case n.Name != "" || len(i.items) == 0:
		return anything
	}
	return i.items[len(i.items)-1]
}

// name returns the type of the first name of an access, and the remaining links.
func (i *inference) name(name string, links []expression.Link) (*Type, string, []expression.Link) {
	if local, ok := i.locals[name]; ok {
		return local, name, links
	}
	first := ""
	if len(links) > 0 {
		if key, ok := links[0].Key.(*ast.StringNode); ok {
			first = key.Value
		}
	}
	switch {
	case name == "null":
		return ofNull, name, links
	case i.names != nil:
		return known(i.names, name), name, links
	case name == "params" && first != "":
		return known(i.params, first), name + "." + first, links[1:]
	case i.own != "" && (name == i.own || name == "state" && first == i.own):
		if name == "state" {
			name, links = name+"."+first, links[1:]
		}
		return anything, name, links
	case name == "state" && first != "":
		return known(i.captures, first), name + "." + first, links[1:]
	case name == "steps" && len(links) > 1:
		return fieldOfStep(first, links[1], links[2:])
	case name == "run" && first == expression.RunFailed:
		return texts, "run.failed", links[1:]
	case name == "run" && first == expression.RunStatus:
		return runStatus, "run.status", links[1:]
	case name == "run" && first != "":
		return ofText, name + "." + first, links[1:]
	case name == "loop" && first != "" && i.item != "":
		if first == "index" || first == "length" {
			return ofInt, name + "." + first, links[1:]
		}
		return ofBool, name + "." + first, links[1:]
	case name == "result" && i.result != nil:
		return i.result, name, links
	case name == i.item && i.item != "":
		return i.of, name, links
	case i.captures[name] != nil:
		return i.captures[name], name, links
	}
	return known(i.params, name), name, links
}

// fieldOfStep returns the type of steps.A.FIELD.
func fieldOfStep(id string, link expression.Link, rest []expression.Link) (*Type, string, []expression.Link) {
	read := "steps" + memberName(id)
	key, _ := link.Key.(*ast.StringNode)
	if key == nil {
		return anything, read, rest
	}
	read += "." + key.Value
	switch key.Value {
	case expression.StepStatus:
		return settled, read, rest
	case expression.StepError:
		return stepError.lacking(gap{why: read + " is null unless the step failed", severity: warning, step: id, statuses: []string{"done", "skipped"}}), read, rest
	case expression.StepReason:
		return ofText.lacking(gap{why: read + " is null unless the step was skipped", severity: warning, step: id, statuses: []string{"done", "failed"}}), read, rest
	}
	return anything, read, rest
}

// runStatus is how the steps before a handler ended, stepError why a step failed.
var (
	runStatus = &Type{kinds: text, values: []any{"ok", "failing"}}
	stepError = &Type{kinds: object | null, openness: closed, origin: "the error of a step",
		fields: map[string]*Type{"code": ofText, "details": ofText, "attempts": ofInt}}
)

// settled is the status of a step that another one reads: it has settled by then.
var settled = &Type{kinds: text, values: []any{"done", "skipped", "failed"}}

func known(types map[string]*Type, name string) *Type {
	if found := types[name]; found != nil {
		return found
	}
	return anything
}

// member returns the type of a member, and reports one that cannot be there.
func (i *inference) member(of *Type, l expression.Link, said string) *Type {
	if of.kinds&^null == 0 {
		return anything // null alone: what is read is not there in any case
	}
	if key, ok := l.Key.(*ast.StringNode); ok {
		return i.field(of, key.Value, l, said)
	}
	index, constant := indexOf(l.Key)
	switch {
	case i.neverIndex(l.Key):
		i.report(l.At, "", "%s cannot be indexed with %s", subject(said), l.Key)
	case constant && of.kinds&(list|text) == 0:
		i.report(l.At, "", "%s is %s and has no items", subject(said), of.kinds&^null)
	case of.kinds&(list|text|object) == 0:
		i.report(l.At, "", "%s is %s and has no members", subject(said), of.kinds&^null)
	case of.kinds&(list|text|object) == list && constant && index >= 0:
		return of.itemAt(index)
	case !constant && of.kinds&(list|text|object) == object:
		return of.fieldType().unlessNone()
	case !constant && of.kinds&object != 0:
	default:
		return of.element()
	}
	return anything
}

// neverIndex reports whether neither a list nor a map has an item of that name, which may
// be computed from what the expression says.
func (i *inference) neverIndex(key ast.Node) bool {
	found := assumption{}.guessOf(fact{node: key, locals: i.values})
	if number, is := found.value.(float64); is {
		return number != math.Trunc(number)
	}
	return found.known && kindOf(found.value)&(number|text) == 0
}

// element returns the type of one item of a list, or character of a string.
func (t *Type) element() *Type {
	switch {
	case t.kinds&(list|text) == text:
		return ofText
	case t.kinds&(list|text) != list, t.item == nil:
		return anything
	}
	return t.itemType().unlessNone()
}

func (i *inference) field(of *Type, name string, l expression.Link, said string) *Type {
	if of.kinds&object == 0 {
		fix := ""
		if name == "length" && of.kinds&(list|text) != 0 {
			fix = ": write len(…)"
		} else if of.kinds&^null == list {
			fix = ": one item is read with [0], and map(…, ." + name + ") reads it from each"
		}
		i.absent(l.At, "", "%s is %s and has no field %q%s", subject(said), of.kinds&^null, fault.Cut(name, 60), fix)
		return anything
	}
	found, certain := of.field(name)
	misspelt := certain == unsealed && of.fields[name] == nil && fault.Nearest(name, slices.Collect(maps.Keys(of.fields))) != ""
	if found != nil && !misspelt {
		return found
	}
	if l.Optional && ofTool(certain) {
		return ofNull
	}
	severity := ""
	if l.Optional || certain == declared || misspelt {
		severity = warning
	}
	i.absent(l.At, severity, "%s has no field %q%s%s", subject(said), fault.Cut(name, 60), nearestField(name, of), says(of))
	if l.Optional && !misspelt {
		return ofNull
	}
	return anything
}

func subject(said string) string {
	if said == "" {
		return "the value"
	}
	return fault.Cut(said, 80)
}

func says(of *Type) string {
	if of.origin == "" {
		return ""
	}
	return " (" + of.origin + ")"
}

// nearestField names the field that is likely meant, or some that there are.
func nearestField(name string, of *Type) string {
	fields := slices.Sorted(maps.Keys(of.fields))
	if len(fields) == 0 {
		return ": it has none"
	}
	if meant := fault.NearestHint(": did you mean %q?", name, fields); meant != "" {
		return meant
	}
	more := ""
	if len(fields) > 8 {
		fields, more = fields[:8], ", …"
	}
	return ": it has " + strings.Join(fields, ", ") + more
}

// guardedReads returns the reads whose type or presence a condition asks for.
func guardedReads(condition ast.Node) []string {
	a := &asking{}
	ast.Walk(&condition, a)
	return a.reads
}

type asking struct{ reads []string }

// Visit gathers the x of type(x) and of "key" in x.
func (a *asking) Visit(node *ast.Node) {
	switch n := (*node).(type) {
	case *ast.BuiltinNode:
		if n.Name == "type" && len(n.Arguments) == 1 {
			a.reads = append(a.reads, readSource(n.Arguments[0]))
		}
	case *ast.CallNode:
		if callee, ok := n.Callee.(*ast.IdentifierNode); ok && callee.Value == "type" && len(n.Arguments) == 1 {
			a.reads = append(a.reads, readSource(n.Arguments[0]))
		}
	case *ast.BinaryNode:
		if n.Operator == "in" {
			a.reads = append(a.reads, readSource(n.Right))
		}
	}
}

// readSource returns the source form of a read, "" for other nodes.
func readSource(node ast.Node) string {
	base, links := expression.Flatten(node)
	said := nameOf(base)
	for _, each := range links {
		said = spelled(said, each.Key)
	}
	if said == "" {
		return "\x00" // equal to no read
	}
	return said
}
