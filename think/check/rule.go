package check

import (
	"encoding/json"

	"savant/fault"
	"savant/think/flow/expression"
)

// Names are the types of the names of a rule's expressions.
type Names map[string]*Type

// Finding is something wrong in an expression. An error has no severity.
type Finding struct {
	Code     fault.Code
	Severity string
	Offset   int
	Message  string
}

// Expression checks an expression of a rule.
func Expression(program *expression.Program, names Names) []Finding {
	_, wrong := infer(program, scope{names: names})
	found := make([]Finding, len(wrong))
	for i, each := range wrong {
		found[i] = Finding{each.code, each.severity, each.offset, each.message}
	}
	return found
}

// Call returns the type of a call of a tool, as rules see it: its arguments are the input.
func Call(name string, tool Tool) *Type {
	input, result := anything, anything
	var schema any
	if json.Unmarshal(tool.Input, &schema) == nil {
		r := &reader{origin: "the input of " + name, unnamed: exact, absent: warning}
		input = r.typeOf(schema, schema, 0)
	}
	if len(tool.Output) > 0 {
		result = outputType(name, tool)
	}
	return Object("a call", Names{"input": input, "result": result, "at": ofInt, "id": ofText, "witness": ofText})
}

// Object returns the type of a map with certain fields, List that of a list, and Value
// that of a value.
func Object(origin string, fields Names) *Type {
	return &Type{kinds: object, openness: closed, fields: fields, origin: origin}
}

// List returns the type of a list.
func List(item *Type) *Type { return listOf(item) }

// Value returns the type of a value that may change its text, not its kind.
func Value(value any) *Type {
	made := *literal(value)
	made.values, made.now = nil, value
	return &made
}

// Any is the type of all values.
func Any() *Type { return anything }
