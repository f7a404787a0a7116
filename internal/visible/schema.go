package visible

import (
	"maps"
	"slices"
)

// Schema returns a decoded JSON Schema with visible titles and descriptions. whole is
// false if a name or a value, which must not be changed, contains invisible characters.
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

// Hides reports whether a text contains invisible characters other than line breaks and
// tabs.
func Hides(text string) bool { return Characters(text) != text }
