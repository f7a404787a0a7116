package engines_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/engines"
	"savant/fault"
)

type echoIn struct {
	Workflow string          `json:"workflow" doc:"Name of the workflow."`
	Limit    int             `json:"limit,omitempty" min:"1" max:"500"`
	Style    string          `json:"style,omitempty" enum:"short,long"`
	Paths    []string        `json:"paths,omitempty"`
	Params   map[string]any  `json:"params,omitempty"`
	Result   json.RawMessage `json:"result,omitempty"`
	Any      any             `json:"any,omitempty"`
}

func echo(_ context.Context, in echoIn) (echoIn, error) { return in, nil }

func named(name string) engines.Tool { return engines.Bind(name, "Repeats what it is given.", echo) }

func registry(t testing.TB, log *bytes.Buffer, tools ...engines.Tool) *engines.Registry {
	t.Helper()
	var logger *slog.Logger
	if log != nil {
		logger = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	made := engines.NewRegistry(engines.Options{Logger: logger})
	require.NoError(t, made.Add(tools...))
	return made
}

func TestBothSpellingsReachATool(t *testing.T) {
	table := registry(t, nil, named("think.workflows.list"), named("git.log"), named("think.plan"))
	require.Equal(t, []string{"git.log", "think.plan", "think.workflows.list"}, table.Names())
	require.Equal(t, []string{"git", "think"}, table.Engines())
	require.Len(t, table.Engine("think"), 2)
	require.Equal(t, "git.log", table.Tools()[0].Name)
	for _, spelling := range []string{"think.workflows.list", "think_workflows_list"} {
		tool, ok := table.Resolve(spelling)
		require.True(t, ok)
		require.Equal(t, "think.workflows.list", tool.Name)
		_, err := table.Call(t.Context(), spelling, json.RawMessage(`{"workflow":"a"}`))
		require.NoError(t, err)
	}
	_, ok := table.Resolve("think.workflows_list")
	require.False(t, ok, "only the two spellings")
}

func TestAddIsAllOrNone(t *testing.T) {
	schema := func(text string) engines.Tool {
		tool := named("x.y")
		tool.Input = json.RawMessage(text)
		return tool
	}
	output := named("x.y")
	output.Output = json.RawMessage(`{"type":"array"}`)
	cases := map[fault.Code][]engines.Tool{
		fault.IDCollision:   {named("git.log"), named("a.b_c"), named("a_b.c")},
		fault.InvalidParams: {named("plan"), named("a..b"), named("a.b__c"), named("a_.b"), named("a b.c"), named("a." + string(make([]byte, 64))), {Name: "x.y"}},
		fault.YAMLSchemaViolation: {schema(`{"type":"object","properties":{"a":{"type":"strin"}}}`), schema(`{"type":"array"}`), schema(`{}`),
			schema(`{"type":"object","anyOf":[{}]}`), schema(`no`), {Name: "x.y", Description: "None.", Call: named("x.y").Call}, output},
	}
	for code, tools := range cases {
		for i, bad := range tools {
			if bad.Name == "a.b_c" {
				continue // taken together with the next
			}
			table := registry(t, nil, named("git.log"), named("a.b_c"))
			require.ErrorIs(t, table.Add(named("new.tool"), bad), code, "%d %s", i, bad.Name)
			require.Equal(t, []string{"a.b_c", "git.log"}, table.Names())
			_, ok := table.Resolve("new_tool")
			require.False(t, ok)
		}
	}
	require.ErrorIs(t, engines.NewRegistry(engines.Options{}).Add(named("a.b"), named("a.b")), fault.IDCollision)
}

func TestArgumentsAreForgivenWhatClientsDo(t *testing.T) {
	cases := []struct{ name, args, want string }{
		{"as it should be", `{"workflow": "a",  "limit":3}`, `{"workflow":"a","limit":3}`},
		{"the whole as text", `"{\"workflow\":\"a\"}"`, `{"workflow":"a"}`},
		{"unknown arguments", `{"workflow":"a","wait_for_previous":true,"task_progress":"- [ ] x"}`, `{"workflow":"a"}`},
		{"null for an optional one", `{"workflow":"a","limit":null,"params":null}`, `{"workflow":"a"}`},
		{"an object as text", `{"workflow":"a","params":"{\"pr\": 9007199254740993}","paths":"[\"x\"]"}`,
			`{"workflow":"a","paths":["x"],"params":{"pr":9007199254740993}}`},
		{"exact numbers", `{"workflow":"a","params":{"n":[9007199254740993]},"any":123456789012345678901234567890}`,
			`{"workflow":"a","params":{"n":[9007199254740993]},"any":123456789012345678901234567890}`},
		{"an integer written as a number", `{"workflow":"a","limit":3.0}`, `{"workflow":"a","limit":3}`},
		{"anything", `{"workflow":"a","result":"{\"a\": 1e3}"}`, `{"workflow":"a","result":"{\"a\": 1e3}"}`},
	}
	table := registry(t, nil, named("x.echo"))
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			result, err := table.Call(t.Context(), "x.echo", json.RawMessage(c.args))
			require.NoError(t, err)
			got, err := json.Marshal(result)
			require.NoError(t, err)
			require.Equal(t, c.want, string(got))
		})
	}
}

// Models send what is no text as one. A schema that takes a text keeps it.
func TestTextsThatStandForAValueAreConverted(t *testing.T) {
	const schema = `{"type":"object","$defs":{"N":{"type":"integer"},"L":{"type":"array","items":{"$ref":"#/$defs/N"}},"O":{"type":"object","properties":{"n":{"$ref":"#/$defs/N"},"s":{"type":"string"}}}},"properties":{
		"n":{"type":"integer"},"b":{"type":"boolean"},"f":{"type":"number"},"s":{"type":"string"},"either":{"type":["integer","string"]},"maybe":{"anyOf":[{"type":"integer"},{"type":"null"}]},
		"both":{"anyOf":[{"type":"integer"},{"type":"string"}]},"list":{"type":"array","items":{"type":"integer"}},"flags":{"type":"array","items":{"type":"boolean"}},"l":{"$ref":"#/$defs/L"},
		"o":{"$ref":"#/$defs/O"},"map":{"type":"object","additionalProperties":{"type":"integer"}},"of":{"enum":[1,2]},"word":{"enum":["1","2"]},"any":{},"all":{"allOf":[{"type":"integer"}]},
		"pair":{"type":"array","prefixItems":[{"type":"integer"},{"type":"boolean"}],"items":{"type":"number"}},
		"beside":{"$ref":"#/$defs/O","properties":{"q":{"type":"integer"}}},"sum":{"allOf":[{"$ref":"#/$defs/O"},{"properties":{"b":{"type":"boolean"}}}],"properties":{"f":{"type":"number"}}},"least":{"allOf":[{"type":"integer"},{"minimum":1}]},
		"shape":{"oneOf":[{"type":"object","properties":{"kind":{"const":"round"},"r":{"type":"integer"}}},{"type":"object","properties":{"kind":{"const":"named"},"r":{"type":"string"}}}]},
		"same":{"oneOf":[{"type":"object","properties":{"kind":{"const":1},"r":{"type":"integer"}}},{"type":"object","properties":{"kind":{"const":2},"r":{"type":"integer"}}}]},"free":{"anyOf":[true,{"type":"integer"}]}},
		"patternProperties":{"^s_":{"type":"string"},"^l_":{"$ref":"#/$defs/L"}},"additionalProperties":{"type":"integer"}}`
	tool := engines.Tool{Name: "x.echo", Description: "Repeats.", Input: json.RawMessage(schema),
		Call: func(_ context.Context, _ engines.Call, args json.RawMessage) (any, error) { return args, nil }}
	table := registry(t, nil, tool)
	for args, want := range map[string]string{
		`{"n":"2"}`: `{"n":2}`, `{"all":"2"}`: `{"all":2}`, `{"further":"2"}`: `{"further":2}`, `{"n":"-9007199254740993"}`: `{"n":-9007199254740993}`, `{"b":"true"}`: `{"b":true}`, `{"b":"false"}`: `{"b":false}`, `{"f":"2.5"}`: `{"f":2.5}`,
		`{"s":"2"}`: `{"s":"2"}`, `{"either":"2"}`: `{"either":"2"}`, `{"both":"2"}`: `{"both":"2"}`, `{"maybe":"2"}`: `{"maybe":2}`, `{"of":"2"}`: `{"of":2}`, `{"word":"2"}`: `{"word":"2"}`,
		`{"list":["1",2]}`: `{"list":[1,2]}`, `{"list":"[1,\"2\"]"}`: `{"list":[1,2]}`, `{"flags":["true",false]}`: `{"flags":[true,false]}`, `{"l":"[\"7\"]"}`: `{"l":[7]}`,
		`{"o":"{\"n\":\"3\",\"s\":\"4\"}"}`: `{"o":{"n":3,"s":"4"}}`, `{"o":{"n":"3"}}`: `{"o":{"n":3}}`, `{"map":{"a":"1"}}`: `{"map":{"a":1}}`, `{"any":"1","n":"1"}`: `{"any":"1","n":1}`,
		`{"s_a":"2","l_a":"[\"1\"]","a":"3"}`: `{"s_a":"2","l_a":[1],"a":3}`, `{"beside":{"n":"1","q":"2","s":"3"}}`: `{"beside":{"n":1,"q":2,"s":"3"}}`,
		`{"sum":{"n":"1","b":"true","f":"1.5","s":"1"}}`: `{"sum":{"n":1,"b":true,"f":1.5,"s":"1"}}`, `{"least":"5"}`: `{"least":5}`, `{"shape":{"kind":"round","r":"5"}}`: `{"shape":{"kind":"round","r":5}}`,
		`{"shape":{"kind":"named","r":"5"}}`: `{"shape":{"kind":"named","r":"5"}}`, `{"same":{"kind":2,"r":"5"}}`: `{"same":{"kind":2,"r":5}}`, `{"free":"5","n":"1"}`: `{"free":"5","n":1}`,
		`{"pair":["1","true","2.5"]}`: `{"pair":[1,true,2.5]}`, `{"pair":"[\"1\"]"}`: `{"pair":[1]}`,
	} {
		result, err := table.Invoke(t.Context(), engines.Call{}, "x.echo", json.RawMessage(args))
		require.NoError(t, err, args)
		require.JSONEq(t, want, string(result.JSON), args)
		require.Empty(t, result.Warning, args)
	}
	for _, args := range []string{`{"n":"5x"}`, `{"n":""}`, `{"n":"5.5"}`, `{"n":" 5"}`, `{"n":"1e3"}`, `{"n":"true"}`, `{"b":"yes"}`, `{"b":"1"}`, `{"b":"True"}`, `{"list":["x"]}`, `{"list":"1"}`, `{"maybe":"x"}`,
		`{"o":"[1]"}`, `{"map":{"a":"x"}}`, `{"f":"NaN"}`} {
		_, err := table.Invoke(t.Context(), engines.Call{}, "x.echo", json.RawMessage(args))
		require.ErrorIs(t, err, fault.InvalidParams, args)
	}
}

// A receipt must not stand for a call that was changed in silence.
func TestAnUndeclaredArgumentIsPassedOnOrTold(t *testing.T) {
	tool := func(name, schema string) engines.Tool {
		return engines.Tool{Name: name, Description: "Repeats.", Input: json.RawMessage(schema), Call: func(_ context.Context, _ engines.Call, args json.RawMessage) (any, error) { return args, nil }}
	}
	table := registry(t, nil, tool("x.open", `{"type":"object","properties":{"id":{"type":"integer"}},"additionalProperties":true}`),
		tool("x.texts", `{"type":"object","properties":{"id":{"type":"integer"}},"additionalProperties":{"type":"string"}}`),
		tool("x.silent", `{"type":"object","properties":{"id":{"type":"integer"}}}`), tool("x.closed", `{"type":"object","properties":{"id":{"type":"integer"}},"additionalProperties":false}`))
	for name, want := range map[string]string{"x.open": `{"id":5,"extra":"y"}`, "x.texts": `{"id":5,"extra":"y"}`, "x.silent": `{"id":5}`, "x.closed": `{"id":5}`} {
		result, err := table.Invoke(t.Context(), engines.Call{}, name, json.RawMessage(`{"id":5,"extra":"y"}`))
		require.NoError(t, err)
		require.JSONEq(t, want, string(result.JSON), name)
		require.Equal(t, strings.Contains(want, "extra"), result.Warning == "", name)
		if result.Warning != "" {
			require.Equal(t, `the tool does not declare "extra": the call was made without`, result.Warning)
			require.JSONEq(t, `{"_warning":"the tool does not declare \"extra\": the call was made without","id":5}`, string(result.Annotated(result.JSON)))
		}
	}
	_, err := table.Invoke(t.Context(), engines.Call{}, "x.texts", json.RawMessage(`{"extra":1}`))
	require.ErrorIs(t, err, fault.InvalidParams)
}

func TestValuesOfAnyHaveTheTypesOfJSON(t *testing.T) {
	table := registry(t, nil, named("x.echo"))
	result, err := table.Call(t.Context(), "x.echo", json.RawMessage(`{"workflow":"a","params":{"i":1,"f":1.5,"deep":[{"x":2}]},"any":null}`))
	require.NoError(t, err)
	require.Equal(t, map[string]any{"i": 1, "f": 1.5, "deep": []any{map[string]any{"x": 2}}}, result.(echoIn).Params)
}

func TestArgumentsThatDoNotFitAreExplained(t *testing.T) {
	cases := []struct{ args, want string }{
		{``, `x.echo: missing argument "workflow"`},
		{`null`, `x.echo: missing argument "workflow"`},
		{`{"workfow":"a"}`, `x.echo: missing argument "workflow"; "workfow" was sent, did you mean "workflow"?`},
		{`{"workflow":null}`, `x.echo: workflow: expected string, got null`},
		{`{"workflow":"a","limit":0}`, `x.echo: limit: expected at least 1, got 0`},
		{`{"workflow":"a","limit":"3x"}`, `x.echo: limit: expected integer, got "3x"`},
		{`{"workflow":"a","limit":""}`, `x.echo: limit: expected integer, got ""`},
		{`{"workflow":"a","limit":"3.5"}`, `x.echo: limit: expected integer, got "3.5"`},
		{`{"workflow":"a","limit":"03"}`, `x.echo: limit: expected integer, got "03"`},
		{`{"workflow":"a","limit":"999"}`, `x.echo: limit: expected at most 500, got 999`},
		{`{"workflow":"a","paths":["x",2]}`, `x.echo: paths[1]: expected string, got 2`},
		{`{"workflow":"a","style":"shrt"}`, `x.echo: style: expected one of "short", "long", got "shrt"; did you mean "short"?`},
		{`{"workflow":"a","params":{"x":1e999}}`, `x.echo: argument params: number 1e999 is out of bounds`},
		{`{"workflow":"a","any":1e999}`, `number 1e999 is out of bounds`},
		{`{"workflow":"a","workflow":"b"}`, `x.echo: arguments are not JSON: member "workflow" appears twice`},
		{`[1]`, `x.echo: arguments: expected a JSON object, got [1]`},
		{`{"a":`, `x.echo: arguments are not JSON: unexpected end of JSON input`},
		{`{"workflow":"a","any":{"n":1,"n":2}}`, `x.echo: arguments are not JSON: member "n" appears twice`},
		{"{\"text\":\"caf\xe9\"}", `x.echo: arguments are not JSON: text is not UTF-8`},
		{`"{} {}"`, `x.echo: arguments are not JSON: invalid character '{' after top-level value`},
	}
	table := registry(t, nil, named("x.echo"))
	for _, c := range cases {
		_, err := table.Call(t.Context(), "x.echo", json.RawMessage(c.args))
		require.ErrorIs(t, err, fault.InvalidParams, c.args)
		require.Equal(t, c.want, fault.From(err).Details, c.args)
	}
	_, err := table.Call(t.Context(), "x.echo", json.RawMessage(`{"workflow":1,"limit":501}`))
	require.Equal(t, []fault.Diagnostic{
		{Path: "limit", Pointer: "/limit", Expected: "at most 500", Actual: "501", Message: "expected at most 500, got 501"},
		{Path: "workflow", Pointer: "/workflow", Expected: "string", Actual: "1", Message: "expected string, got 1"},
	}, fault.From(err).Diagnostics)
}

func TestSchemasOfOthersAreTakenAsTheyAre(t *testing.T) {
	got := ""
	tool := engines.Tool{Name: "other.tool", Description: "From elsewhere.", Call: func(_ context.Context, _ engines.Call, args json.RawMessage) (any, error) {
		got = string(args)
		return map[string]any{}, nil
	}}
	for schema, want := range map[string]string{
		`{"type":"object"}`: `{"b": 1, "a":2}`,
		`{"type":"object","properties":{"a":{}},"additionalProperties":true}`:                                                                                        `{"b": 1, "a":2}`,
		`{"type":"object","properties":{"a":{}},"additionalProperties":false}`:                                                                                       `{"a":2}`,
		`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"a":{"$ref":"#/definitions/x"}},"definitions":{"x":{"type":"integer"}}}`: `{"a":2}`,
	} {
		tool.Input = json.RawMessage(schema)
		_, err := registry(t, nil, tool).Call(t.Context(), "other_tool", json.RawMessage(`{"b": 1, "a":2}`))
		require.NoError(t, err)
		require.Equal(t, want, got, schema)
	}
}

func TestUnknownToolSaysTheNearest(t *testing.T) {
	table := registry(t, nil, named("think.plan"), named("git.status"))
	for _, name := range []string{"think.pln", "think_pln"} {
		_, err := table.Call(t.Context(), name, nil)
		require.ErrorIs(t, err, fault.UnknownTool)
		require.Contains(t, fault.From(err).Hint.Text, "think.plan")
	}
	_, err := table.Call(t.Context(), "completely.different", nil)
	require.ErrorContains(t, err, "completely.different")
	require.Empty(t, fault.From(err).Hint)
}

func TestFailuresOfToolsAreCoded(t *testing.T) {
	fails := func(name string, f func(context.Context) error) engines.Tool {
		return engines.Bind(name, "Fails.", func(ctx context.Context, _ struct{}) (struct{}, error) { return struct{}{}, f(ctx) })
	}
	var log bytes.Buffer
	table := registry(t, &log,
		fails("x.panics", func(context.Context) error { panic("secret of the panic") }),
		fails("x.plain", func(context.Context) error { return errors.New("secret of the error") }),
		fails("x.wrapped", func(context.Context) error { return fault.From(errors.New("secret of the cause")) }),
		fails("x.coded", func(context.Context) error { return fmt.Errorf("x: %w", fault.New(fault.UnknownRun, "no run r1")) }),
		fails("x.cancelled", func(ctx context.Context) error { return ctx.Err() }),
	)
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for name, code := range map[string]fault.Code{"x.panics": fault.Internal, "x.plain": fault.Internal, "x.wrapped": fault.Internal,
		"x.coded": fault.UnknownRun, "x.cancelled": fault.ToolFailed} {
		_, err := table.Call(cancelled, name, nil)
		require.ErrorIs(t, err, code, name)
		require.NotContains(t, err.Error(), "secret")
		var coded *fault.Error
		require.True(t, errors.As(err, &coded))
	}
	for _, secret := range []string{"secret of the panic", "registry_test.go", "secret of the error", "secret of the cause"} {
		require.Contains(t, log.String(), secret)
	}
}

func TestDroppedArgumentsAreInTheLog(t *testing.T) {
	var log bytes.Buffer
	_, err := registry(t, &log, named("x.echo")).Call(t.Context(), "x.echo", json.RawMessage(`{"workflow":"a","task_progress":"secret"}`))
	require.NoError(t, err)
	require.Contains(t, log.String(), "task_progress")
	require.NotContains(t, log.String(), "secret")
}

func TestRegistryIsConcurrent(t *testing.T) {
	table := registry(t, nil, named("x.echo"))
	var wait sync.WaitGroup
	for i := range 8 {
		wait.Go(func() {
			if err := table.Add(named(fmt.Sprintf("x%d.echo", i))); err != nil {
				t.Error(err)
			}
			if _, err := table.Call(context.Background(), "x_echo", json.RawMessage(`{"workflow":"a"}`)); err != nil {
				t.Error(err)
			}
			table.Tools()
		})
	}
	wait.Wait()
	require.Len(t, table.Names(), 9)
}

// FuzzCall shows that no arguments, whatever their bytes, panic or reach a tool
// undecodable, and that those of a receipt are those that were asked for.
func FuzzCall(f *testing.F) {
	for _, seed := range []string{``, `null`, `{"workflow":"a"}`, `"{}"`, `{"workflow":"a","params":"{"}`, `{"workflow":1,"a":{"b":[1e400]}}`, "{\"\\u0000\":0}"} {
		f.Add(seed)
	}
	var kept desk
	table := engines.NewRegistry(kept.options())
	require.NoError(f, table.Add(named("x.echo")))
	f.Fuzz(func(t *testing.T, args string) {
		kept.receipts = nil
		_, err := table.Invoke(t.Context(), engines.Call{}, "x.echo", json.RawMessage(args))
		require.NotErrorIs(t, err, fault.Internal)
		if len(kept.receipts) > 0 {
			digest, err := table.InputDigest("x.echo", json.RawMessage(args))
			require.NoError(t, err)
			require.Equal(t, digest, kept.receipts[0].Input)
		}
	})
}

// TestTheListIsTheCallers: what one does with it shows in no other.
func TestTheListIsTheCallers(t *testing.T) {
	r := engines.NewRegistry(engines.Options{})
	require.NoError(t, r.Add(named("a.two"), named("a.one"), named("b.one")))
	first := r.Tools()
	first[0], first = first[1], first[:1]
	require.Equal(t, []string{"a.one", "a.two", "b.one"}, names(r))
	require.Equal(t, []string{"a.one", "a.two"}, names(r.Only("a")))
	require.NoError(t, r.ReplaceTools("a", named("a.zero")))
	require.Equal(t, []string{"a.zero", "b.one"}, names(r))
	require.Len(t, first, 1)
}

func names(r *engines.Registry) []string {
	var list []string
	for _, tool := range r.Tools() {
		list = append(list, tool.Name)
	}
	return list
}
