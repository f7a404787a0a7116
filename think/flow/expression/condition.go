package expression

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/expr-lang/expr/ast"

	"savant/fault"
)

// Condition is an expression that gives true or false, taken apart at its outermost and
// and or. It is immutable and safe for concurrent use.
type Condition struct {
	// text is a leaf as the parser prints it.
	text string
	// Parts are the sides of an and, or of an or; a part without any is a leaf.
	Parts []*Condition
	// Or says that one of the parts is enough. Each is tried by itself: an error in one
	// counts only where none is true.
	Or bool
	// Operator is that of a comparison, "" for other leaves.
	Operator    string
	left, right *Program
	sides       [2]*side // of a comparison, where both are simple
	program     *Program
}

// CompileCondition compiles an expression; see Compile.
func CompileCondition(source string, scope Scope) (*Condition, error) {
	whole, err := Compile(source, scope)
	if err != nil {
		return nil, err
	}
	tree, err := whole.Parse()
	if err != nil {
		return nil, err
	}
	return condition(whole, tree, scope)
}

func condition(whole *Program, node ast.Node, scope Scope) (*Condition, error) {
	made := &Condition{}
	n, binary := node.(*ast.BinaryNode)
	if binary && slices.Contains([]string{"and", "&&", "or", "||"}, n.Operator) {
		made.Or = n.Operator == "or" || n.Operator == "||"
		for _, side := range []ast.Node{n.Left, n.Right} {
			part, err := condition(whole, side, scope)
			if err != nil {
				return nil, err
			}
			if len(part.Parts) > 0 && part.Or == made.Or {
				made.Parts = append(made.Parts, part.Parts...)
			} else {
				made.Parts = append(made.Parts, part)
			}
		}
		return made, nil
	}
	made.text = fault.Cut(node.String(), maxMessage) // that of an and would be made again at each level
	var err error
	if binary && slices.Contains([]string{"==", "!=", "<", "<=", ">", ">="}, n.Operator) {
		made.Operator = n.Operator
		ofLeft, ofRight := effects(n)
		left, errLeft := compileNode(whole.source, n.Left, scope, ofLeft)
		right, errRight := compileNode(whole.source, n.Right, scope, ofRight)
		if err = errors.Join(errLeft, errRight); err != nil {
			return nil, err
		}
		made.left, made.right, made.sides = left, right, [2]*side{sideOf(n.Left, left), sideOf(n.Right, right)}
	}
	made.program, err = compileNode(whole.source, node, scope, effect{})
	return made, err
}

// String returns the condition as the parser prints it, long parts cut short.
func (c *Condition) String() string {
	if c.program != nil {
		return c.text
	}
	between := " and "
	if c.Or {
		between = " or "
	}
	parts := make([]string, len(c.Parts))
	for i, part := range c.Parts {
		if parts[i] = part.String(); len(part.Parts) > 0 {
			parts[i] = "(" + parts[i] + ")"
		}
	}
	return fault.Cut(strings.Join(parts, between), maxMessage)
}

// Programs returns the expressions of the leaves.
func (c *Condition) Programs() []*Program {
	if c.program != nil {
		return []*Program{c.program}
	}
	var all []*Program
	for _, part := range c.Parts {
		all = append(all, part.Programs()...)
	}
	return all
}

// Unclear is that of the Programs.
func (c *Condition) Unclear() bool {
	return c.program != nil && c.program.unclear || slices.ContainsFunc(c.Parts, (*Condition).Unclear)
}

// Holds evaluates the condition. failed are the leaves that gave false where it does not
// hold, in source order.
func (c *Condition) Holds(env Env) (holds bool, failed []*Condition, err error) {
	switch {
	case c.program != nil:
		holds, err = c.leaf(env)
		if !holds && err == nil {
			failed = []*Condition{c}
		}
		return holds, failed, err
	case !c.Or:
		for _, part := range c.Parts {
			if holds, failed, err = part.Holds(env); !holds {
				return false, failed, err
			}
		}
		return true, nil, nil
	}
	for _, part := range c.Parts {
		one, lacking, wrong := part.Holds(env)
		if one {
			return true, nil, nil
		}
		failed = append(failed, lacking...)
		if err == nil {
			err = wrong
		}
	}
	return false, failed, err
}

func (c *Condition) leaf(env Env) (bool, error) {
	if holds, known := c.quick(env); known {
		return holds, nil
	}
	value, err := c.program.Eval(env)
	if err != nil {
		return false, err
	}
	holds, is := value.(bool)
	if !is {
		return false, &Error{Code: fault.ExpressionError, Message: fmt.Sprintf("a condition must give true or false, found %s", kind(value))}
	}
	return holds, nil
}

// Sides evaluates the two sides of a comparison.
func (c *Condition) Sides(env Env) (left, right any, compared bool) {
	if c.Operator == "" {
		return nil, nil, false
	}
	left, errLeft := c.left.Eval(env)
	right, errRight := c.right.Eval(env)
	return left, right, errLeft == nil && errRight == nil
}

// References returns what the left and the right side of a comparison read.
func (c *Condition) References() (left, right []Reference) {
	if c.Operator == "" {
		return c.Programs()[0].References(), nil
	}
	return c.left.References(), c.right.References()
}

// Mutants returns the condition with one leaf left out, for each leaf that an and
// holds, by the text of that leaf.
func (c *Condition) Mutants() map[string]*Condition {
	all := map[string]*Condition{}
	for i, part := range c.Parts {
		changed := part.Mutants()
		if !c.Or && len(part.Parts) == 0 {
			changed[part.text] = nil
		}
		for text, other := range changed {
			mutant := *c
			mutant.Parts = slices.Delete(slices.Clone(c.Parts), i, i+1)
			if other != nil {
				mutant.Parts = slices.Insert(mutant.Parts, i, other)
			}
			all[text] = &mutant
		}
	}
	return all
}
