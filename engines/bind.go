package engines

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"sync"

	"savant/fault"
	"savant/internal/jsonvalue"
)

// Bind makes a Tool from a Go function. Its input schema is SchemaOf[In]; the caller
// sets the remaining fields (Title, ReadOnly, Exact, …). Fields of type any in In are
// decoded by package jsonvalue, so integers are exact. Member names are case-sensitive
// at every depth, and members that In does not have are ignored.
func Bind[In, Out any](name, description string, f func(context.Context, In) (Out, error)) Tool {
	return BindCall(name, description, func(ctx context.Context, _ Call, in In) (Out, error) { return f(ctx, in) })
}

// BindCall is Bind for a tool that must know its Call, for example to make calls itself.
func BindCall[In, Out any](name, description string, f func(context.Context, Call, In) (Out, error)) Tool {
	return Tool{
		Name:        name,
		Description: description,
		input:       sync.OnceValue(SchemaOf[In]),
		output:      sync.OnceValue(SchemaOf[Out]),
		takes:       reflect.TypeFor[In](),
		gives:       reflect.TypeFor[Out](),
		Call: func(ctx context.Context, call Call, args json.RawMessage) (any, error) {
			var in In
			if len(args) > 0 {
				if err := decode(args, &in); err != nil {
					return nil, err
				}
			}
			return f(ctx, call, in)
		},
	}
}

// BindReading is Bind for a read-only tool with a title, which is Exact.
func BindReading[In, Out any](name, title string, f func(context.Context, In) (Out, error), description string) Tool {
	return BindReadingCall(name, title, func(ctx context.Context, _ Call, in In) (Out, error) { return f(ctx, in) }, description)
}

// BindReadingCall is BindReading for a tool that must know its Call.
func BindReadingCall[In, Out any](name, title string, f func(context.Context, Call, In) (Out, error), description string) Tool {
	tool := BindCall(name, description, f)
	tool.Title, tool.Exact, tool.ReadOnly, tool.Idempotent = title, true, true, true
	return tool
}

// decode reads arguments into a struct. A value that fits the schema but not the Go
// type, such as a number over 64 bits, is INVALID_PARAMS.
func decode[In any](args json.RawMessage, in *In) error {
	err := jsonvalue.UnmarshalWhole(args, in)
	var mismatch *jsonvalue.Mismatch
	switch {
	case err == nil:
		return nil
	case errors.As(err, &mismatch):
		path := fault.PathOf(mismatch.Pointer)
		return fault.New(fault.InvalidParams, "%s: the value does not fit %s", path, mismatch.Type).
			With(fault.Diagnostic{Path: path, Expected: mismatch.Type, Message: "the value is out of bounds"})
	}
	return fault.New(fault.InvalidParams, "%w", err)
}
