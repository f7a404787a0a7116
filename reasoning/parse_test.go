package reasoning_test

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/reasoning"
	"savant/test/golden"
)

var offered = []reasoning.Tool{{Name: "context.search"}, {Name: "think.plan"}, {Name: "think.workflows.list"}, {Name: "git.log"}}

// TestRepairs is the table of docs/reasoning-api.md.
func TestRepairs(t *testing.T) {
	for name, c := range map[string]struct{ answer, want string }{
		"as it should be":      {`{"action":"tool","tool_name":"git.log","args":{"limit":3},"model":"m","prompt_tokens":5}`, `{"action":"tool","tool_name":"git.log","args":{"limit":3},"model":"m","prompt_tokens":5}`},
		"args as text":         {`{"action":"tool","tool_name":"git.log","args":"{\"limit\": 3}"}`, `{"action":"tool","tool_name":"git.log","args":{"limit":3},"repairs":["args was a string"]}`},
		"args as empty text":   {`{"action":"tool","tool_name":"git.log","args":""}`, `{"action":"tool","tool_name":"git.log","args":{},"repairs":["args was a string"]}`},
		"no args":              {`{"action":"tool","tool_name":"git.log"}`, `{"action":"tool","tool_name":"git.log","args":{}}`},
		"null args":            {`{"action":"tool","tool_name":"git.log","args":null,"final":null}`, `{"action":"tool","tool_name":"git.log","args":{}}`},
		"exact numbers":        {`{"action":"tool","tool_name":"git.log","args":{"n":9007199254740993}}`, `{"action":"tool","tool_name":"git.log","args":{"n":9007199254740993}}`},
		"underscores":          {`{"action":"tool","tool_name":"mcp__savant__think_plan"}`, `{"action":"tool","tool_name":"think.plan","args":{},"repairs":["tool_name was written \"mcp__savant__think_plan\""]}`},
		"an unknown tool":      {`{"action":"tool","tool_name":"git.push"}`, `{"action":"tool","tool_name":"git.push","args":{}}`},
		"action in capitals":   {`{"action":" Finish","final":"x"}`, `{"action":"finish","final":"x","repairs":["action was written \" Finish\""]}`},
		"inside a member":      {`{"intent":{"action":"finish","final":"x"}}`, `{"action":"finish","final":"x","repairs":["the intent was inside a member of that name"]}`},
		"final in reasoning":   {`{"action":"finish","reasoning":"x"}`, `{"action":"finish","final":"x","reasoning":"x","repairs":["final was missing: the reasoning was used instead"]}`},
		"final as an object":   {`{"action":"finish","final":{"a":1}}`, `{"action":"finish","final":"{\"a\":1}","repairs":["final was not a string"]}`},
		"an error without why": {`{"action":"error"}`, `{"action":"error","error":"no reason was given","repairs":["error was missing"]}`},
		"an error's reasoning": {`{"action":"error","reasoning":"no such branch"}`, `{"action":"error","error":"no such branch","reasoning":"no such branch","repairs":["error was missing"]}`},
		"final named finish":   {`{"action":"finish","finish":"x"}`, `{"action":"finish","final":"x","repairs":["final was named finish"]}`},
		"finish is no text":    {`{"action":"finish","finish":true,"reasoning":"x"}`, `{"action":"finish","final":"x","reasoning":"x","repairs":["final was missing: the reasoning was used instead"]}`},
		"warnings":             {`{"action":"finish","final":"x","warnings":["cut"],"cached":true}`, `{"action":"finish","final":"x","warnings":["cut"],"cached":true}`},
		"no list of warnings":  {`{"action":"finish","final":"x","warnings":"cut","cached":1}`, `{"action":"finish","final":"x","repairs":["warnings was not a list of sentences","cached was not true or false"]}`},
		"tokens that are none": {`{"action":"finish","final":"x","prompt_tokens":-1,"output_tokens":"9"}`, `{"action":"finish","final":"x","repairs":["prompt_tokens was not a number of tokens","output_tokens was not a number of tokens"]}`},
		"a bad description":    {`{"action":"finish","final":"x","prompt":"?"}`, `{"action":"finish","final":"x","repairs":["prompt was not a description of one"]}`},
		"calls":                {`{"action":"tool","calls":[{"tool_name":"git_log","args":"{}"},{"tool_name":"think.plan"}]}`, `{"action":"tool","calls":[{"tool_name":"git.log","args":{}},{"tool_name":"think.plan","args":{}}],"repairs":["calls[0].tool_name was written \"git_log\"","calls[0].args was a string"]}`},
		"both forms":           {`{"action":"tool","tool_name":"git.log","calls":[{"tool_name":"think.plan"}]}`, `{"action":"tool","calls":[{"tool_name":"git.log","args":{}},{"tool_name":"think.plan","args":{}}],"repairs":["tool_name was sent with calls: it was used as the first call"]}`},
		"both forms alike":     {`{"action":"tool","tool_name":"git.log","calls":[{"tool_name":"git.log"}]}`, `{"action":"tool","calls":[{"tool_name":"git.log","args":{}}]}`},
		"members of no use":    {`{"action":"reason","reasoning":"x","tool_name":"git.log","args":5,"whatever":1}`, `{"action":"reason","reasoning":"x"}`},
	} {
		t.Run(name, func(t *testing.T) {
			intent, err := reasoning.ParseIntent([]byte(c.answer), offered)
			require.NoError(t, err)
			got, err := json.Marshal(intent)
			require.NoError(t, err)
			require.Equal(t, jsonText(t, c.want), jsonText(t, string(got)))
		})
	}
}

// jsonText is JSON in one encoding, its numbers exact.
func jsonText(t *testing.T, text string) string {
	t.Helper()
	value, err := jsonvalue.Decode([]byte(text))
	require.NoError(t, err)
	data, err := jsonvalue.Encode(value)
	require.NoError(t, err)
	return string(data)
}

// nested is an object of so many levels, with brackets in a text that are none.
func nested(levels int) string {
	return strings.Repeat(`{"[\"[":`, levels-1) + "{}" + strings.Repeat("}", levels-1)
}

// Arguments as deep as any tool takes them are taken.
func TestNestedArguments(t *testing.T) {
	intent, err := reasoning.ParseIntent([]byte(`{"action":"tool","tool_name":"git.log","args":`+nested(200)+`}`), offered)
	require.NoError(t, err)
	require.Equal(t, nested(200), string(intent.Args))
}

// TestRefusals checks that an answer that is not an intent is refused. The reasons are
// in testdata/refused_intents.golden.
func TestRefusals(t *testing.T) {
	messages := map[string]string{}
	for _, answer := range []string{
		`{}`,
		`{"action":"tool","tool_name":"git.log","args":` + nested(9000) + `}`,
		`{"action":"tool","calls":[{"tool_name":"git.log","args":` + strconv.Quote(nested(201)) + `}]}`,
		`{"action":null}`,
		`{"action":"tool"}`,
		`{"action":"tool","calls":[]}`,
		`{"action":"tool","calls":[{}]}`,
		`{"action":"tool","calls":{}}`,
		`{"action":"tool","tool_name":5}`,
		`{"action":"tool","tool_name":" "}`,
		`{"action":"reason"}`,
		`{"action":"finish"}`,
		`{"action":{"a":1}}`,
		`"finish"`,
		`{"action":"finish","final":"x"} and`,
		`{"action":"tool","tool_name":"git.log","args":[1]}`,
		`{"action":"tool","tool_name":"git.log","args":"limit=3"}`,
		`{"action":"tool","tool_name":"git.log","args":"{\"a\":}"}`,
		`{"action":"tool","calls":[{"tool_name":"a","args":true}]}`,
		`{"action":"tool","calls":[` + strings.Repeat(`{"tool_name":"a"},`, 64) + `{"tool_name":"a"}]}`,
	} {
		_, err := reasoning.ParseIntent([]byte(answer), offered)
		require.ErrorIs(t, err, fault.InvalidIntent, answer)
		require.NotEmpty(t, fault.From(err).Extra["received"])
		messages[answer] = fault.From(err).Details
	}
	golden.Messages(t, *update, "testdata/refused_intents.golden", messages)
}

func TestWhatWasReceivedIsBoundedAndWithoutSecrets(t *testing.T) {
	secrets := []string{"Bearer abcdefghijklmnop", "sk-ant-REDACTED", "ghp_abcdefghij0123456789", "password=hunter2",
		`"api_key": "hunter2hunter2"`, "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abcdef", "https://ada:hunter2@host/"}
	for _, secret := range secrets {
		_, err := reasoning.ParseIntent([]byte("<p>"+secret+" "+strings.Repeat("é", 10_000)), nil)
		data, fail := json.Marshal(fault.From(err))
		require.NoError(t, fail)
		require.Less(t, len(data), 2000)
		for _, part := range []string{"abcdefghij", "hunter2", "eyJzdWIi"} {
			require.NotContains(t, string(data), part, secret)
		}
	}
}

func TestNamesInAnySpelling(t *testing.T) {
	for given, want := range map[string]string{
		"think.plan": "think.plan", "think_plan": "think.plan", "Think/Plan": "think.plan", "think-plan": "think.plan", "think.plan()": "think.plan",
		"mcp__savant__think_plan": "think.plan", "savant.think_plan": "think.plan", "functions.think.plan": "think.plan",
		"mcp_savant_think_plan": "think.plan", "think_plan__v2": "think.plan", "savant:think_workflows_list": "think.workflows.list",
		"think_workflows_list": "think.workflows.list",
	} {
		got, known := reasoning.Canonical(given, offered)
		require.True(t, known, given)
		require.Equal(t, want, got, given)
	}
	for _, given := range []string{"", "plan", "rethink.plan", "think.plans", "think.plan.more", "git", "log", "git.logs"} {
		got, known := reasoning.Canonical(given, offered)
		require.False(t, known, given)
		require.Equal(t, given, got)
	}
}

// Two tools whose folded names are alike are told apart by their exact names only.
func TestAnAmbiguousNameIsLeftAlone(t *testing.T) {
	tools := []reasoning.Tool{{Name: "a.b-c"}, {Name: "a.b.c"}}
	for _, each := range tools {
		got, known := reasoning.Canonical(each.Name, tools)
		require.True(t, known)
		require.Equal(t, each.Name, got)
	}
	_, known := reasoning.Canonical("a_b_c", tools)
	require.False(t, known)
}

// Whatever is accepted is a whole intent, fits the published schema and is
// accepted again without a repair.
func FuzzParseIntent(f *testing.F) {
	schema := published(f, "reasoning_intent")
	for _, seed := range []string{finish, `{"action":"tool","calls":[{"tool_name":"git_log","args":"{}"}]}`, `{"intent":{"action":"error"}}`,
		`{"action":"finish","final":{"a":[1]},"repairs":["x"],"prompt":{"hash":"h","tokens":1,"sections":[]}}`, "\xEF\xBB\xBF{}", `<html>`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, answer []byte) {
		intent, err := reasoning.ParseIntent(answer, offered)
		if err != nil {
			require.ErrorIs(t, err, fault.InvalidIntent)
			return
		}
		data, err := json.Marshal(intent)
		require.NoError(t, err)
		if value, err := jsonvalue.Decode(data); err == nil { // else numbers beyond what is taken elsewhere
			require.NoError(t, schema.Check(value), string(data))
		}
		repairs := len(intent.Repairs)
		again, err := reasoning.ParseIntent(data, offered)
		require.NoError(t, err, string(data))
		require.Len(t, again.Repairs, repairs)
	})
}

// What fits the published schema is accepted as it is.
func TestWhatFitsTheSchemaNeedsNoRepair(t *testing.T) {
	schema := published(t, "reasoning_intent")
	text := rapid.StringMatching(`[a-z<>"\\é ]{1,12}`)
	args := rapid.MapOf(text, rapid.Int())
	call := rapid.Custom(func(t *rapid.T) map[string]any {
		return map[string]any{"tool_name": fmt.Sprintf("git.t%d", rapid.IntRange(0, 9).Draw(t, "tool")), "args": args.Draw(t, "args")}
	})
	rapid.Check(t, func(t *rapid.T) {
		intent := map[string]any{"action": rapid.SampledFrom([]string{"tool", "reason", "finish", "error"}).Draw(t, "action"),
			"reasoning": text.Draw(t, "reasoning"), "final": text.Draw(t, "final"), "error": text.Draw(t, "error"), "prompt_tokens": rapid.IntRange(0, 1<<40).Draw(t, "tokens")}
		if rapid.Bool().Draw(t, "parallel") {
			intent["calls"] = rapid.SliceOfN(call, 1, 5).Draw(t, "calls")
		} else {
			for name, value := range call.Draw(t, "call") {
				intent[name] = value
			}
		}
		require.NoError(t, schema.Check(intent))
		data, err := json.Marshal(intent)
		require.NoError(t, err)
		got, err := reasoning.ParseIntent(data, offered)
		require.NoError(t, err)
		require.Empty(t, got.Repairs)
	})
}
