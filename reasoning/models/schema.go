package models

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
)

// answerMember is the member of a wrapper object. It holds an answer of another type
// for services that only accept object schemas.
const answerMember = "answer"

// form is the schema sent to a service, and whether it wraps the requested one.
type form struct {
	schema json.RawMessage
	around bool
}

// objectForm returns a schema whose root is an object: the given one, or a wrapper
// around it. ok is false if the schema cannot be wrapped because its references start
// at the root.
func objectForm(schema json.RawMessage) (made form, ok bool) {
	var root map[string]json.RawMessage
	if json.Unmarshal(schema, &root) != nil {
		return form{}, false
	}
	var kind string
	if json.Unmarshal(root["type"], &kind) == nil && kind == "object" {
		return form{schema: schema}, true
	}
	if strings.Contains(string(schema), `"#"`) || strings.Contains(string(schema), `"#/properties`) {
		return form{}, false
	}
	wrapper := map[string]any{"type": "object", "required": []string{answerMember}, "additionalProperties": false}
	for _, shared := range []string{"$defs", "definitions"} {
		if root[shared] != nil {
			wrapper[shared] = root[shared]
			delete(root, shared)
		}
	}
	wrapper["properties"] = map[string]any{answerMember: root}
	raw, err := json.Marshal(wrapper)
	return form{schema: raw, around: true}, err == nil
}

// unwrap removes the wrapper object from an answer, if present.
func (f form) unwrap(text string) string {
	var members map[string]json.RawMessage
	if !f.around || json.Unmarshal([]byte(text), &members) != nil || len(members) != 1 || members[answerMember] == nil {
		return text
	}
	return string(members[answerMember])
}

// strictKeywords are the keywords of OpenAI's strict mode.
var strictKeywords = strings.Fields("type properties required additionalProperties items enum const anyOf description title $defs $ref " +
	"pattern format minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minItems maxItems")

// strict reports whether OpenAI's strict mode supports a schema: only known keywords,
// all members required, no additional ones.
func strict(schema gjson.Result) bool {
	fits := schema.IsObject()
	schema.ForEach(func(keyword, inner gjson.Result) bool {
		switch fits = fits && slices.Contains(strictKeywords, keyword.Str); keyword.Str {
		case "items":
			fits = fits && strict(inner)
		case "anyOf", "properties", "$defs":
			inner.ForEach(func(_, each gjson.Result) bool {
				fits = fits && strict(each)
				return fits
			})
		}
		return fits
	})
	if schema.Get("type").Str != "object" {
		return fits && slices.ContainsFunc([]string{"type", "enum", "const", "anyOf", "$ref"}, func(name string) bool { return schema.Get(name).Exists() })
	}
	for name := range schema.Get("properties").Map() {
		fits = fits && slices.ContainsFunc(schema.Get("required").Array(), func(each gjson.Result) bool { return each.Str == name })
	}
	return fits && schema.Get("additionalProperties").Type == gjson.False
}
