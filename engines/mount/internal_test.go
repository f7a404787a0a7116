package mount

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"savant/engines"
	"savant/engines/mcpclient"
	"savant/engines/mcpio"
	"savant/internal/jsonvalue"
	"savant/internal/redact"
	"savant/schemas"
)

// names are texts as servers name tools, and worse.
func names() *rapid.Generator[string] {
	return rapid.OneOf(rapid.StringMatching(`[A-Za-z0-9_./ -]{1,70}`), rapid.StringN(1, 80, -1))
}

// Every name a server can give becomes one that every client takes, always the
// same, and no two tools get one name in either spelling.
func TestNamesAreValidAndApart(t *testing.T) {
	valid := regexp.MustCompile(`^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)+$`)
	rapid.Check(t, func(t *rapid.T) {
		tools := rapid.SliceOfNDistinct(names(), 1, 20, rapid.ID[string]).Draw(t, "tools")
		named, refused := canonicals("some-engine", nil, tools)
		spelt := map[string]bool{}
		for _, tool := range tools {
			name, has := named[tool]
			_, isRefused := refused[tool]
			if has == isRefused {
				t.Fatalf("%q is named %v and refused %v", tool, has, isRefused)
			}
			if !has {
				continue
			}
			if len(name) > maxToolName || !valid.MatchString(name) || strings.Contains(engines.Underscored(name), "__") {
				t.Fatalf("%q became %q", tool, name)
			}
			if spelt[engines.Underscored(name)] {
				t.Fatalf("%q is there twice", name)
			}
			spelt[engines.Underscored(name)] = true
		}
	})
}

// Whatever schema a server gives, the tool can be published.
// What the gate lets through as Savant's own is no mounted server's.
func TestNamesOfSavantsOwn(t *testing.T) {
	for name, free := range map[string]bool{"app": false, "App": false, "FLOW": false, "human": false, "llm": false, "savant": false, "git": false, "apps": true} {
		require.Equal(t, free, checkEngineName(name, []string{"git"}) == "", name)
	}
}

func TestEverySchemaIsPublishable(t *testing.T) {
	keywords := []string{"type", "properties", "anyOf", "allOf", "$ref", "required", "additionalProperties", "patternProperties", "$defs", "not", "if", "enum", "$schema", "$id", "items"}
	var schema func(depth int) *rapid.Generator[any]
	schema = func(depth int) *rapid.Generator[any] {
		leaf := rapid.SampledFrom([]any{"object", "string", "#/$defs/a", "#", "https://example.org/x", 1, true, nil, []any{"a"}, map[string]any{"type": "string"}})
		if depth == 0 {
			return leaf
		}
		return rapid.Custom(func(t *rapid.T) any {
			switch rapid.IntRange(0, 3).Draw(t, "kind") {
			case 0:
				return leaf.Draw(t, "leaf")
			case 1:
				return rapid.SliceOfN(schema(depth-1), 0, 3).Draw(t, "list")
			}
			made := map[string]any{}
			for _, keyword := range rapid.SliceOfN(rapid.SampledFrom(keywords), 0, 4).Draw(t, "keywords") {
				made[keyword] = schema(depth-1).Draw(t, keyword)
			}
			return made
		})
	}
	rapid.Check(t, func(t *rapid.T) {
		encoded, err := json.Marshal(map[string]any{"name": "x", "inputSchema": schema(4).Draw(t, "schema")})
		require.NoError(t, err)
		tool, err := adaptSchema("engine", "engine.x", mcpclient.Definition{Name: "x", Raw: encoded})
		require.NoError(t, err, string(encoded))
		require.NoError(t, mcpio.Publishable(tool))
	})
}

// The example in the documents is valid for the schema and for the reader, and
// both agree on what is not.
func TestTheSchemaSaysWhatIsRead(t *testing.T) {
	raw, err := os.ReadFile("../../schemas/mcp.json")
	require.NoError(t, err)
	decoded, err := jsonvalue.Decode(raw)
	require.NoError(t, err)
	set, err := schemas.Load()
	require.NoError(t, err)
	schema, err := set.Inline(decoded)
	require.NoError(t, err)
	page, err := os.ReadFile("../../docs/mounting.md")
	require.NoError(t, err)
	example := regexp.MustCompile("(?s)```json\n(.*?)```").FindSubmatch(page)
	require.NotNil(t, example)

	good := []string{string(example[1]), `{}`, `{"servers":{"a":{"type":"stdio","command":"x","timeout":1.5,"alwaysAllow":[]}},"inputs":[]}`}
	bad := []string{`[]`, `{"x":1}`, `{"mcpServers":{"a":{}}}`, `{"mcpServers":{"a":{"command":"x","url":"http://h"}}}`, `{"mcpServers":{"a":{"command":""}}}`,
		`{"mcpServers":{"a":{"command":"x","timeout":0}}}`, `{"mcpServers":{"a":{"url":"http://h","env":{}}}}`, `{"mcpServers":{"a":{"command":"x","typ":"stdio"}}}`,
		`{"mcpServers":{"a":{"url":"http://h","headers":{"X-Key:":"x"}}}}`}
	for _, text := range slices.Concat(good, bad) {
		value, err := jsonvalue.Decode([]byte(text))
		require.NoError(t, err)
		all, err := entries([]byte(text))
		read := err == nil && !slices.ContainsFunc(all, func(e entry) bool { return e.wrong != nil })
		require.Equal(t, slices.Contains(good, text), read, text)
		require.Equal(t, read, schema.Check(value) == nil, text)
	}
}

// A diff shows what went and what came, and nothing that a terminal obeys.
func TestDiffIsWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		texts := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "\x1b[2J", "\u202e", "\\u{202e}", "d\te"}), 0, 12)
		old, now := texts.Draw(t, "old"), texts.Draw(t, "now")
		shown := diff(old, now)
		if strings.ContainsAny(shown, "\x1b\u202e\t") || (shown == "") != slices.Equal(old, now) {
			t.Fatalf("shown: %q", shown)
		}
		change := strings.Count("\n"+shown, "\n+") - strings.Count("\n"+shown, "\n-")
		if change != len(now)-len(old) {
			t.Fatalf("%q and %q became %q", old, now, shown)
		}
	})
}

// FuzzConfig shows that no file of servers panics, and that what is wrong has
// a place in it.
func FuzzConfig(f *testing.F) {
	for _, seed := range []string{``, `{}`, `{"mcpServers":{"a":{"command":"${A:-b}","args":["x"],"env":{"A":"b"},"timeout":"1s"}}}`, `{"servers":{"a":{"url":"https://u:p@h/?k=v","headers":{"A":"B"}}}}`, "{\"mcpServers\"\n:1}", `{"a":{`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		all, err := entries(data)
		if err != nil {
			return
		}
		for _, each := range all {
			if each.wrong != nil {
				require.NotEmpty(t, each.wrong.Diagnostics)
				require.Positive(t, each.wrong.Diagnostics[0].Line)
				continue
			}
			_, _ = each.resolve([]string{"A=b"}, "/folder")
		}
	})
}

// What is called like a secret is taken out of results; what only may be one,
// out of logs and errors; what is neither stays.
func TestSecretsAreTakenOut(t *testing.T) {
	e := entry{name: "x", url: "https://ada:passphrase@host/${PART}?key=querysecret&project=main", headers: map[string]string{
		"Authorization": "Bearer ${API}", "X-Api-Key": "literal-key", "X-Project": "the-project"}, env: map[string]string{
		"GIT_AUTHOR_NAME": "Ada Lovelace", "DB_PASSWORD": "say \"friend\"", "DEBUG": "true", "WHERE": "${HOME}"}}
	l, err := e.resolve([]string{"API=bearer-secret", "PART=partial", "HOME=/home/ada"}, "/")
	require.NoError(t, err)
	text := `passphrase querysecret bearer-secret literal-key say "friend" say \"friend\" the-project main partial Ada Lovelace true /home/ada`
	require.Equal(t, strings.Repeat(redact.Mark+" ", 6)+`the-project main partial Ada Lovelace true /home/ada`, l.secrets.Text(text))
	require.Equal(t, strings.Repeat(redact.Mark+" ", 10)+"true "+redact.Mark, l.hidden.Text(text))
	basic := base64.StdEncoding.EncodeToString([]byte("ada:bearer-secret"))
	require.Less(t, len(l.secrets.Text(basic)), len(redact.Mark)+10, "also where a header was echoed")
	shapes := "a sk-proj-" + "abcdefghijklmnop1234 of another"
	require.Equal(t, shapes, l.secrets.Text(shapes), "a result is data: only what is known is taken out")
	require.Equal(t, "a "+redact.Mark+" of another", l.hidden.Text(shapes))
	require.Equal(t, `{"n":1,"token":"`+redact.Mark+`"}`, string(l.secrets.JSON([]byte(`{"n":1,"token":"bearer\u002dsecret"}`))))
}

// Clients refuse a tool whose schema has the label of a draft that they do not know.
func TestLabelsOfDraftsAreTakenOff(t *testing.T) {
	const given = `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","definitions":{"N":{"type":"integer"}},"properties":{"n":{"$ref":"#/definitions/N"},
		"pair":{"type":"array","items":[{"type":"string"},{"$ref":"#/definitions/N"}],"additionalItems":false},"dependencies":{"type":"array","items":{"type":"string"}},
		"any":{"enum":[{"items":[1]}]}}}`
	const wanted = `{"type":"object","definitions":{"N":{"type":"integer"}},"properties":{"n":{"$ref":"#/definitions/N"},
		"pair":{"type":"array","prefixItems":[{"type":"string"},{"$ref":"#/definitions/N"}],"items":false},"dependencies":{"type":"array","items":{"type":"string"}},
		"any":{"enum":[{"items":[1]}]}}}`
	for _, label := range []string{"http://json-schema.org/draft-07/schema#", "http://json-schema.org/draft-04/schema#", "https://json-schema.org/draft/2019-09/schema", "http://json-schema.org/schema#"} {
		output := strings.ReplaceAll(given, "http://json-schema.org/draft-07/schema#", label)
		tool, err := adaptSchema("engine", "engine.x", mcpclient.Definition{Name: "x", Raw: []byte(`{"name":"x","inputSchema":` + output + `,"outputSchema":` + output + `}`)})
		require.NoError(t, err)
		require.JSONEq(t, wanted, string(tool.Output), label)
		require.NotContains(t, string(tool.Input), "$schema")
		require.Contains(t, string(tool.Input), `"definitions":{"N"`)
	}
	newest := `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"n":{"type":"integer"}}}`
	tool, err := adaptSchema("engine", "engine.x", mcpclient.Definition{Name: "x", Raw: []byte(`{"name":"x","inputSchema":` + newest + `}`)})
	require.NoError(t, err)
	require.JSONEq(t, newest, string(tool.Input))
}

// Every form of an older draft is written as the newest has it, wherever it stands.
func TestOlderFormsOfSchemas(t *testing.T) {
	for given, wanted := range map[string]string{
		`{"properties":{"definitions":{"type":"object","properties":{"x":{}}},"y":{"$ref":"#/properties/definitions/properties/x"}}}`:                           `{"properties":{"definitions":{"type":"object","properties":{"x":{}}},"y":{"$ref":"#/properties/definitions/properties/x"}}}`,
		`{"properties":{"p":{"items":[{},{"type":"string"}],"additionalItems":{}},"y":{"$ref":"#/properties/p/items/1"}}}`:                                      `{"properties":{"p":{"prefixItems":[{},{"type":"string"}],"items":{}},"y":{"$ref":"#/properties/p/prefixItems/1"}}}`,
		`{"$id":"https://x/y.json#","definitions":{"N":{}},"properties":{"n":{"$ref":"https://x/y.json#/definitions/N"},"m":{"$ref":"z.json#/definitions/M"}}}`: `{"$id":"https://x/y.json#","definitions":{"N":{}},"properties":{"n":{"$ref":"#/definitions/N"},"m":{"$ref":"z.json#/definitions/M"}}}`,
		`{"definitions":{"N":{"$id":"#n","type":"integer"}},"properties":{"n":{"$ref":"#n"}}}`:                                                                  `{"definitions":{"N":{"$anchor":"n","type":"integer"}},"properties":{"n":{"$ref":"#n"}}}`,
		`{"properties":{"n":{"minimum":5,"exclusiveMinimum":true,"maximum":9,"exclusiveMaximum":false}}}`:                                                       `{"properties":{"n":{"exclusiveMinimum":5,"maximum":9}}}`,
		`{"properties":{"n":{"$schema":"http://json-schema.org/draft-07/schema#","type":"string"}}}`:                                                            `{"properties":{"n":{"type":"string"}}}`,
		`{"properties":{"n":{"type":"string","required":true},"m":{"required":false}},"required":["m"]}`:                                                        `{"properties":{"n":{"type":"string"},"m":{}},"required":["m","n"]}`,
		`{"properties":{"$schema":{"type":"string"},"n":{"default":{"definitions":1,"$schema":"x"},"x-own":{"items":[1]}}}}`:                                    `{"properties":{"$schema":{"type":"string"},"n":{"default":{"definitions":1,"$schema":"x"},"x-own":{"items":[1]}}}}`,
	} {
		var schema map[string]any
		require.NoError(t, json.Unmarshal([]byte(given), &schema))
		got, err := json.Marshal(modern(schema))
		require.NoError(t, err)
		require.JSONEq(t, wanted, string(got), given)
		again, err := json.Marshal(modern(modern(schema)))
		require.NoError(t, err)
		require.JSONEq(t, wanted, string(again), "rewritten twice")
	}
}

// The output schema is the server's own, unless clients could not read it.
func TestOutputSchemas(t *testing.T) {
	for output, listed := range map[string]bool{
		`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`: true,
		`{"type":"object","anyOf":[{"required":["a"]},{"required":["b"]}]}`:        true,
		`{"type":"array"}`:                        false,
		`{"type":"object","properties":7}`:        false,
		`{"type":"object","$ref":"http://other"}`: false,
		`null`: false,
	} {
		raw := `{"name":"x","inputSchema":{"type":"object"},"outputSchema":` + output + `}`
		tool, err := adaptSchema("engine", "engine.x", mcpclient.Definition{Name: "x", Raw: []byte(raw)})
		require.NoError(t, err, output)
		if listed {
			require.JSONEq(t, output, string(tool.Output))
		} else {
			require.Empty(t, tool.Output, output)
		}
		require.JSONEq(t, `{"type":"object"}`, string(tool.Input), "a bad output schema costs nothing of the input's")
	}
}
