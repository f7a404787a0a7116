package schemas

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"savant/fault"
	"savant/internal/jsonvalue"
)

// mismatch is one keyword that a value violates.
type mismatch struct {
	pointer, keyword string
	// schema is the object with the keyword, subschema the keyword's value.
	schema    map[string]any
	subschema any
	value     any
	// known is false if the schema violates its metaschema: then only the validator's own
	// message, the fallback, is available.
	known    bool
	fallback string
}

// sayings are the formats that describe what a keyword expects.
var sayings = map[string]string{
	"minimum":          "at least %s",
	"maximum":          "at most %s",
	"exclusiveMinimum": "more than %s",
	"exclusiveMaximum": "less than %s",
	"multipleOf":       "a multiple of %s",
	"minLength":        "at least %s characters",
	"maxLength":        "at most %s characters",
	"pattern":          "text that matches %s",
	"format":           "text in the format %s",
	"minItems":         "at least %s items",
	"maxItems":         "at most %s items",
	"minProperties":    "at least %s properties",
	"maxProperties":    "at most %s properties",
	"minContains":      "at least %s items that fit `contains`",
	"maxContains":      "at most %s items that fit `contains`",
	"contains":         "an item that fits %s",
	"not":              "anything that does not fit %s",
	"const":            "%s",
}

func (m mismatch) describe() []finding {
	switch {
	case !m.known:
		return []finding{m.inOtherWords()}
	case m.keyword == "required":
		return m.missing()
	case m.keyword == "additionalProperties" && m.subschema == false:
		return m.unexpected()
	case m.keyword == "enum":
		return []finding{m.choice()}
	}
	if expected := m.expected(); expected != "" {
		return []finding{m.finding(expected)}
	}
	return []finding{m.inOtherWords()}
}

// expected describes what a keyword expects, or is "" if the validator's message is
// good enough.
func (m mismatch) expected() string {
	if saying, ok := sayings[m.keyword]; ok {
		said := m.subschema
		if m.keyword == "minContains" && said == nil {
			said = 1 // the default of `contains`
		}
		return fmt.Sprintf(saying, shorten(said))
	}
	switch {
	case m.keyword == "type":
		return typeNames(m.subschema)
	case m.keyword == "uniqueItems":
		return "items that all differ"
	case m.keyword == "oneOf":
		return "a value that fits exactly one alternative"
	case m.subschema == false:
		return "nothing here"
	}
	return ""
}

func typeNames(types any) string {
	list, isList := types.([]any)
	if !isList {
		return fmt.Sprint(types)
	}
	names := make([]string, len(list))
	for i, name := range list {
		names[i] = fmt.Sprint(name)
	}
	return strings.Join(names, " or ")
}

func (m mismatch) finding(expected string) finding {
	actual := shorten(m.value)
	return finding{keyword: m.keyword, Diagnostic: fault.Diagnostic{
		Pointer: m.pointer, Expected: expected, Actual: actual,
		Message: "expected " + expected + ", got " + actual,
	}}
}

// missing returns one finding for each required property that is absent.
func (m mismatch) missing() []finding {
	object := fields(m.value)
	names, _ := m.subschema.([]any)
	var found []finding
	for _, each := range names {
		name, _ := each.(string)
		if _, has := object[name]; has {
			continue
		}
		f := finding{keyword: m.keyword, Diagnostic: fault.Diagnostic{
			Pointer: m.pointer, Expected: "property " + shorten(name), Actual: "missing",
			Message: "missing property " + shorten(name),
		}}
		if declared, ok := fields(m.schema["properties"])[name].(map[string]any); ok && declared["type"] != nil {
			f.Expected += " (" + typeNames(declared["type"]) + ")"
		}
		found = append(found, f)
	}
	return found
}

// unexpected returns one finding for each property that is not allowed.
func (m mismatch) unexpected() []finding {
	allowed := slices.Sorted(maps.Keys(fields(m.schema["properties"])))
	var found []finding
	for name, value := range sorted(fields(m.value)) {
		if slices.Contains(allowed, name) || m.matchesPattern(name) {
			continue
		}
		f := finding{keyword: m.keyword, Diagnostic: fault.Diagnostic{
			Pointer: m.pointer + jsonvalue.Token(name), Expected: "no property " + shorten(name),
			Actual: shorten(value), Message: "unknown property " + shorten(name),
		}}
		if near := fault.Nearest(name, allowed); near != "" {
			f.Message += "; did you mean " + shorten(near) + "?"
		}
		found = append(found, f)
	}
	return found
}

func (m mismatch) matchesPattern(name string) bool {
	for pattern := range fields(m.schema["patternProperties"]) {
		if compiled, err := regexp.Compile(pattern); err == nil && compiled.MatchString(name) {
			return true
		}
	}
	return false
}

// choice lists the values of an enum and suggests the nearest one.
func (m mismatch) choice() finding {
	choices, _ := m.subschema.([]any)
	var shown, names []string
	for _, each := range choices {
		shown = append(shown, shorten(each))
		if name, isText := each.(string); isText {
			names = append(names, name)
		}
	}
	f := m.finding("one of " + fault.Cut(strings.Join(shown, ", "), 300))
	if text, isText := m.value.(string); isText {
		if near := fault.Nearest(text, names); near != "" {
			f.Message += "; did you mean " + shorten(near) + "?"
		}
	}
	return f
}

// inOtherWords falls back to the validator's own message.
func (m mismatch) inOtherWords() finding {
	f := finding{keyword: m.keyword, Diagnostic: fault.Diagnostic{Pointer: m.pointer, Message: m.fallback}}
	if wanted, ok := strings.CutPrefix(m.fallback, "value must be "); ok {
		f.Expected = wanted
	}
	if wanted, ok := strings.CutPrefix(m.fallback, "expected "); ok {
		f.Expected, f.Actual, _ = strings.Cut(wanted, ", but got ")
	}
	if f.Actual == "" && m.value != nil {
		f.Actual = jsonvalue.Kind(m.value)
	}
	return f
}
