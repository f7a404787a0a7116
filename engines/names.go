package engines

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"savant/internal/jsonvalue"
)

// The registry drops arguments that nobody declared, letter by letter. Objects
// inside arguments are not its own to change: where a tool reads such a one into
// a struct, Bind sees to it that encoding/json, which would take "Path" for
// "path", has no choice.

// holdsStruct says whether fields of a struct read objects into structs. seen are
// the types above it.
func holdsStruct(of reflect.Type, seen []reflect.Type) bool {
	switch {
	case slices.Contains(seen, of) || readsItself(of):
		return false
	case of.Kind() == reflect.Struct && len(seen) > 0:
		return true
	}
	seen = append(seen, of)
	switch of.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return holdsStruct(of.Elem(), seen)
	case reflect.Struct:
		for _, field := range reflect.VisibleFields(of) {
			if !field.Anonymous && holdsStruct(field.Type, seen) {
				return true
			}
		}
	}
	return false
}

// readsItself says whether a type reads its JSON in a way of its own.
func readsItself(of reflect.Type) bool {
	return reflect.PointerTo(of).Implements(reflect.TypeFor[json.Unmarshaler]()) || isText(of)
}

// spelt returns JSON without the members of objects that no field of their
// struct is named for.
func spelt(args json.RawMessage, as reflect.Type) (json.RawMessage, error) {
	value, err := jsonvalue.Decode(args)
	if err != nil {
		return nil, err
	}
	return jsonvalue.Encode(keepSpelt(value, as))
}

func keepSpelt(value any, as reflect.Type) any {
	if readsItself(as) {
		return value
	}
	switch as.Kind() {
	case reflect.Pointer:
		return keepSpelt(value, as.Elem())
	case reflect.Slice, reflect.Array:
		list, _ := value.([]any)
		for i := range list {
			list[i] = keepSpelt(list[i], as.Elem())
		}
	case reflect.Map:
		object, _ := value.(map[string]any)
		for name, member := range object {
			object[name] = keepSpelt(member, as.Elem())
		}
	case reflect.Struct:
		object, _ := value.(map[string]any)
		for name, member := range object {
			if field, known := fieldNamed(as, name); known {
				object[name] = keepSpelt(member, field)
			} else {
				delete(object, name)
			}
		}
	}
	return value
}

// fieldNamed returns the type of the field that JSON has a name for.
func fieldNamed(of reflect.Type, name string) (reflect.Type, bool) {
	for _, field := range reflect.VisibleFields(of) {
		spelling, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if spelling == "" {
			spelling = field.Name
		}
		if spelling == name && field.IsExported() {
			return field.Type, true
		}
	}
	return nil, false
}
