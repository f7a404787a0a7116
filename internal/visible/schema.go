package visible

import (
	"maps"
	"slices"
)

// Schema returns a JSON Schema, as decoded JSON, whose titles and descriptions show
// all of what they hold. whole is false where a name or a value that has to stay as
// it is cannot be seen whole.
func Schema(schema any) (shown any, whole bool) {
	switch at := schema.(type) {
	case map[string]any:
		out, whole := make(map[string]any, len(at)), true
		for _, name := range slices.Sorted(maps.Keys(at)) {
			text, isText := at[name].(string)
			if isText && (name == "title" || name == "description") {
				out[name] = Characters(text)
				continue
			}
			value, inside := Schema(at[name])
			out[name], whole = value, whole && inside && !Hides(name)
		}
		return out, whole
	case []any:
		out, whole := make([]any, len(at)), true
		for i, each := range at {
			value, inside := Schema(each)
			out[i], whole = value, whole && inside
		}
		return out, whole
	case string:
		return at, !Hides(at)
	}
	return schema, true
}

// Hides says whether a text has characters that cannot be seen, other than new
// lines and tabs.
func Hides(text string) bool { return Characters(text) != text }
