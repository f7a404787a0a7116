package expression_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/fault"
	"savant/test/golden"
	"savant/think/flow/expression"
)

func TestTextRenders(t *testing.T) {
	scope, env := surroundings(t)
	for source, want := range map[string]any{
		``:                                  ``,
		`plain`:                             `plain`,
		`{{ pr }}`:                          7,
		"  {{ pr }}\n":                      7,
		`{{pr}}`:                            7,
		`{{ changed.files }}`:               []any{"main.go", "a.md", "b.go"},
		`{{ skipped }}`:                     nil,
		`{{ skipped?.x ?? 0 }}`:             0,
		`PR {{ pr }}`:                       `PR 7`,
		`{{ pr }}{{ pr }}`:                  `77`,
		`{{ pr }} and {{ file }}!`:          `7 and main.go!`,
		`{{ changed.files }}.`:              `["main.go","a.md","b.go"].`,
		`{{ {b: 1.0, a: 0.5} }}.`:           `{"a":0.5,"b":1}.`,
		`{{ skipped }} {{ true }}`:          `null true`,
		`{{ 6 / 3 }} {{ 7 / 2 }} {{ big }}`: `2 3.5 123456789012345678901234567890`,
		`{{ {a: {b: 1}} }}`:                 map[string]any{"a": map[string]any{"b": 1}},
		`{{{a: {b: 1}}}}`:                   map[string]any{"a": map[string]any{"b": 1}},
		`{{ "}}" }}`:                        `}}`,
		`{{ '}}' + "\"}}" + ` + "`}}` }}":   `}}"}}}}`,
		`{{ "{{" }} x }}`:                   `{{ x }}`,
		`{"json": {"a": 1}}`:                `{"json": {"a": 1}}`,
		`a }} b`:                            `a }} b`,
		`{ {{ pr }} }`:                      `{ 7 }`,
		`é{{ text }}é`:                      `éhélloé`,
		`{{ if pr > 1 { "many" } else { "one" } }} files`: `many files`,
	} {
		text, err := expression.CompileText(source, scope)
		require.NoError(t, err, source)
		got, err := text.Render(env)
		require.NoError(t, err, source)
		require.Equal(t, want, got, source)
	}
}

func TestTextIsRenderedOnce(t *testing.T) {
	scope := expression.Scope{Captures: expression.NamesOf("a"), Params: expression.NamesOf("x")}
	env := expression.Env{Steps: captured(func(string) any { return "{{ params.x }}" }), Params: map[string]any{"x": "secret"}}
	for source, want := range map[string]string{
		`{{ a }}`: `{{ params.x }}`, `<{{ a }}>`: `<{{ params.x }}>`, `{{ "{" }}{{ "{" }} params.x }}`: `{{ params.x }}`,
	} {
		text, err := expression.CompileText(source, scope)
		require.NoError(t, err)
		got, err := text.Render(env)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
}

func TestTextErrors(t *testing.T) {
	scope, env := surroundings(t)
	messages := map[string]string{}
	for _, c := range []struct {
		source string
		code   fault.Code
		offset int
	}{
		{`a {{ b`, fault.ExpressionError, 2},
		{`a {{ "b }}`, fault.ExpressionError, 2},
		{`a {{ {b: 1 }} c`, fault.ExpressionError, 2},
		{`a {{ b } c }}`, fault.ExpressionError, 2},
		{`{{ }}`, fault.ExpressionError, 2},
		{`a {{}} b`, fault.ExpressionError, 4},
		{`a {{ pr = 1 }} b`, fault.ExpressionError, 8},
		{`é {{ chnged.x }}`, fault.UnresolvedVar, 6},
		{`{{ both }}`, fault.AmbiguousName, 3},
		{` {{ changed.fils }}`, fault.ExpressionError, 12},
		{`{{ pr }} {{ 1 / 0 }}`, fault.ExpressionError, 14},
		{`x{{ repeat("x", 1048576) }}`, fault.TemplateRenderError, 3},
		{strings.Repeat(`{{ repeat("x", 600000) }}`, 2), fault.TemplateRenderError, 27},
	} {
		text, err := expression.CompileText(c.source, scope)
		if err == nil {
			_, err = text.Render(env)
		} else {
			require.Nil(t, text)
		}
		var failed *expression.Error
		require.ErrorAs(t, err, &failed, c.source)
		require.Equal(t, c.code, failed.Code, "%s: %s", c.source, failed)
		require.Equal(t, c.offset, failed.Offset, "%s: %s", c.source, failed)
		messages[c.source] = failed.Message
	}
	golden.Messages(t, *update, "testdata/text_errors.golden", messages)
}

func TestTextKnowsWhatItReads(t *testing.T) {
	scope, _ := surroundings(t)
	text, err := expression.CompileText(`{{ changed?.x ?? 0 }} {{ pr }} {{ changed.name }} {{ skipped ?? 1 }}`, scope)
	require.NoError(t, err)
	require.Equal(t, []expression.Reference{
		{Root: "params", Name: "pr", Offset: 25},
		{Root: "state", Name: "changed", Offset: 34},
		{Root: "state", Name: "skipped", Soft: true, Offset: 53},
	}, text.References())

	text, err = expression.CompileText(`plain`, scope)
	require.NoError(t, err)
	require.Empty(t, text.References())
}

func TestUnwrap(t *testing.T) {
	for source, want := range map[string]struct {
		inner  string
		offset int
	}{
		`x`:                 {`x`, 0},
		`{{ x }}`:           {` x `, 2},
		"\n {{x}} ":         {`x`, 4},
		`{{ {a: 1} }}`:      {` {a: 1} `, 2},
		`{{ "}}" }}`:        {` "}}" `, 2},
		`{{ a }} > {{ b }}`: {`{{ a }} > {{ b }}`, 0},
		`{{ a }} > 1`:       {`{{ a }} > 1`, 0},
		`{{ a`:              {`{{ a`, 0},
		`{{}}`:              {``, 2},
		``:                  {``, 0},
	} {
		inner, offset := expression.Unwrap(source)
		require.Equal(t, want.inner, inner, source)
		require.Equal(t, want.offset, offset, source)
		if offset > 0 {
			require.Equal(t, inner, source[offset:offset+len(inner)])
		}
	}
}
