package expression

import (
	"maps"
	"slices"
	"strconv"
)

// fields returns a function that makes a list of the fields of an object, in
// the order of their keys.
func fields(item func(key string, value any) any) function {
	return func(e *evaluation) any {
		object := e.object(0)
		if !e.grow(len(object)) {
			return nil
		}
		list := make([]any, 0, len(object))
		for _, key := range slices.Sorted(maps.Keys(object)) {
			list = append(list, item(key, object[key]))
		}
		return list
	}
}

// fromPairs makes an object of [[key, value], …]. The last of equal keys wins.
func fromPairs(e *evaluation) any {
	pairs := e.list(0)
	if !e.grow(len(pairs)) {
		return nil
	}
	object := make(map[string]any, len(pairs))
	for i, pair := range pairs {
		parts, ok := pair.([]any)
		if !ok || len(parts) != 2 {
			e.fail("fromPairs needs a list of [key, value], found something else at index %d", i)
			return nil
		}
		key, ok := parts[0].(string)
		if !ok {
			e.fail("fromPairs needs strings as keys, found %s at index %d", kind(parts[0]), i)
			return nil
		}
		object[key] = parts[1]
	}
	return object
}

// objectKey is the key of {(key): value}.
func objectKey(e *evaluation) any {
	if _, ok := e.args[0].(string); !ok {
		e.fail("a key must be a string, found %s", kind(e.args[0]))
	}
	return e.args[0]
}

// groupKey writes a key of groupBy as the key of an object.
func groupKey(value any) (string, bool) {
	switch v := operand(value).(type) {
	case string:
		return v, true
	case bool:
		return strconv.FormatBool(v), true
	case int:
		return strconv.Itoa(v), true
	default:
		return "", false
	}
}
