package mcpclient

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"

	"savant/internal/jsonvalue"
)

// decode reads what a server said into a struct, its names letter by letter:
// encoding/json alone would take "ISERROR" for "isError", and whoever looked at
// the message before has not seen that.
func decode(data []byte, into any) error {
	return json.Unmarshal(lettered(data, reflect.TypeOf(into).Elem()), into)
}

// lettered returns an object without the members that are a field's in other
// letters, within the fields that are structs too.
func lettered(object []byte, shape reflect.Type) []byte {
	if shape.Kind() != reflect.Struct {
		return object
	}
	type member struct{ name, value []byte }
	var kept []member
	changed := false
	for name, value := range jsonvalue.Members(object) {
		field, disguised := fieldNamed(shape, jsonvalue.Text(name))
		if disguised {
			changed = true
			continue
		}
		if field != nil {
			cleaned := lettered(value, field)
			changed = changed || len(cleaned) != len(value)
			value = cleaned
		}
		kept = append(kept, member{name, value})
	}
	if !changed {
		return object
	}
	parts := make([][]byte, len(kept))
	for i, each := range kept {
		parts[i] = bytes.Join([][]byte{each.name, each.value}, []byte(":"))
	}
	return append(append([]byte("{"), bytes.Join(parts, []byte(","))...), '}')
}

// fieldNamed returns the type of the field with a name, nil where there is none,
// and whether the name is a field's in other letters.
func fieldNamed(shape reflect.Type, name string) (field reflect.Type, disguised bool) {
	for i := range shape.NumField() {
		known, _, _ := strings.Cut(shape.Field(i).Tag.Get("json"), ",")
		switch {
		case known == "":
		case name == known:
			return shape.Field(i).Type, false
		case strings.EqualFold(name, known):
			disguised = true
		}
	}
	return nil, disguised
}
