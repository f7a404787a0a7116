package check

import (
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/expr-lang/expr/ast"
)

// maxCases bounds the combinations of values that are tried.
const maxCases = 1 << 10

// cases are the parts of conditions by their text: the values that each is compared with,
// true and false for one that is itself a condition, and its type where that is known.
type cases struct {
	compared map[string][]any
	types    map[string]*Type
	typeOf   func(ast.Node) *Type // nil: no types are known
}

// entails reports whether a condition holds, or does not, in every case in which facts do:
// of a chain of if and else the last one, where the others do not hold.
func entails(facts []fact, node ast.Node, holds bool, typeOf func(ast.Node) *Type) bool {
	all := cases{map[string][]any{}, map[string]*Type{}, typeOf}
	if all.add(node, nil); all.count() > maxCases {
		return false
	}
	var known []fact
	for _, each := range facts {
		more := cases{maps.Clone(all.compared), all.types, typeOf}
		if more.add(each.node, each.locals); more.count() <= maxCases {
			all, known = more, append(known, each)
		}
	}
	parts := slices.Sorted(maps.Keys(all.compared))
	a := assumption{values: map[string]guess{}, results: map[string]guess{}}
	for row := range all.count() {
		for _, part := range parts {
			values := all.tried(part)
			a.values[part], row = values[row%len(values)], row/len(values)
		}
		if a.excluded(known) {
			continue
		}
		if found := a.guessOf(fact{node: node}); !found.known || found.value != holds {
			return false
		}
	}
	return true
}

// count returns how many combinations of values there are, at most one more than are tried.
func (c cases) count() int {
	count := 1
	for part := range c.compared {
		count = min(count*len(c.tried(part)), maxCases+1)
	}
	return count
}

// add adds the parts of a condition.
func (c cases) add(node ast.Node, in locals) {
	if named, known := in.localOf(node); known {
		c.add(named.value, named.in)
		return
	}
	switch n := node.(type) {
	case *ast.UnaryNode:
		if negates(n) {
			c.add(n.Node, in)
			return
		}
	case *ast.ConditionalNode:
		c.add(n.Cond, in)
		c.add(n.Exp1, in)
		c.add(n.Exp2, in)
		return
	case *ast.BinaryNode:
		if conjunction(n, true) || conjunction(n, false) {
			c.add(n.Left, in)
			c.add(n.Right, in)
			return
		}
		if comparisonOperators[n.Operator] && c.compare(n, in) {
			return
		}
	}
	text, _ := in.condition(node)
	c.put(text, node, true, false)
}

func (c cases) put(part string, node ast.Node, values ...any) {
	if c.compared[part] == nil && c.typeOf != nil {
		c.types[part] = c.typeOf(node)
	}
	c.compared[part] = append(slices.Clip(c.compared[part]), values...)
}

var comparisonOperators = map[string]bool{"==": true, "!=": true, "<": true, "<=": true, ">": true, ">=": true, "in": true}

// compare adds a side of a comparison whose other side is known, or says that none is.
func (c cases) compare(n *ast.BinaryNode, in locals) bool {
	members, isList := n.Right.(*ast.ArrayNode)
	left, right := assumption{}.guessOf(fact{node: n.Left, locals: in}), assumption{}.guessOf(fact{node: n.Right, locals: in})
	switch {
	case n.Operator == "in" && isList:
		for _, each := range members.Nodes {
			c.add(&ast.BinaryNode{Operator: "==", Left: n.Left, Right: each}, in)
		}
	case right.known && n.Operator != "in":
		c.put(in.text(n.Left), n.Left, andAnother([]any{right.value})...)
	case right.known:
		c.put(in.text(n.Left), n.Left, andAnother(right.members())...)
	case left.known && n.Operator != "in":
		c.put(in.text(n.Right), n.Right, andAnother([]any{left.value})...)
	default:
		return false
	}
	return true
}

// andAnother adds a text to values of which one is a boolean: what is compared with a boolean may
// be something else, such as null.
func andAnother(values []any) []any {
	if slices.ContainsFunc(values, func(value any) bool { return kindOf(value) == boolean }) {
		return append(slices.Clip(values), "\x00")
	}
	return values
}

// sample is a value that stands for all between, or beside, those that a part is compared with.
type sample struct {
	value    any
	compared []any
}

// members returns a value, or those of a list.
func (g guess) members() []any {
	if list, is := g.value.([]any); is {
		return list
	}
	return []any{g.value}
}

// against returns the value of a sample beside what it was compared with.
func (g guess) against(other guess) guess {
	found, is := g.value.(sample)
	if is && other.known && !slices.ContainsFunc(other.members(), func(value any) bool { return !contains(found.compared, value) }) {
		return guessOf(found.value)
	}
	return g
}

func contains(values []any, value any) bool {
	return slices.ContainsFunc(values, func(each any) bool { return equalJSON(each, value) })
}

// tried returns the values that a part is tried with: those that it is compared with, and
// samples of what lies below, between and above them.
func (c cases) tried(part string) (all []guess) {
	compared, known := c.compared[part], c.types[part]
	if known != nil && len(known.values) > 0 {
		for _, value := range known.values {
			all = append(all, guessOf(value))
		}
		return all
	}
	if known != nil && known.kinds == boolean || !slices.ContainsFunc(compared, func(value any) bool { return kindOf(value) != boolean }) {
		return []guess{guessOf(true), guessOf(false)}
	}
	for k, each := range compared {
		if !contains(compared[:k], each) {
			all = append(all, guessOf(each))
		}
	}
	var numbers []float64
	var beside []any
	for _, each := range compared {
		switch value := each.(type) {
		case int:
			numbers = append(numbers, float64(value))
		case float64:
			numbers = append(numbers, value)
		case string:
			beside = append(beside, "", value+"\x00")
		case bool:
			beside = append(beside, !value)
		}
	}
	if beside = append(beside, c.around(part, numbers)...); len(beside) == 0 {
		beside = []any{"\x00"}
	}
	for _, value := range beside {
		if !contains(compared, value) {
			all = append(all, guess{value: sample{value, compared}})
		}
	}
	return all
}

// around returns numbers below, between and above others.
func (c cases) around(part string, numbers []float64) (all []any) {
	known := c.types[part]
	length := strings.HasPrefix(part, "len(") // is no less than 0
	slices.Sort(numbers)
	for k, each := range numbers {
		if k == 0 && (!length || each > 0) {
			all = append(all, each-1)
		}
		switch between := k < len(numbers)-1; {
		case !between:
			all = append(all, each+1)
		case !length && (known == nil || known.kinds != integer):
			all = append(all, each+(numbers[k+1]-each)/2)
		case math.Floor(each)+1 < numbers[k+1]:
			all = append(all, math.Floor(each)+1)
		}
	}
	return all
}

// typeOf returns what is known of the values of a read, nil for another part.
func (i *inference) typeOf(part ast.Node) *Type {
	if names, _ := locals(nil).chain(part); names == nil {
		return nil
	}
	quiet := inference{scope: i.scope, program: i.program, locals: map[string]*Type{}, values: locals{}}
	quiet.skips = nil
	return quiet.node(part, false)
}
