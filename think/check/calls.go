package check

import (
	"maps"
	"slices"
	"strings"

	"github.com/expr-lang/expr/ast"
)

// signature has the kinds of a function's arguments, and its result. The last kind also
// applies to further arguments; an argument without a kind accepts anything.
type signature struct {
	arguments []kinds
	gives     *Type
}

var (
	nullableNumber = &Type{kinds: number | null}
	nullableIndex  = &Type{kinds: integer | null}
	texts          = listOf(ofText)
	typeOfValue    = &Type{kinds: text, values: []any{"nil", "bool", "int", "float", "string", "array", "map"}}
	anyList        = &Type{kinds: list}
	anyObject      = &Type{kinds: object}
)

// signatures are the functions whose result type does not depend on their arguments.
// They must agree with calls.go of package expression.
var signatures = map[string]signature{
	"len":       {[]kinds{text | list | object}, ofInt},
	"keys":      {[]kinds{object}, texts},
	"fromPairs": {[]kinds{list}, anyObject},

	"trim": {[]kinds{text}, ofText}, "trimPrefix": {[]kinds{text}, ofText}, "trimSuffix": {[]kinds{text}, ofText},
	"upper": {[]kinds{text}, ofText}, "lower": {[]kinds{text}, ofText},
	"split": {[]kinds{text, text, number}, texts}, "splitAfter": {[]kinds{text, text, number}, texts},
	"join": {[]kinds{list, text}, ofText}, "replace": {[]kinds{text, text, text, number}, ofText}, "repeat": {[]kinds{text, number}, ofText},
	"indexOf": {[]kinds{text}, ofInt}, "lastIndexOf": {[]kinds{text}, ofInt},
	"hasPrefix": {[]kinds{text}, ofBool}, "hasSuffix": {[]kinds{text}, ofBool},

	"abs": {[]kinds{number}, ofNumber}, "ceil": {[]kinds{number}, ofNumber}, "floor": {[]kinds{number}, ofNumber}, "round": {[]kinds{number}, ofNumber},
	"min": {[]kinds{number | list}, nullableNumber}, "max": {[]kinds{number | list}, nullableNumber},
	"mean": {[]kinds{number | list}, nullableNumber}, "median": {[]kinds{number | list}, nullableNumber},

	"int": {nil, ofInt}, "float": {nil, ofNumber}, "string": {nil, ofText}, "type": {nil, typeOfValue},
	"toJSON": {nil, ofText}, "fromJSON": {[]kinds{text}, anything},

	"date": {[]kinds{text}, ofInt}, "days": {[]kinds{text | number}, ofNumber}, "seconds": {[]kinds{text | number}, ofInt},
	"commands": {nil, listOf(&Type{kinds: object, openness: closed, origin: "a command", fields: map[string]*Type{"name": ofText, "args": texts, "flags": texts, "text": ofText}})},
}

// call returns what a function gives, and checks its arguments.
func (i *inference) call(name string, arguments []ast.Node) *Type {
	if known, ok := signatures[name]; ok {
		for k, argument := range arguments {
			found := i.node(argument, false)
			if len(known.arguments) > 0 {
				i.needs(argument, found, known.arguments[min(k, len(known.arguments)-1)], "the argument of "+name)
			}
		}
		return known.gives
	}
	switch {
	case len(arguments) == 0:
		return anything
	case name == "values", name == "toPairs":
		value := i.need(arguments[0], object, "the argument of "+name).fieldType()
		if name == "values" {
			return listOf(value)
		}
		return listOf(&Type{kinds: list, prefix: []*Type{ofText, value}, item: none})
	}
	given := i.need(arguments[0], list, "the first argument of "+name)
	if given.kinds&list == 0 {
		given = anyList
	}
	return i.ofList(name, given, arguments)
}

// ofList returns what a function of a list gives.
func (i *inference) ofList(name string, given *Type, arguments []ast.Node) *Type {
	item := given.itemType()
	same := listOf(item)
	switch name {
	case "all", "any", "none", "one":
		i.predicate(item, arguments, true)
		return ofBool
	case "filter":
		i.predicate(item, arguments, true)
		return listOf(narrowed(item, arguments[1], i.values))
	case "find", "findLast":
		i.predicate(item, arguments, true)
		return narrowed(item, arguments[1], i.values).withNull()
	case "findIndex", "findLastIndex":
		i.predicate(item, arguments, true)
		return nullableIndex
	case "count":
		i.predicate(item, arguments, true)
		return ofInt
	case "map":
		return listOf(i.predicate(item, arguments, false))
	case "sum":
		i.predicate(item, arguments, false)
		return ofNumber
	case "groupBy":
		i.predicate(item, arguments, false)
		return &Type{kinds: object, rest: same}
	case "sortBy":
		i.predicate(item, arguments, false)
		return same
	case "reduce":
		i.predicate(item, arguments, false)
		return anything
	}
	for _, each := range arguments[1:] {
		more := i.node(each, false)
		if name == "concat" {
			i.needs(each, more, list, "an argument of concat")
			item = join(item, more.itemType())
		}
	}
	switch name {
	case "first", "last":
		return item.withNull()
	case "flatten":
		return listOf(flat(item))
	}
	return listOf(item) // take, reverse, uniq, concat, sort
}

// flat returns the type of the items that a list's items, or their items, are.
func flat(item *Type) *Type {
	for item.kinds&list != 0 {
		inner := item.itemType()
		if item.kinds == list {
			item = inner
		} else {
			item = join(item.restrictTo(every&^list), inner)
		}
		if item == anything || inner == anything {
			return anything
		}
	}
	return item
}

// predicate returns the type of a function's predicate for an item.
func (i *inference) predicate(item *Type, arguments []ast.Node, boolean bool) *Type {
	switch {
	case item.kinds == 0:
		return none // it is never evaluated
	case len(arguments) < 2:
		return anything
	}
	i.items, i.lists = append(i.items, item), append(i.lists, listText(arguments[0]))
	before, facts, values := len(i.untyped), i.facts, i.values
	i.outside(arguments[0])
	defer func() {
		i.items, i.lists, i.untyped, i.facts, i.values = i.items[:len(i.items)-1], i.lists[:len(i.lists)-1], i.untyped[:before], facts, values
	}()
	if boolean {
		return i.truth(arguments[1], "a predicate")
	}
	return i.node(arguments[1], false)
}

// outside keeps what is known for the predicate of a list: what says nothing of an item
// around, and that the list has items.
func (i *inference) outside(of ast.Node) {
	some := &ast.BinaryNode{Operator: ">", Left: &ast.BuiltinNode{Name: "len", Arguments: []ast.Node{of}}, Right: &ast.IntegerNode{}}
	i.facts = slices.DeleteFunc(learn(i.facts, some, true, i.values), func(known fact) bool { return strings.Contains(known.locals.text(known.node), "#") })
	i.values = maps.Clone(i.values)
	maps.DeleteFunc(i.values, func(_ string, named local) bool { return strings.Contains(named.text, "#") })
}
