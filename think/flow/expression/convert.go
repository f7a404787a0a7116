package expression

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"

	"savant/internal/jsonvalue"
)

// toInt cuts off a fraction, or reads a decimal integer.
func toInt(e *evaluation) any {
	if _, ok := e.args[0].(string); ok {
		text := e.str(0)
		number, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil {
			e.fail("int cannot read %s as an integer", quote(text))
		}
		return number
	}
	return rounded(math.Trunc)(e)
}

// toFloat reads a number; as everywhere 2.0 is 2.
func toFloat(e *evaluation) any {
	if _, ok := e.args[0].(string); !ok {
		return e.number()
	}
	text := e.str(0)
	number, err := jsonvalue.Decode([]byte(strings.TrimSpace(text)))
	if err != nil || !isNumber(number) {
		e.fail("float cannot read %s as a number", quote(text))
		return nil
	}
	return operand(number)
}

// typeNames are the words of expr-lang.
var typeNames = map[string]string{
	"null": "nil", "boolean": "bool", "integer": "int", "number": "float",
	"string": "string", "array": "array", "object": "map",
}

func typeName(e *evaluation) any {
	value := operand(e.args[0])
	if _, ok := value.(json.Number); ok {
		return "int"
	}
	return typeNames[kind(value)]
}

// toText implements string(): a string is returned unchanged, any other value as JSON.
func toText(e *evaluation) any {
	if text, ok := e.args[0].(string); ok {
		return text
	}
	return toJSON(e)
}

// toJSON writes a value in its one encoding, keys sorted.
func toJSON(e *evaluation) any {
	text, ok := e.encode(e.args[0])
	if !ok {
		return nil
	}
	return text
}

func fromJSON(e *evaluation) any {
	text := e.str(0)
	if len(text) > maxText {
		e.fail("fromJSON reads at most %d bytes", maxText)
		return nil
	}
	value, err := jsonvalue.DecodeStored([]byte(text))
	if err != nil {
		e.fail("fromJSON cannot read %s as JSON", quote(text))
		return nil
	}
	size := weight{values: maxItems, text: maxText}
	if !size.add(value, 0) {
		e.exceed(itemsExceeded)
	}
	e.grow(maxItems - size.values)
	return value
}

// encode returns the encoding of a value and pays for it. The value is weighed
// before, since its parts may be shared without end.
func (e *evaluation) encode(value any) (string, bool) {
	left := maxSteps - e.steps
	size := weight{values: left, text: maxText}
	if !size.add(value, 0) {
		e.fail("%s: the value is too large to be written as text", e.sourceName())
		return "", false
	}
	e.spend(left - size.values)
	data, err := jsonvalue.Encode(value)
	if err != nil {
		e.fail("%s of something that is not a JSON value", e.sourceName())
		return "", false
	}
	return string(data), e.produce(len(data))
}

// weight is how many values and bytes of text a value may still have.
type weight struct{ values, text int }

// add subtracts a value from the weight, and reports whether it fits, has types of
// package jsonvalue and is not nested too deeply. The result does not depend on the
// order of an object's members.
func (w *weight) add(value any, depth int) bool {
	w.values--
	if w.values < 0 || depth > maxDepth {
		return false
	}
	switch v := value.(type) {
	case nil, bool, int:
		return true
	case float64:
		return !math.IsNaN(v) && !math.IsInf(v, 0)
	case json.Number:
		return w.write(string(v))
	case string:
		return w.write(v)
	case []any:
		return !slices.ContainsFunc(v, func(item any) bool { return !w.add(item, depth+1) })
	case map[string]any:
		for key, item := range v {
			if !w.write(key) || !w.add(item, depth+1) {
				return false
			}
		}
		return true
	default:
		return false
	}
}

func (w *weight) write(text string) bool {
	w.text -= len(text)
	return w.text >= 0
}

// result checks what leaves an evaluation.
func result(e *evaluation) any {
	size := weight{values: maxResultValues, text: maxResultText}
	if !size.add(e.args[0], 0) {
		e.fail("the result is too large, too deep or not a JSON value")
	}
	return e.args[0]
}
