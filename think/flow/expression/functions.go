package expression

import (
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/expr-lang/expr/builtin"
)

// variadic is the maximum of a function that takes any number of arguments.
const variadic = 1 << 10

// signature is a function that a source can call, with the number of its
// arguments.
type signature struct {
	least, most int
	answer      function
}

// functions is the allow-list. The answer is nil where the rewriter replaces the
// call by others.
var functions = map[string]signature{
	// of lists
	"len": {1, 1, length}, "first": {1, 1, first}, "last": {1, 1, last}, "take": {2, 2, take},
	"reverse": {1, 1, reversed}, "uniq": {1, 1, uniq}, "concat": {1, variadic, concat},
	"flatten": {1, 1, flattened}, "sort": {1, 2, sorted},

	// of objects
	"keys":      {1, 1, fields(func(key string, _ any) any { return key })},
	"values":    {1, 1, fields(func(_ string, value any) any { return value })},
	"toPairs":   {1, 1, fields(func(key string, value any) any { return []any{key, value} })},
	"fromPairs": {1, 1, fromPairs},

	// of strings
	"trim":       {1, 2, trim},
	"trimPrefix": {2, 2, ofPair(strings.TrimPrefix)}, "trimSuffix": {2, 2, ofPair(strings.TrimSuffix)},
	"upper": {1, 1, ofText(strings.ToUpper)}, "lower": {1, 1, ofText(strings.ToLower)},
	"split": {2, 3, splitting(strings.SplitN)}, "splitAfter": {2, 3, splitting(strings.SplitAfterN)},
	"join": {1, 2, join}, "replace": {3, 4, replace}, "repeat": {2, 2, repeat},
	"indexOf": {2, 2, position(strings.Index)}, "lastIndexOf": {2, 2, position(strings.LastIndex)},
	"hasPrefix": {2, 2, ofTexts(strings.HasPrefix)}, "hasSuffix": {2, 2, ofTexts(strings.HasSuffix)},

	// of numbers
	"abs": {1, 1, absolute}, "ceil": {1, 1, rounded(math.Ceil)}, "floor": {1, 1, rounded(math.Floor)},
	"round": {1, 1, rounded(math.Round)},
	"min":   {1, variadic, extreme(-1)}, "max": {1, variadic, extreme(1)},
	"mean": {1, variadic, mean}, "median": {1, variadic, median},

	// between types
	"int": {1, 1, toInt}, "float": {1, 1, toFloat}, "string": {1, 1, toText}, "type": {1, 1, typeName},
	"toJSON": {1, 1, toJSON}, "fromJSON": {1, 1, fromJSON},

	// with a predicate
	"all": {}, "any": {}, "none": {}, "one": {}, "filter": {}, "map": {}, "count": {}, "find": {},
	"findIndex": {}, "findLast": {}, "findLastIndex": {}, "groupBy": {}, "sortBy": {}, "reduce": {}, "sum": {},
}

// operators are the binary operators that become calls. and, or, ?? and the
// conditional stay jumps of the virtual machine.
var operators = map[string]function{
	"+": addition, "-": numeric(subtract), "*": numeric(multiply), "/": division, "%": modulo,
	"**": power, "^": power, "..": span, "in": membership, "matches": matching,
	"==":         func(e *evaluation) any { return e.equal(e.args[0], e.args[1], 0) },
	"<":          ordering(func(order int) bool { return order < 0 }),
	"<=":         ordering(func(order int) bool { return order <= 0 }),
	">":          ordering(func(order int) bool { return order > 0 }),
	">=":         ordering(func(order int) bool { return order >= 0 }),
	"contains":   ofTexts(strings.Contains),
	"startsWith": ofTexts(strings.HasPrefix),
	"endsWith":   ofTexts(strings.HasSuffix),
}

// internal are further functions that only the rewriter calls.
var internal = map[string]function{
	"negate": negation, "number": func(e *evaluation) any { return e.number() },
	"get": get, "a slice": slice, "key": objectKey, "result": result, "truth": truth,
	"isNull": func(e *evaluation) any { return e.args[0] == nil },
	"list":   aList, "lookup": lookup, "same": same,
	"isEmpty": isEmpty, "reversed": reversed, "mirrored": mirrored, "someItems": someItems, "test": test, "turn": turn,
	"sum": sum, "groupBy": groupedBy, "sortBy": sortedBy,
}

// symbols are how messages name a function that is not called by its own name.
var symbols = map[string]string{"negate": "-", "number": "+", "^": "**", "list": "a predicate function", "someItems": "reduce"}

// callable is every function in the shape that expr-lang calls. Those that a
// source cannot call by name begin with "+".
var callable = table()

func table() map[string]*builtin.Function {
	all := make(map[string]*builtin.Function)
	for name, known := range functions {
		if known.answer != nil {
			all[name] = adapt(name, known.answer)
		}
	}
	for name, known := range ofRules {
		all[name] = adapt(name, known.answer)
	}
	for _, answers := range []map[string]function{operators, internal} {
		for name, answer := range answers {
			all["+"+name] = adapt(name, answer)
		}
	}
	return all
}

// functionNames are sorted, so that suggestions are deterministic.
var functionNames = slices.Sorted(maps.Keys(functions))

// turn returns the value of a predicate and spends the cost of one turn.
func turn(e *evaluation) any {
	e.spend(e.integer(1, 0))
	return e.args[0]
}

// test is turn for a predicate that must return a boolean.
func test(e *evaluation) any {
	if _, ok := e.args[0].(bool); !ok {
		e.fail("a predicate must give true or false, found %s", kind(e.args[0]))
	}
	return turn(e)
}

// reversed returns a list in reverse order.
func reversed(e *evaluation) any {
	items, _ := aList(e).([]any)
	turned, _ := e.copied(items).([]any)
	slices.Reverse(turned)
	return turned
}

// mirrored converts an index in a reversed list to one in the list; null stays null.
func mirrored(e *evaluation) any {
	if index, ok := e.args[1].(int); ok {
		return len(e.list(0)) - 1 - index
	}
	return nil
}

// aList returns its argument, and fails if it is not a list.
func aList(e *evaluation) any {
	items, ok := e.args[0].([]any)
	if !ok {
		e.fail("a list is needed here, found %s", kind(e.args[0]))
	}
	return items
}
