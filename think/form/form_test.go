package form_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/schemas"
	"savant/think/form"
)

// TestAClientsForm of schemas as people write them, what is filled in there, and the answer
// it makes.
func TestAClientsForm(t *testing.T) {
	for name, c := range map[string]struct{ schema, shown, filled, answer string }{
		"order as written": {
			`{"type":"object","required":["b"],"properties":{"c":{"type":"string"},"a":{"type":"integer","minimum":1},"b":{"type":"boolean"}}}`,
			`{"type":"object","properties":{"c":{"type":"string"},"a":{"type":"integer","minimum":1},"b":{"type":"boolean"}},"required":["b"]}`,
			`{"a":2,"b":false}`, `{"a":2,"b":false}`},
		"a list of choices": {
			`{"type":"object","required":["days"],"properties":{"days":{"type":"array","minItems":1,"items":{"enum":["mon","tue"]}}}}`,
			`{"type":"object","properties":{"days.mon":{"type":"boolean","title":"days: mon","description":"at least 1 entry","default":false},"days.tue":{"type":"boolean","title":"days: tue","description":"at least 1 entry","default":false}},"required":["days.mon","days.tue"]}`,
			`{"days.mon":false,"days.tue":true}`, `{"days":["tue"]}`},
		"none of a list": {
			`{"type":"object","properties":{"a":{"type":"array","items":{"enum":[1,2]}},"b":{"type":"array","items":{"enum":[1]}}}}`, "",
			`{"a.1":false,"a.2":false}`, `{"a":[]}`},
		"only a list": {`{"type":"array","items":{"enum":["x","y"]},"default":["y"]}`,
			`{"type":"object","properties":{"answer.x":{"type":"boolean","title":"Answer: x","default":false},"answer.y":{"type":"boolean","title":"Answer: y","default":true}},"required":["answer.x","answer.y"]}`,
			`{"answer.x":true,"answer.y":true}`, `["x","y"]`},
		"nothing of a needed list": {`{"type":"array","items":{"enum":["x","y"]}}`, "", `{}`, ""},
		"integers to choose from": {`{"type":"integer","enum":[3,1],"default":1}`,
			`{"type":"object","properties":{"answer":{"type":"string","title":"Answer","default":"1","enum":["3","1"]}},"required":["answer"]}`, `{"answer":"3"}`, `3`},
		"a choice as itself":  {`{"enum":[3,1]}`, "", `{"answer":1}`, `1`},
		"no choice":           {`{"enum":[3,1]}`, "", `{"answer":"7"}`, `"7"`},
		"a text and a number": {`{"enum":["3",3]}`, `{"type":"object","properties":{"answer":{"type":"string","title":"Answer","enum":["\"3\"","3"]}},"required":["answer"]}`, `{"answer":"\"3\""}`, `"3"`},
		"titles":              {`{"oneOf":[{"const":"a","title":"The first"},{"const":"b"}]}`, `{"type":"object","properties":{"answer":{"type":"string","title":"Answer","enum":["a","b"],"enumNames":["The first","b"]}},"required":["answer"]}`, `{"answer":"b"}`, `"b"`},
		"old titles":          {`{"enum":["a","b"],"enumNames":["A","B"]}`, `{"type":"object","properties":{"answer":{"type":"string","title":"Answer","enum":["a","b"],"enumNames":["A","B"]}},"required":["answer"]}`, `{"answer":"b"}`, `"b"`},
		"null among choices":  {`{"type":["string","null"],"enum":["a",null]}`, "", `{"answer":"null"}`, `null`},
		"a nullable text":     {`{"type":["string","null"]}`, `{"type":"object","properties":{"answer":{"type":"string","title":"Answer"}}}`, `{}`, `null`},
		"nothing":             {`{"type":"string"}`, "", `{}`, ""},
		"nothing of a group":  {`{"type":"object","required":["a"],"properties":{"a":{"type":"string"}}}`, "", `{}`, `{}`},
		"groups": {`{"type":"object","required":["who"],"properties":{"who":{"type":"object","required":["first"],"properties":{"last":{"type":"string"},"first":{"type":"string"}}},"at":{"type":"object","required":["x"],"properties":{"x":{"type":"integer"}}}}}`,
			`{"type":"object","properties":{"who.last":{"type":"string"},"who.first":{"type":"string"},"at.x":{"type":"integer"}},"required":["who.first"]}`,
			`{"who.first":"Ada"}`, `{"who":{"first":"Ada"}}`},
		"a group that is optional": {`{"type":"object","properties":{"at":{"type":"object","required":["x"],"properties":{"x":{"type":"integer"}}}}}`, "", `{"at.x":1}`, `{"at":{"x":1}}`},
		"names that meet": {`{"type":"object","properties":{"a.b":{"type":"string"},"a":{"type":"object","properties":{"b":{"type":"string"}}},"a.b_2":{"type":"string"},"__proto__":{"type":"string"},"a b/~":{"type":"string"},"":{"type":"string"}}}`,
			`{"type":"object","properties":{"a.b":{"type":"string"},"a.b_3":{"type":"string"},"a.b_2":{"type":"string"},"__proto__":{"type":"string"},"a b/~":{"type":"string"},"":{"type":"string"}}}`,
			`{"a.b":"1","a.b_3":"2","a.b_2":"3","__proto__":"4","a b/~":"5","":"6"}`, `{"":"6","__proto__":"4","a":{"b":"2"},"a b/~":"5","a.b":"1","a.b_2":"3"}`},
		"a reference":    {`{"$defs":{"c":{"enum":["r","g"]}},"type":"object","properties":{"c":{"$ref":"#/$defs/c"},"l":{"type":"array","items":{"$ref":"#/$defs/c"}}}}`, "", `{"c":"g","l.r":true}`, `{"c":"g","l":["r"]}`},
		"one of its own": {`{"$ref":"#"}`, `{"type":"object","properties":{"answer":{"type":"string","title":"Answer","description":"as JSON"}},"required":["answer"]}`, `{"answer":"[1]"}`, `[1]`},
		"any":            {`{}`, "", `{"answer":"{\"x\":1}"}`, `{"x":1}`},
		"any object":     {`{"type":"object","properties":{"o":{"type":"object"},"l":{"type":"array","items":{"type":"string"}}}}`, `{"type":"object","properties":{"o":{"type":"string","description":"object as JSON"},"l":{"type":"string","description":"array as JSON"}}}`, `{"o":"{\"x\":1}","l":"x"}`, `{"l":"x","o":{"x":1}}`},
		"what a form has no keyword for": {`{"type":"number","description":"How <b>many</b>","exclusiveMinimum":0,"multipleOf":0.5}`,
			`{"type":"object","properties":{"answer":{"type":"number","title":"Answer","description":"How <b>many</b> (more than 0, a multiple of 0.5)"}},"required":["answer"]}`, `{"answer":1.5}`, `1.5`},
		"formats":              {`{"type":"object","properties":{"d":{"type":"string","format":"date"},"i":{"type":"string","format":"ipv4","pattern":"^1"}}}`, `{"type":"object","properties":{"d":{"type":"string","format":"date"},"i":{"type":"string","description":"format ipv4, matching ^1"}}}`, `{}`, `{}`},
		"a const":              {`{"type":"object","required":["k"],"properties":{"k":{"const":true},"n":{"type":"null"}}}`, `{"type":"object","properties":{"k":{"type":"string","enum":["true"]}},"required":["k"]}`, `{"k":"true"}`, `{"k":true}`},
		"what is not declared": {`{"type":"object","properties":{"a":{"type":"string"}}}`, "", `{"b":1}`, `{"b":1}`},
		"no schema":            {``, `{"type":"object","properties":{"answer":{"type":"string","title":"Answer"}},"required":["answer"]}`, `{"answer":"{}"}`, `"{}"`},
	} {
		t.Run(name, func(t *testing.T) {
			made := form.New([]byte(c.schema))
			if c.shown != "" {
				require.Equal(t, c.shown, string(made.Client()))
			}
			var filled map[string]any
			require.NoError(t, json.Unmarshal([]byte(c.filled), &filled))
			answer, given := made.FromClient(filled)
			require.Equal(t, c.answer != "", given, answer)
			if given {
				got, err := json.Marshal(answer)
				require.NoError(t, err)
				require.JSONEq(t, c.answer, string(got))
			}
		})
	}
}

// TestALargeForm is bounded: 200 fields are shown, and what is deeper or more is one value
// of JSON.
func TestALargeForm(t *testing.T) {
	properties := func(n int, inside string) string {
		parts := make([]string, n)
		for i := range parts {
			parts[i] = fmt.Sprintf(`"p%d":%s`, i, inside)
		}
		return `{"type":"object","properties":{` + strings.Join(parts, ",") + `}}`
	}
	made := form.New([]byte(properties(200, `{"type":"string"}`)))
	require.Len(t, made.Fields(), 200)
	require.Equal(t, "p199", made.Fields()[199].Name)
	require.True(t, made.Whole())
	for _, large := range []string{properties(1000, `{"type":"string"}`), properties(25, properties(25, `{"type":"string"}`)), properties(30, properties(30, properties(30, properties(30, `true`))))} {
		made = form.New([]byte(large))
		require.Len(t, made.Fields(), 1)
		require.Equal(t, form.JSON, made.Fields()[0].Kind)
	}
	deep := form.New([]byte(`{"type":"object","properties":{"a":{"$ref":"#"}}}`))
	require.Len(t, deep.Fields(), 1)
	endless := form.New([]byte(`{"type":"object","properties":{"next":{"$ref":"#/properties/next"},"list":{"$ref":"#/$defs/tree"}},"$defs":{"tree":{"type":"object","properties":{"l":{"$ref":"#/$defs/tree"},"r":{"$ref":"#/$defs/tree"}}}}}`))
	require.LessOrEqual(t, len(endless.Fields()), 20)
	require.False(t, endless.Whole())
}

// TestTheFormsOfWhatFits: whatever a form takes as it asks for it fits the schema.
func TestTheFormsOfWhatFits(t *testing.T) {
	const schema = `{"type":"object","required":["a","b","c"],"additionalProperties":false,"properties":{
		"a":{"type":"array","items":{"oneOf":[{"const":1,"title":"One"},{"const":2}]},"uniqueItems":true,"minItems":1},
		"b":{"type":["integer","null"]},"c":{"type":"null"},"d":{"type":"object","required":["e"],"properties":{"e":{"type":"boolean"}}}}}`
	set, err := schemas.Load()
	require.NoError(t, err)
	var value any
	require.NoError(t, json.Unmarshal([]byte(schema), &value))
	check, err := set.Inline(value)
	require.NoError(t, err)
	for filled, fits := range map[string]bool{`{"a.1":true,"a.2":true}`: true, `{"a.1":true,"a.2":false,"b":3,"d.e":false}`: true, `{"a.1":false,"a.2":false}`: false, `{}`: false, `{"a.1":1}`: true, `{"a.1":"x"}`: false} {
		var content map[string]any
		require.NoError(t, json.Unmarshal([]byte(filled), &content))
		answer, _ := form.New([]byte(schema)).FromClient(content)
		require.Equal(t, fits, check.Check(answer) == nil, "%s: %v", filled, answer)
	}
}

// An object without members that may have no others has no field; one that may is JSON.
func TestAFormWithoutFields(t *testing.T) {
	closed := form.New([]byte(`{"type":"object","properties":{},"additionalProperties":false}`))
	require.Empty(t, closed.Fields())
	value, given := closed.Answer(form.Filled{})
	require.True(t, given)
	require.Equal(t, map[string]any{}, value)
	require.Len(t, form.New([]byte(`{"type":"object","properties":{}}`)).Fields(), 1)
}
