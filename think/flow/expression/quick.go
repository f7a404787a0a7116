package expression

import "github.com/expr-lang/expr/ast"

// side is a side of a comparison that is a literal or a plain read.
type side struct {
	literal any
	read    *path
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
		return &side{read: program.plain}
	}
	return nil
}

// value returns the value of a side; known is false where the machine has to say why
// there is none.
func (s *side) value(env Env) (value any, known bool) {
	if s.read == nil {
		return s.literal, true
	}
	e := &evaluation{env: env, args: []any{s.read}}
	value = get(e)
	return value, e.err == nil
}

// quick compares two integers, texts or booleans without the machine, which takes several
// times as long. known is false for all else.
func (c *Condition) quick(env Env) (holds, known bool) {
	if c.sides[0] == nil || c.sides[1] == nil {
		return false, false
	}
	left, known := c.sides[0].value(env)
	right, also := c.sides[1].value(env)
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
