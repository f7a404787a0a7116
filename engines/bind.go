package engines

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"slices"

	"savant/fault"
	"savant/internal/jsonvalue"
)

// Bind makes a Tool of a Go function. Its input schema is SchemaOf[In]; the
// caller sets what else is true of the tool (Title, ReadOnly, Output, …).
// Values of type any in In hold JSON as package jsonvalue has it, so integers
// are exact.
func Bind[In, Out any](name, description string, f func(context.Context, In) (Out, error)) Tool {
	input := SchemaOf[In]()
	read := decodeExact
	if !holdsAny(reflect.TypeFor[In](), nil) {
		read = decodePlain
	}
	if holdsStruct(reflect.TypeFor[In](), nil) {
		read = decodeSpelt(read)
	}
	return Tool{
		Name:        name,
		Description: description,
		Input:       input,
		derived:     input,
		Call: func(ctx context.Context, args json.RawMessage) (any, error) {
			in, err := decode[In](args, read)
			if err != nil {
				return nil, err
			}
			return f(ctx, in)
		},
	}
}

// decode reads arguments into a struct; INVALID_PARAMS where a value fits the
// schema but not the Go type (a number beyond 64 bits).
func decode[In any](args json.RawMessage, read func(json.RawMessage, any) error) (In, error) {
	var in In
	if len(args) == 0 {
		return in, nil
	}
	err := read(args, &in)
	var unfit *json.UnmarshalTypeError
	if errors.As(err, &unfit) { // 1.0 is an integer to JSON Schema, not to Go
		if plain, fail := replain(args); fail == nil {
			in = *new(In)
			err = read(plain, &in)
		}
	}
	if errors.As(err, &unfit) {
		return in, fault.New(fault.InvalidParams, "%s: %s does not fit %s", unfit.Field, unfit.Value, unfit.Type).
			With(fault.Diagnostic{Path: unfit.Field, Expected: unfit.Type.String(), Actual: unfit.Value, Message: "the value is out of bounds"})
	}
	if err != nil {
		return in, fault.New(fault.InvalidParams, "%w", err)
	}
	return in, nil
}

// decodePlain reads arguments into a struct that holds no values of type any,
// whose numbers would need care.
func decodePlain(args json.RawMessage, in any) error { return json.Unmarshal(args, in) }

// decodeSpelt is read of what is spelt as the struct has it.
func decodeSpelt(read func(json.RawMessage, any) error) func(json.RawMessage, any) error {
	return func(args json.RawMessage, in any) error {
		kept, err := spelt(args, reflect.TypeOf(in).Elem())
		if err != nil {
			return err
		}
		return read(kept, in)
	}
}

// holdsAny says whether a value of a type may hold one of type any. seen are
// the types above it.
func holdsAny(of reflect.Type, seen []reflect.Type) bool {
	if slices.Contains(seen, of) {
		return false // what it holds is looked at already
	}
	seen = append(seen, of)
	switch of.Kind() {
	case reflect.Interface:
		return true
	case reflect.Pointer, reflect.Slice, reflect.Array:
		return holdsAny(of.Elem(), seen)
	case reflect.Map:
		return holdsAny(of.Key(), seen) || holdsAny(of.Elem(), seen)
	case reflect.Struct:
		for i := range of.NumField() {
			if holdsAny(of.Field(i).Type, seen) {
				return true
			}
		}
	}
	return false
}

func decodeExact(args json.RawMessage, in any) error {
	decoder := json.NewDecoder(bytes.NewReader(args))
	decoder.UseNumber()
	if err := decoder.Decode(in); err != nil {
		return err
	}
	return exact(reflect.ValueOf(in).Elem())
}

func replain(args json.RawMessage) (json.RawMessage, error) {
	value, err := jsonvalue.Decode(args)
	if err != nil {
		return nil, err
	}
	return jsonvalue.Encode(value)
}

// exact brings every value of type any below v into the form of jsonvalue.
func exact(v reflect.Value) error {
	switch v.Kind() {
	case reflect.Interface:
		return exactAny(v)
	case reflect.Pointer:
		if !v.IsNil() {
			return exact(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if field := v.Field(i); field.CanSet() {
				if err := exact(field); err != nil {
					return err
				}
			}
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return nil // raw JSON and text
		}
		for i := range v.Len() {
			if err := exact(v.Index(i)); err != nil {
				return err
			}
		}
	case reflect.Map:
		return exactMap(v)
	}
	return nil
}

func exactAny(v reflect.Value) error {
	if v.IsNil() || v.NumMethod() != 0 {
		return nil
	}
	plain, err := jsonvalue.Normal(v.Interface())
	if err == nil && plain != nil {
		v.Set(reflect.ValueOf(plain))
	}
	return err
}

// exactMap replaces the members, since those of a map cannot be set in place.
func exactMap(v reflect.Value) error {
	for _, key := range v.MapKeys() {
		member := reflect.New(v.Type().Elem()).Elem()
		member.Set(v.MapIndex(key))
		if err := exact(member); err != nil {
			return err
		}
		v.SetMapIndex(key, member)
	}
	return nil
}
