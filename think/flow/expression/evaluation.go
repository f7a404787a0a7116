package expression

import (
	"fmt"

	"github.com/expr-lang/expr/builtin"
)

// evaluation is one run of a Program: its values, the budget it has spent, and
// the current call. Functions read their arguments through it; the first invalid
// argument becomes the error of the call.
type evaluation struct {
	env                Env
	steps, items, text int
	pattern            *pattern // the last one compiled at run time
	name               string
	args               []any
	err                *failure
}

// function implements one function or operator.
type function func(*evaluation) any

// adapt gives a function the shape that expr-lang calls. The first argument of
// the call is the evaluation.
func adapt(name string, answer function) *builtin.Function {
	return &builtin.Function{Name: name, Func: func(args ...any) (any, error) {
		e := args[0].(*evaluation)
		e.name, e.args = name, args[1:]
		if name != "truth" { // a check that the source does not say is free
			e.spend(1)
		}
		if e.err == nil {
			if value := answer(e); e.err == nil {
				return value, nil
			}
		}
		return nil, e.err
	}}
}

// fail records the first error of a call.
func (e *evaluation) fail(format string, args ...any) {
	if e.err == nil {
		e.err = &failure{message: fmt.Sprintf(format, args...)}
	}
}

// exceed records that a budget is spent.
func (e *evaluation) exceed(format string, args ...any) {
	if e.err == nil {
		e.err = &failure{message: fmt.Sprintf(format, args...), exceeded: true}
	}
}

// failAt records an error with its own place in the source.
func (e *evaluation) failAt(offset int, format string, args ...any) {
	if e.err == nil {
		e.err = &failure{message: fmt.Sprintf(format, args...), offset: offset, placed: true}
	}
}

// spend takes steps from the budget, and reports whether any budget is left.
func (e *evaluation) spend(steps int) bool {
	e.steps += steps
	if e.steps > maxSteps {
		e.exceed("the expression takes more than %d steps", maxSteps)
	}
	return e.err == nil
}

// scan spends the cost of reading a number of bytes.
func (e *evaluation) scan(bytes int) bool { return e.spend(bytes / bytesPerStep) }

const itemsExceeded = "the expression makes lists of more than 20000 items in all"

// grow takes items of a new list or object from the budget.
func (e *evaluation) grow(items int) bool {
	e.items += items
	if items > maxItems || e.items > maxItems {
		e.exceed(itemsExceeded)
	}
	return e.err == nil
}

// produce takes the bytes of a new text from the budget.
func (e *evaluation) produce(bytes int) bool {
	if bytes > maxText {
		e.exceed("%s makes a text of more than %d bytes", e.sourceName(), maxText)
		return false
	}
	e.text += bytes
	if e.text > maxAllText {
		e.exceed("the expression makes texts of more than %d bytes in all", maxAllText)
	}
	return e.scan(bytes)
}

// sourceName returns the name of the current function or operator as a source writes it.
func (e *evaluation) sourceName() string {
	if symbol, ok := symbols[e.name]; ok {
		return symbol
	}
	return e.name
}

// newText spends the budget for a new text and returns it.
func (e *evaluation) newText(text string) any {
	e.produce(len(text))
	return text
}

// has reports whether the call has an argument i.
func (e *evaluation) has(i int) bool { return i < len(e.args) }

// needs records that argument i has the wrong type.
func (e *evaluation) needs(i int, wanted string) {
	if len(e.args) == 1 {
		e.fail("%s needs %s, found %s", e.sourceName(), wanted, kind(e.args[i]))
		return
	}
	e.fail("%s needs %s as its %s argument, found %s", e.sourceName(), wanted, ordinal(i), kind(e.args[i]))
}

func ordinal(i int) string {
	names := []string{"first", "second", "third", "fourth"}
	return names[min(i, len(names)-1)]
}

// str returns argument i, a string, and spends the cost of reading it.
func (e *evaluation) str(i int) string {
	text, ok := e.args[i].(string)
	if !ok {
		e.needs(i, "a string")
	}
	e.scan(len(text))
	return text
}

// list returns argument i, a list. Do not change it.
func (e *evaluation) list(i int) []any {
	items, ok := e.args[i].([]any)
	if !ok {
		e.needs(i, "a list")
	}
	e.spend(len(items))
	return items
}

// object returns argument i, an object. Do not change it.
func (e *evaluation) object(i int) map[string]any {
	fields, ok := e.args[i].(map[string]any)
	if !ok {
		e.needs(i, "an object")
	}
	e.spend(len(fields))
	return fields
}

// integer returns argument i, an integer, or otherwise if there is no such argument.
func (e *evaluation) integer(i, otherwise int) int {
	if !e.has(i) {
		return otherwise
	}
	number, ok := operand(e.args[i]).(int)
	if !ok {
		e.needs(i, "an integer")
	}
	return number
}
