package models

import (
	"encoding/json"
	"slices"
	"strings"
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
func strict(raw json.RawMessage) bool {
	var schema any
	return json.Unmarshal(raw, &schema) == nil && strictSchema(schema)
}

func strictSchema(value any) bool {
	schema, isObject := value.(map[string]any)
	if !isObject {
		return false
	}
	for keyword, inner := range schema {
		switch {
		case !slices.Contains(strictKeywords, keyword):
			return false
		case keyword == "items" && !strictSchema(inner):
			return false
		case keyword == "anyOf" && !strictList(inner):
			return false
		case (keyword == "properties" || keyword == "$defs") && !strictMembers(inner):
			return false
		}
	}
	if schema["type"] != "object" {
		return schema["type"] != nil || schema["enum"] != nil || schema["const"] != nil || schema["anyOf"] != nil || schema["$ref"] != nil
	}
	properties, _ := schema["properties"].(map[string]any)
	required, _ := schema["required"].([]any)
	for name := range properties {
		if !slices.Contains(required, any(name)) {
			return false
		}
	}
	return schema["additionalProperties"] == false
}

func strictList(value any) bool {
	list, isList := value.([]any)
	return isList && !slices.ContainsFunc(list, func(each any) bool { return !strictSchema(each) })
}

func strictMembers(value any) bool {
	members, isObject := value.(map[string]any)
	for _, each := range members {
		if !strictSchema(each) {
			return false
		}
	}
	return isObject
}
