package form

import (
	"slices"
	"strings"
)

// limits says in words which values fit a schema beyond its type, or "".
func limits(schema map[string]any) string {
	var parts []string
	add := func(text string) {
		if text != "" {
			parts = append(parts, text)
		}
	}
	bound := func(name string) string { return boundOf(schema, name) }
	said := func(before, name string) {
		if text := bound(name); text != "" {
			add(before + text)
		}
	}
	add(between(bound("minimum"), bound("maximum"), ""))
	said("more than ", "exclusiveMinimum")
	said("less than ", "exclusiveMaximum")
	said("a multiple of ", "multipleOf")
	add(between(bound("minLength"), bound("maxLength"), "character"))
	if format, _ := schema["format"].(string); format != "" {
		add("format " + format)
	}
	if pattern, _ := schema["pattern"].(string); pattern != "" {
		add("matching " + pattern)
	}
	add(between(bound("minItems"), bound("maxItems"), "entry"))
	if schema["uniqueItems"] == true {
		add("each once")
	}
	return strings.Join(parts, ", ")
}

// Bound returns a number in the schema of a field, such as its minimum, or "".
func (f *Field) Bound(name string) string { return boundOf(f.schema, name) }

func boundOf(schema map[string]any, name string) string {
	value, has := schema[name]
	if _, old := value.(bool); !has || old { // exclusiveMinimum of an older draft
		return ""
	}
	return Encoded(value)
}

// between says that a number, or a number of things, has bounds; an empty text is none.
func between(low, high, thing string) string {
	things := ""
	if thing != "" {
		things = " " + map[string]string{"character": "characters", "entry": "entries"}[thing]
	}
	text := ""
	switch {
	case low == "" && high == "":
		return ""
	case low == high:
		text = "exactly " + low
	case high == "":
		text = "at least " + low
	case low == "":
		text = "at most " + high
	default:
		return low + " to " + high + things
	}
	if slices.Contains([]string{low, high}, "1") && thing != "" {
		return text + " " + thing
	}
	return text + things
}
