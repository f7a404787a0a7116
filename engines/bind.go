package engines

import (
	"context"
	"encoding/json"
	"errors"

	"savant/fault"
	"savant/internal/jsonvalue"
)

// Bind makes a Tool of a Go function. Its input schema is SchemaOf[In]; the
// caller sets what else is true of the tool (Title, ReadOnly, Output, …).
// Values of type any in In hold JSON as package jsonvalue has it, so integers
// are exact. Names of members are compared letter by letter at every depth, and
// those that In does not have are ignored.
func Bind[In, Out any](name, description string, f func(context.Context, In) (Out, error)) Tool {
	input := SchemaOf[In]()
	return Tool{
		Name:        name,
		Description: description,
		Input:       input,
		derived:     input,
		Call: func(ctx context.Context, args json.RawMessage) (any, error) {
			var in In
			if len(args) > 0 {
				if err := decode(args, &in); err != nil {
					return nil, err
				}
			}
			return f(ctx, in)
		},
	}
}

// BindReading is Bind for a tool that only reads, with its title and with an output
// schema: SchemaOf[Out].
func BindReading[In, Out any](name, title string, f func(context.Context, In) (Out, error), description string) Tool {
	made := Bind(name, description, f)
	made.Title = title
	made.Output = SchemaOf[Out]()
	made.ReadOnly, made.Idempotent = true, true
	return made
}

// decode reads arguments into a struct; INVALID_PARAMS where a value fits the
// schema but not the Go type, such as a number beyond 64 bits.
func decode[In any](args json.RawMessage, in *In) error {
	if jsonvalue.Unmarshal(args, in) == nil {
		return nil
	}
	// 1.0 is an integer to JSON Schema, not to Go: the one encoding has it as 1.
	value, err := jsonvalue.Decode(args)
	if err == nil {
		args, err = jsonvalue.Encode(value)
	}
	if err == nil {
		*in = *new(In)
		err = jsonvalue.Unmarshal(args, in)
	}
	var misfit *jsonvalue.Misfit
	switch {
	case err == nil:
		return nil
	case errors.As(err, &misfit):
		path := pathOf(misfit.Pointer)
		return fault.New(fault.InvalidParams, "%s: the value does not fit %s", path, misfit.Type).
			With(fault.Diagnostic{Path: path, Expected: misfit.Type, Message: "the value is out of bounds"})
	}
	return fault.New(fault.InvalidParams, "%w", err)
}
