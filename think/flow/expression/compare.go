package expression

import (
	"cmp"
	"maps"
	"slices"

	"github.com/expr-lang/expr/ast"
)

// equal compares two values as JSON: 1 equals 1.0, different types are not equal.
// It spends a step for each value that it visits.
func (e *evaluation) equal(a, b any, depth int) bool {
	if !e.spend(1) || !e.fitsDepth(depth) {
		return false
	}
	switch x := a.(type) {
	case nil:
		return b == nil
	case bool:
		y, ok := b.(bool)
		return ok && x == y
	case string:
		y, ok := b.(string)
		return ok && len(x) == len(y) && e.scan(len(x)) && x == y
	case []any:
		y, ok := b.([]any)
		return ok && e.equalLists(x, y, depth+1)
	case map[string]any:
		y, ok := b.(map[string]any)
		return ok && e.equalObjects(x, y, depth+1)
	}
	x, y := operand(a), operand(b)
	return isNumber(x) && isNumber(y) && compareNumbers(x, y) == 0
}

func (e *evaluation) equalLists(a, b []any, depth int) bool {
	return slices.EqualFunc(a, b, func(x, y any) bool { return e.equal(x, y, depth) })
}

// equalObjects visits the fields in a fixed order, so that it always spends the
// same.
func (e *evaluation) equalObjects(a, b map[string]any, depth int) bool {
	if len(a) != len(b) || !e.spend(len(a)) {
		return false
	}
	for _, key := range slices.Sorted(maps.Keys(a)) {
		other, ok := b[key]
		if !ok || !e.equal(a[key], other, depth) {
			return false
		}
	}
	return true
}

// fitsDepth reports whether a value is not nested too deeply.
func (e *evaluation) fitsDepth(depth int) bool {
	if depth > maxDepth {
		e.fail("the value is nested deeper than %d", maxDepth)
		return false
	}
	return true
}

// compare orders two numbers or two strings; strings by bytes.
func (e *evaluation) compare(a, b any) int {
	if x, ok := a.(string); ok {
		if y, ok := b.(string); ok {
			e.scan(min(len(x), len(y)))
			return cmp.Compare(x, y)
		}
	}
	x, y := operand(a), operand(b)
	if !isNumber(x) || !isNumber(y) {
		e.fail("%s compares two numbers or two strings, found %s and %s", e.sourceName(), kind(a), kind(b))
		return 0
	}
	return compareNumbers(x, y)
}

// ordering returns a comparison operator.
func ordering(holds func(order int) bool) function {
	return func(e *evaluation) any { return holds(e.compare(e.args[0], e.args[1])) }
}

// truth returns its argument, which must be a boolean.
func truth(e *evaluation) any {
	if _, ok := e.args[0].(bool); !ok {
		e.fail("true or false is needed here, found %s", kind(e.args[0]))
	}
	return e.args[0]
}

// membership is in: a value in a list, or a key in an object.
func membership(e *evaluation) any {
	switch container := e.args[1].(type) {
	case []any:
		return slices.ContainsFunc(container, func(item any) bool { return e.equal(e.args[0], item, 0) })
	case map[string]any:
		_, found := container[e.str(0)]
		return found
	case string:
		e.fail("in searches a list or an object: use contains to search a string")
	default:
		e.fail("in needs a list or an object on its right, found %s", kind(container))
	}
	return nil
}

// ofTexts returns an operator that compares two strings.
func ofTexts(holds func(text, part string) bool) function {
	return func(e *evaluation) any {
		_, leftIsText := e.args[0].(string)
		_, rightIsText := e.args[1].(string)
		if !leftIsText || !rightIsText {
			fix := ""
			if kind(e.args[0]) == "array" {
				fix = "; a list is searched with: value in list"
			}
			e.fail("%s needs two strings, found %s and %s%s", e.sourceName(), kind(e.args[0]), kind(e.args[1]), fix)
			return nil
		}
		return holds(e.str(0), e.str(1))
	}
}

// side is a side of a comparison that is a literal or a plain read.
type side struct {
	literal any
	read    []any // the argument of get, nil for a literal
}

// sideOf returns what a side of a comparison is, nil for anything else.
func sideOf(node ast.Node, program *Program) *side {
	switch n := node.(type) {
	case *ast.IntegerNode:
		return &side{literal: n.Value}
	case *ast.StringNode:
		return &side{literal: n.Value}
	case *ast.BoolNode:
		return &side{literal: n.Value}
	}
	if program.plain != nil {
		return &side{read: []any{program.plain}}
	}
	return nil
}

// value returns the value of a side; known is false where the machine has to say why
// there is none.
func (s *side) value(e *evaluation) (value any, known bool) {
	if s.read == nil {
		return s.literal, true
	}
	e.args = s.read
	value = get(e)
	return value, e.err == nil
}

// quick compares two integers, texts or booleans without the machine, which takes several
// times as long. known is false for all else.
func (c *Condition) quick(env Env) (holds, known bool) {
	if c.sides[0] == nil || c.sides[1] == nil {
		return false, false
	}
	e := &evaluation{env: env}
	left, known := c.sides[0].value(e)
	right, also := c.sides[1].value(e)
	if !known || !also {
		return false, false
	}
	switch a := left.(type) {
	case int:
		b, same := right.(int)
		return ordered(c.Operator, a < b, a == b), same
	case string:
		b, same := right.(string)
		return ordered(c.Operator, a < b, a == b), same && (c.Operator == "==" || c.Operator == "!=")
	case bool:
		b, same := right.(bool)
		return ordered(c.Operator, false, a == b), same && (c.Operator == "==" || c.Operator == "!=")
	}
	return false, false
}

func ordered(operator string, less, equal bool) bool {
	switch operator {
	case "==":
		return equal
	case "!=":
		return !equal
	case "<":
		return less
	case "<=":
		return less || equal
	case ">":
		return !less && !equal
	}
	return !less
}
