package check

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/expr-lang/expr/ast"

	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/think/flow/expression"
)

// need reports an operand that can be none of some kinds.
func (i *inference) need(node ast.Node, wanted kinds, what string) *Type {
	found := i.node(node, false)
	i.needs(node, found, wanted, what)
	return found
}

func (i *inference) needs(node ast.Node, found *Type, wanted kinds, what string) {
	if found.kinds&wanted == 0 && found.kinds&^null != 0 {
		i.report(node, "", "%s must be %s, not %s", what, wanted, found.kinds)
		return
	}
	i.needsPresent(node, found, wanted, what)
}

// fallbacks are what a read may give in place of null, by the kinds that are wanted.
var fallbacks = []struct {
	of   kinds
	text string
}{{text, `""`}, {number, "0"}, {boolean, "false"}, {list, "[]"}, {object, "{}"}}

// needsPresent warns of an operand that is read and may be null, where null is an error and
// nothing around it says that it is not.
func (i *inference) needsPresent(node ast.Node, found *Type, wanted kinds, what string) {
	if predicate, ok := node.(*ast.PredicateNode); ok {
		node = predicate.Node
	}
	switch node.(type) {
	case *ast.IdentifierNode, *ast.MemberNode, *ast.ChainNode, *ast.PointerNode:
	default:
		return
	}
	if found.kinds&null == 0 || found.kinds&^null == 0 || found.kinds == every || wanted&null != 0 {
		return
	}
	path, _ := i.values.chain(node)
	if path != nil && (assumption{of: nothing, path: path}).excluded(i.facts) || found.gap != nil && i.there(found.gap, path) {
		return
	}
	why := ""
	if found.gap != nil {
		why = " (" + found.gap.why + ")"
	}
	if slices.ContainsFunc(i.findings, func(each finding) bool {
		return each.missing && found.gap != nil && strings.HasPrefix(each.message, found.gap.why)
	}) {
		return // it is said that the read itself fails
	}
	for _, each := range fallbacks {
		if found.kinds&wanted&each.of != 0 {
			i.report(node, warning, "%s must be %s, and %s may be null%s: write (%s ?? %s)", what, wanted, listText(node), why, listText(node), each.text)
			return
		}
	}
}

func (i *inference) unary(n *ast.UnaryNode) *Type {
	if negates(n) {
		if in, ok := n.Node.(*ast.BinaryNode); ok && in.Operator == "in" {
			i.membership(in, true)
			return ofBool
		}
		return i.truth(n.Node, "the operand of "+n.Operator)
	}
	switch operand := n.Node.(type) {
	case *ast.IntegerNode:
		if n.Operator == "-" {
			return literal(-operand.Value)
		}
	}
	i.need(n.Node, number, "the operand of "+n.Operator)
	return ofNumber
}

func (i *inference) binary(n *ast.BinaryNode, soft bool) *Type {
	switch n.Operator {
	case "and", "&&", "or", "||":
		return i.logical(n)
	case "??":
		left := i.node(n.Left, true).withoutNull()
		return join(left, i.inferUnder(isAbsent(n.Left), true, n.Right, soft))
	case "==", "!=":
		i.compare(n)
		return ofBool
	case "<", "<=", ">", ">=":
		i.ordered(n)
		return ofBool
	case "in":
		i.membership(n, false)
		return ofBool
	case "contains", "startsWith", "endsWith", "matches":
		i.need(n.Left, text, "the left side of "+n.Operator)
		right := i.need(n.Right, text, "the right side of "+n.Operator)
		if n.Operator == "matches" {
			i.patterns(n.Right, append(slices.Clone(right.values), right.now))
		}
		return ofBool
	case "+":
		return i.addition(n)
	case "..":
		i.need(n.Left, number, "the left side of ..")
		i.need(n.Right, number, "the right side of ..")
		return listOf(ofInt)
	}
	i.need(n.Left, number, "the left side of "+n.Operator)
	i.need(n.Right, number, "the right side of "+n.Operator)
	return ofNumber
}

// patterns reports a text that is read as a pattern and is none.
func (i *inference) patterns(node ast.Node, values []any) {
	for _, value := range values {
		if source, is := value.(string); is {
			if err := expression.CheckPattern(source); err != nil {
				i.report(node, "", "%s", err)
				return
			}
		}
	}
}

// isAbsent returns the condition that a value is null, each in a chain of ??.
func isAbsent(node ast.Node) ast.Node {
	if chain, is := node.(*ast.BinaryNode); is && chain.Operator == "??" {
		return &ast.BinaryNode{Operator: "and", Left: isAbsent(chain.Left), Right: isAbsent(chain.Right)}
	}
	return &ast.BinaryNode{Operator: "==", Left: &ast.BinaryNode{Operator: "??", Left: node, Right: &ast.NilNode{}}, Right: &ast.NilNode{}}
}

// logical also knows that the right side is reached only after the left one was
// asked.
func (i *inference) logical(n *ast.BinaryNode) *Type {
	i.truth(n.Left, "the left side of "+n.Operator)
	before := len(i.untyped)
	i.untyped = append(i.untyped, guardedReads(n.Left)...)
	outer := i.facts
	i.facts = learn(outer, n.Left, conjunction(n, true), i.values)
	i.truth(n.Right, "the right side of "+n.Operator)
	i.facts, i.untyped = outer, i.untyped[:before]
	return ofBool
}

func (i *inference) addition(n *ast.BinaryNode) *Type {
	left, right := i.node(n.Left, false), i.node(n.Right, false)
	i.needs(n.Left, left, number|text, "the left side of +")
	i.needs(n.Right, right, number|text, "the right side of +")
	shared := loose(left.kinds) & loose(right.kinds) & (number | text)
	if left.kinds&(number|text) != 0 && right.kinds&(number|text) != 0 && shared == 0 {
		i.report(n, "", "+ needs two numbers or two strings, not %s and %s; string(…) makes a string of any value",
			left.kinds&(number|text), right.kinds&(number|text))
		return anything
	}
	if shared == 0 {
		return anything
	}
	return &Type{kinds: shared}
}

func (i *inference) ordered(n *ast.BinaryNode) {
	left, right := i.node(n.Left, false), i.node(n.Right, false)
	i.needs(n.Left, left, number|text, "the left side of "+n.Operator)
	i.needs(n.Right, right, number|text, "the right side of "+n.Operator)
	a, b := loose(left.kinds)&(number|text), loose(right.kinds)&(number|text)
	if a != 0 && b != 0 && a&b == 0 {
		i.report(n, "", "%s cannot be compared with %s by %s", a, b, n.Operator)
	}
}

// compare reports an == that can never hold, and a != that always does.
func (i *inference) compare(n *ast.BinaryNode) {
	left, right := i.node(n.Left, false), i.node(n.Right, false)
	switch {
	case !canEqual(left, right) && (isNull(n.Left) || isNull(n.Right)):
		i.compareNull(n)
	case !neverEqual(left, right):
	case n.Operator == "!=":
		i.report(n, warning, "this comparison is always true: %s", differ(n, left, right))
	default:
		i.report(n, severityOf(left, right), "this comparison is never true: %s", differ(n, left, right))
	}
}

// neverEqual reports whether two values are certain to differ. Little is known of lists
// or maps.
func neverEqual(a, b *Type) bool {
	return a.kinds != 0 && b.kinds != 0 && !canEqual(a, b) && a.kinds&b.kinds&(list|object) == 0
}

// severityOf is how severe a comparison is that never holds. One of values that are all
// written out in the workflow is odd, and may be meant.
func severityOf(left, right *Type) string {
	if left.written && right.written {
		return warning
	}
	return ""
}

// compareNull warns about comparing a value that is never null with null. Its author
// usually wants to know whether a field exists, which only ?. tests.
func (i *inference) compareNull(n *ast.BinaryNode) {
	value := n.Left
	if isNull(value) {
		value = n.Right
	}
	read := plainly(value)
	dot := strings.LastIndexByte(read, '.')
	if isNull(value) || dot < 0 || slices.Contains([]string{"state", "params", "run", "loop"}, read[:dot]) {
		return
	}
	i.report(n, warning, "%s is never null, and the step fails if it is missing: to ask whether it exists write %s?%s", subject(read), read[:dot], read[dot:])
}

func isNull(node ast.Node) bool {
	if name, ok := node.(*ast.IdentifierNode); ok {
		return name.Value == "null"
	}
	_, literally := node.(*ast.NilNode)
	return literally
}

// differ explains why two values are never equal.
func differ(n *ast.BinaryNode, left, right *Type) string {
	values, other, at := left, right, n.Left
	if values.values == nil || constant(n.Left) && right.values != nil {
		values, other, at = right, left, n.Right
	}
	if values.values != nil && other.values != nil {
		fix := ""
		if wrong, ok := other.values[0].(string); ok && len(other.values) == 1 {
			fix = nearestHint(wrong, values.values)
		}
		return subject(plainly(at)) + " is one of " + valueList(values.values) + fix
	}
	return left.kinds.String() + " is never equal to " + right.kinds.String()
}

func constant(node ast.Node) bool {
	switch node.(type) {
	case *ast.StringNode, *ast.IntegerNode, *ast.BoolNode, *ast.FloatNode:
		return true
	}
	return false
}

// plainly returns the source form of a read, "" for other nodes.
func plainly(node ast.Node) string { return strings.TrimPrefix(readSource(node), "\x00") }

// statuses maps words that people mistake for a step's status.
var statuses = map[string]string{"success": "done", "succeeded": "done", "completed": "done", "complete": "done", "ok": "done", "passed": "done", "finished": "done",
	"failure": "failed", "error": "failed", "skip": "skipped"}

func nearestHint(wrong string, values []any) string {
	var known []string
	for _, value := range values {
		if word, ok := value.(string); ok {
			known = append(known, word)
		}
	}
	nearest := fault.Nearest(wrong, known)
	if word := statuses[strings.ToLower(wrong)]; word != "" && nearest == "" {
		for _, each := range known {
			if each == word {
				nearest = word
			}
		}
	}
	if typical := typeNames[wrong]; nearest == "" && typical != "" && len(known) > 0 && known[0] == "nil" {
		nearest = typical
	}
	if nearest == "" {
		return ""
	}
	return "; did you mean " + strconv.Quote(nearest) + "?"
}

// typeNames maps other languages' names of the types that type() returns.
var typeNames = map[string]string{"object": "map", "dict": "map", "list": "array", "number": "int", "integer": "int", "boolean": "bool", "str": "string", "null": "nil", "none": "nil"}

func valueList(values []any) string {
	var said []string
	for at, value := range values {
		if at == 8 {
			said = append(said, "…")
			break
		}
		data, err := jsonvalue.Encode(value)
		if err != nil {
			continue
		}
		said = append(said, fault.Cut(string(data), 60))
	}
	return strings.Join(said, ", ")
}

// membership checks in, whose result negated turns around.
func (i *inference) membership(n *ast.BinaryNode, negated bool) {
	left, right := i.node(n.Left, false), i.node(n.Right, false)
	if right.kinds&(list|object) == 0 && right.kinds&^null != 0 {
		fix := ""
		if right.kinds&text != 0 {
			fix = ": use contains to search a string"
		}
		i.report(n.Right, "", "the right side of %s must be a list or an object, not %s%s", n.Operator, right.kinds, fix)
		return
	}
	i.needsPresent(n.Right, right, list|object, "the right side of "+n.Operator)
	if members, ok := n.Right.(*ast.ArrayNode); ok {
		i.among(n, negated, members.Nodes, left)
		return
	}
	item := right.itemType()
	if keys, ok := n.Right.(*ast.MapNode); ok && right.openness == closed && len(keys.Pairs) > 0 {
		item = &Type{kinds: text, written: true}
		for _, name := range slices.Sorted(maps.Keys(right.fields)) {
			item.values = append(item.values, name)
		}
	} else if right.kinds&object != 0 {
		return // whether a field is there is a good question
	}
	if neverEqual(left, item) {
		i.never(n, negated, left, item)
	}
}

// never reports that no value on the right side of in is the left one.
func (i *inference) never(n *ast.BinaryNode, negated bool, left, item *Type) {
	severity := severityOf(left, item)
	if negated {
		severity = warning
	}
	i.report(n, severity, "this is %s: %s", outcome(negated), differ(n, left, item))
}

func outcome(negated bool) string {
	if negated {
		return "always true"
	}
	return "never true"
}

// among looks at the members of a list that is written out: it is certain to be wrong
// where none can be the value, and odd where one cannot. A value that is written out
// itself may be searched in a list of several.
func (i *inference) among(n *ast.BinaryNode, negated bool, members []ast.Node, left *Type) {
	var strangers []int
	types := make([]*Type, len(members))
	written := left.written
	for k, each := range members {
		types[k] = i.node(each, false)
		written = written && types[k].written
		if !isNull(each) && neverEqual(left, types[k]) {
			strangers = append(strangers, k)
		}
	}
	switch all := len(strangers) == len(members); {
	case len(strangers) == 0, left.written && !all:
	case written:
		i.report(n, warning, "this is %s: %s is not in the list", outcome(negated), valueList(left.values))
	case all:
		i.never(n, negated, left, join(types...))
	default:
		for _, k := range strangers {
			equal := &ast.BinaryNode{Operator: "==", Left: n.Left, Right: members[k]}
			i.report(members[k], warning, "%s is never equal to this: %s", subject(plainly(n.Left)), differ(equal, left, types[k]))
		}
	}
}
