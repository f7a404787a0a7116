package schemas_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/schemas"
	"savant/test/golden"
)

var update = flag.Bool("update", false, "write the golden files anew")

func value(t testing.TB, text string) any {
	t.Helper()
	decoded, err := jsonvalue.Decode([]byte(text))
	require.NoError(t, err)
	return decoded
}

func layer(files ...string) fstest.MapFS {
	made := fstest.MapFS{}
	for i := 0; i < len(files); i += 2 {
		made[files[i]] = &fstest.MapFile{Data: []byte(files[i+1])}
	}
	return made
}

func load(t testing.TB, files ...string) *schemas.Set {
	t.Helper()
	set, err := schemas.Load(layer(files...))
	require.NoError(t, err)
	return set
}

// diagnostics returns what an error says, one line each.
func diagnostics(t testing.TB, code fault.Code, err error) []string {
	t.Helper()
	require.ErrorIs(t, err, code)
	var coded *fault.Error
	require.True(t, errors.As(err, &coded))
	var lines []string
	for _, d := range coded.Diagnostics {
		lines = append(lines, strings.TrimPrefix(d.Pointer+" ", " ")+d.Message)
	}
	return lines
}

func TestLaterLayersWin(t *testing.T) {
	set, err := schemas.Load(
		layer("A.json", `{"type":"string"}`, "B.json", `{"type":"string"}`, "notes.txt", "no", "sub/C.json", "{}"),
		nil,
		os.DirFS(filepath.Join(t.TempDir(), "missing")),
		layer("B.json", `{"type":"integer"}`),
	)
	require.NoError(t, err)
	require.Equal(t, []string{"A", "B"}, set.Names())

	b, err := set.Lookup("B")
	require.NoError(t, err)
	require.Equal(t, "B", b.Name())
	require.Equal(t, map[string]any{"type": "integer"}, b.JSON())
	require.NoError(t, b.Check(1))
}

func TestUnknownNameSaysTheNearest(t *testing.T) {
	set := load(t, "Finding.json", `{"type":"object"}`)
	_, err := set.Lookup("Fnding")
	require.ErrorIs(t, err, fault.SchemaNotFound)
	require.ErrorContains(t, err, `"Finding"`)
	_, err = set.Lookup("Finding.json")
	require.NoError(t, err)
}

func TestLocalSchemasWinAndTheBaseStaysAsItWas(t *testing.T) {
	base := load(t, "A.json", `{"type":"string"}`, "UsesA.json", `{"type":"array","items":{"$ref":"A"}}`)
	given := map[string]any{"A": map[string]any{"type": "integer"}}
	local, err := base.With(given)
	require.NoError(t, err)
	given["A"].(map[string]any)["type"] = "null" // a copy was taken

	for set, fits := range map[*schemas.Set]any{base: []any{"x"}, local: []any{1}} {
		schema, err := set.Lookup("UsesA")
		require.NoError(t, err)
		require.NoError(t, schema.Check(fits))
	}
	same, err := base.With(nil)
	require.NoError(t, err)
	require.Same(t, base, same)

	_, err = base.With(map[string]any{"Bad": func() {}})
	require.ErrorIs(t, err, fault.YAMLSchemaViolation)
}

func TestReferencesStayInsideTheSet(t *testing.T) {
	set := load(t,
		"Line.json", `{"$id":"https://example.com/line","type":"integer","minimum":1}`,
		"Finding.json", `{"$defs":{"level":{"$anchor":"lvl","enum":["low","high"]}},"properties":{"line":{"$ref":"Line.json"},
			"level":{"$ref":"#/$defs/level"},"again":{"$ref":"#lvl"},"of":{"$ref":"#"}}}`,
		"odd name%.json", `{"$defs":{"a/b ~c":{"type":"null"}}}`,
	)
	cases := []struct{ schema, fits, not string }{
		{`{"$ref":"Line"}`, `1`, `0`},
		{`{"$ref":"Finding"}`, `{"line":1,"level":"low","of":{"line":2}}`, `{"of":{"of":{"line":0}}}`},
		{`{"$ref":"Finding#/$defs/level"}`, `"low"`, `"mid"`},
		{`{"$ref":"Finding#lvl"}`, `"low"`, `"mid"`},
		{`{"$ref":"odd%20name%25#/$defs/a~1b%20~0c"}`, `null`, `1`},
		{`{"$ref":"#/components/x","components":{"x":{"$ref":"Line"}}}`, `3`, `"3"`},
		{`{"$ref":"https://json-schema.org/draft/2020-12/schema"}`, `{"type":"string"}`, `{"type":"strin"}`},
		{`{"$schema":"http://json-schema.org/draft-07/schema#","$ref":"#/definitions/x","definitions":{"x":{"type":"array","items":[{"const":1}]}}}`, `[1]`, `[2]`},
		{`{"properties":{"$ref":{"type":"string"},"$id":{"type":"string"}},"enum":[{"$ref":"file:///etc/passwd"}]}`,
			`{"$ref":"file:///etc/passwd"}`, `{"$ref":1}`},
	}
	for _, c := range cases {
		schema, err := set.Inline(value(t, c.schema))
		require.NoError(t, err, c.schema)
		require.NoError(t, schema.Check(value(t, c.fits)), c.schema)
		require.ErrorIs(t, schema.Check(value(t, c.not)), fault.ValidationFailed, c.schema)
	}
}

func TestReferencesToFilesAndAddressesAreRefused(t *testing.T) {
	folder := t.TempDir()
	secret := filepath.Join(folder, "secret.json")
	require.NoError(t, os.WriteFile(secret, []byte(`{"type": "hunter2"}`), 0o600))
	t.Chdir(folder)

	for _, reference := range []string{
		"file://" + secret, secret, "secret.json", "./secret.json", "../x/secret.json", "http://127.0.0.1:1/x", "https://example.com/s.json",
		"mem:///named/secret", "FILE://" + secret, "urn:x:y", "//host/x", "file:secret.json", "https://json-schema.org/draft-04/schema",
	} {
		_, err := load(t).Inline(map[string]any{"properties": map[string]any{"x": map[string]any{"$ref": reference}}})
		require.ErrorIs(t, err, fault.YAMLSchemaViolation, reference)
		var coded *fault.Error
		require.True(t, errors.As(err, &coded))
		require.Equal(t, "/properties/x/$ref", coded.Diagnostics[0].Pointer, reference)
		require.Equal(t, fault.SchemaNotFound, coded.Diagnostics[0].Code, reference)
		require.NotContains(t, fmt.Sprintf("%v %v", err, coded.Diagnostics), "hunter2")
	}
	_, err := load(t).Inline(map[string]any{"$schema": "file://" + secret})
	require.NotContains(t, err.Error(), "hunter2")
}

// TestWhatIsWrongInASchemaIsPointedAt checks the pointer of each error. The wording is
// in testdata/inline.golden.
func TestWhatIsWrongInASchemaIsPointedAt(t *testing.T) {
	set := load(t, "Broken.json", `{"properties":{"a":{"type":"strin"}}}`, "UsesBroken.json", `{"items":{"$ref":"Broken"}}`)
	messages := map[string]string{}
	cases := []struct{ schema, pointer string }{
		{`1`, ``},
		{`{"properties":{"a":{"type":"intger"}}}`, `/properties/a/type`},
		{`{"properties":{"a":{"required":"x"}}}`, `/properties/a/required`},
		{`{"properties":{"a":3}}`, `/properties/a`},
		{`{"pattern":"(?=x)"}`, `/pattern`},
		{`{"patternProperties":{"[":{}}}`, `/patternProperties/[`},
		{`{"$schema":"http://json-schema.org/draft-04/schema#"}`, `/$schema`},
		{`{"$schema":5}`, `/$schema`},
		{`{"items":{"$dynamicRef":"#x"}}`, `/items/$dynamicRef`},
		{`{"items":{"$id":"x"}}`, `/items/$id`},
		{`{"$ref":"#/nowhere"}`, `/$ref`},
		{`{"$ref":"#"}`, ``},
		{`{"allOf":[{"$ref":"#/$defs/a"}],"$defs":{"a":{"anyOf":[{"$ref":"#"}]}}}`, ``},
		{`{"multipleOf":0}`, `/multipleOf`},
	}
	for _, c := range cases {
		_, err := set.Inline(value(t, c.schema))
		require.ErrorIs(t, err, fault.YAMLSchemaViolation)
		require.Equal(t, c.pointer, fault.From(err).Diagnostics[0].Pointer, c.schema)
		messages[c.schema] = strings.Join(diagnostics(t, fault.YAMLSchemaViolation, err), "\n")
	}
	golden.Messages(t, *update, "testdata/inline.golden", messages)
	_, err := set.Lookup("UsesBroken")
	require.ErrorIs(t, err, fault.YAMLSchemaViolation)
	require.ErrorContains(t, err, "/properties/a/type")
}

func TestDraftsDiffer(t *testing.T) {
	set := load(t)
	of := func(text string) *schemas.Schema {
		schema, err := set.Inline(value(t, text))
		require.NoError(t, err)
		return schema
	}
	const draft7, draft2019 = `"$schema":"http://json-schema.org/draft-07/schema#"`, `"$schema":"https://json-schema.org/draft/2019-09/schema"`
	require.Error(t, of(`{`+draft7+`,"items":[{"type":"string"}],"additionalItems":false}`).Check([]any{"a", "b"}))
	require.Error(t, of(`{`+draft2019+`,"items":[{"type":"string"}],"additionalItems":false}`).Check([]any{"a", "b"}))
	require.Error(t, of(`{"prefixItems":[{"type":"string"}],"items":false}`).Check([]any{"a", "b"}))
	for _, draft := range []string{"", draft7 + ",", draft2019 + ",", `"$schema":"https://json-schema.org/draft/2020-12/schema",`} {
		dated := of(`{` + draft + `"format":"date"}`)
		require.NoError(t, dated.Check("2026-07-28"), draft)
		require.Error(t, dated.Check("yesterday"), draft)
	}
	require.NoError(t, of(`{`+draft7+`,"contentMediaType":"application/json","contentSchema":{"minimum":1}}`).Check("0"))
}

func TestCompilingIsSharedAndConcurrent(t *testing.T) {
	set := load(t, "A.json", `{"type":"string"}`)
	first, err := set.Lookup("A")
	require.NoError(t, err)
	var wait sync.WaitGroup
	for i := range 8 {
		wait.Go(func() {
			again, err := set.Lookup("A")
			if err != nil || again != first {
				t.Errorf("got another schema: %v", err)
			}
			inline, err := set.Inline(map[string]any{"const": i % 2})
			if err != nil || inline.Check(i%2) != nil {
				t.Errorf("inline: %v", err)
			}
		})
	}
	wait.Wait()
	a, _ := set.Inline(map[string]any{"a": 1, "b": 2})
	b, _ := set.Inline(map[string]any{"b": 2, "a": 1})
	require.Same(t, a, b)
}

func TestMemoryDoesNotGrowWithTheSchemasSent(t *testing.T) {
	set := load(t)
	first, err := set.Inline(map[string]any{"const": "first"})
	require.NoError(t, err)
	for i := range 10 {
		_, err := set.Inline(map[string]any{"const": fmt.Sprint(i, strings.Repeat("x", 300<<10))})
		require.NoError(t, err)
	}
	again, err := set.Inline(map[string]any{"const": "first"})
	require.NoError(t, err)
	require.NotSame(t, first, again, "forgotten, and compiled again")
	require.NoError(t, again.Check("first"))
}
