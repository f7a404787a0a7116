package service_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/fault"
	"savant/reasoning"
	"savant/reasoning/service"
	"savant/test/golden"
)

var offered = []reasoning.Tool{{Name: "git.log", InputSchema: json.RawMessage(`{"properties":{"limit":{"type":"integer"}}}`)}, {Name: "context.search"}}

func TestWhatModelsWrite(t *testing.T) {
	t.Parallel()
	const call = `{"action":"tool","tool_name":"git.log","args":{"limit":3}}`
	for name, c := range map[string]struct{ text, want string }{
		"JSON":                    {call, call},
		"a fence":                 {"```json\n" + call + "\n```", call},
		"a fence and prose":       {"Sure! Here it is:\n```\n" + call + "\n```\nLet me know {if} it helps.", call},
		"prose":                   {"I think {so}. " + call + " Done.", call},
		"thoughts":                {"<think>{\"action\":\"finish\",\"final\":\"no\"}</think>\n" + call, call},
		"begun thoughts":          {"{\"action\":\"finish\",\"final\":\"no\"} or not</think>" + call, call},
		"about thoughts":          {`{"action":"finish","final":"<think>so</think>"}`, `{"action":"finish","final":"<think>so</think>"}`},
		"single quotes":           {`{'action': 'tool', 'tool_name': 'git.log', 'args': {'limit': 3}}`, call},
		"a quote inside":          {`{'action': 'finish', 'final': 'it\'s "done"'}`, `{"action":"finish","final":"it's \"done\""}`},
		"a trailing comma":        {`{"action":"tool","tool_name":"git.log","args":{"limit":3,},}`, call},
		"Python":                  {`{"action": "tool", "tool_name": "git.log", "args": {"all": True, "path": None}}`, `{"action":"tool","tool_name":"git.log","args":{"all":true,"path":null}}`},
		"a line break":            {"{\"action\":\"finish\",\"final\":\"one\ntwo\"}", `{"action":"finish","final":"one\ntwo"}`},
		"other names":             {`{"tool":"git_log","arguments":{"limit":3}}`, call},
		"another action":          {`{"action":"final_answer","answer":"x"}`, `{"action":"finish","final":"x"}`},
		"names inside calls":      {`{"action":"tool","calls":[{"name":"git.log","arguments":"{\"limit\":3}"}]}`, `{"action":"tool","calls":[{"tool_name":"git.log","args":{"limit":3}}]}`},
		"the second object":       {`{"note":1} ` + call, call},
		"names of Gemini":         {`{"functionCall":{"name":"git_log","args":{"limit":3}}}`, call},
		"camels":                  {`{"Action":"Tool","toolName":"git.log","tool-args":{"limit":3}}`, call},
		"arguments beside":        {`{"action":"git.log","limit":3,"mood":"good"}`, call},
		"a list of one":           {`{"action":"tool","tool_name":"git.log","args":[{"limit":3}]}`, call},
		"finish as a tool":        {`{"tool":"finish","args":{"result":"x"}}`, `{"action":"finish","final":"x"}`},
		"finish as a native call": {`{"action":"tool","calls":[{"tool_name":"finish","args":{"final":"x"}}]}`, `{"action":"finish","final":"x"}`},
		"TeX":                     {`\boxed{` + call + `}`, call},
		"lines of a JSON string":  {`{\n  \"action\": \"finish\",\n  \"final\": \"x\"\n}`, `{"action":"finish","final":"x"}`},
		"a made-up turn":          {call + "</s>[INST] go on [/INST] {\"action\":\"finish\",\"final\":\"no\"}", call},
		"another":                 {call + "<end_of_turn>\n<start_of_turn>user\nno\n{\"action\":\"finish\",\"final\":\"no\"}", call},
	} {
		t.Run(name, func(t *testing.T) {
			intent, err := service.Parse(c.text, offered)
			require.NoError(t, err)
			require.Equal(t, c.text != c.want, len(intent.Repairs) > 0 || slices.Contains([]string{"thoughts", "begun thoughts", "a made-up turn", "another", "lines of a JSON string"}, name))
			intent.Repairs = nil
			got, err := json.Marshal(intent)
			require.NoError(t, err)
			require.JSONEq(t, c.want, string(got))
		})
	}
}

func TestWhatModelsWriteThatIsNoIntent(t *testing.T) {
	t.Parallel()
	messages := map[string]string{}
	for _, text := range []string{"", "I cannot help.", `{"action":"tool"`, `{"action":"dance"}`, "Here: {\"action\":\"tool\"} as asked", "{{{{",
		"<think>perhaps {\"action\":\"finish\",\"final\":\"no\"} or"} {
		_, err := service.Parse(text, offered)
		require.ErrorIs(t, err, fault.InvalidIntent, text)
		messages[text] = fault.From(err).Details
	}
	golden.Messages(t, *update, "testdata/no_intents.golden", messages)
}

// Whatever a model writes, the answer is an intent that is one, or INVALID_INTENT.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{finish, "```json\n" + finish + "\n```", `{'a': 'b\'c"', True, None,}`, "{{{{\"", "<think>", `{"tool":"git_log","calls":[{"name":1}]}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		intent, err := service.Parse(text, offered)
		if err != nil {
			require.ErrorIs(t, err, fault.InvalidIntent)
			return
		}
		data, err := json.Marshal(intent)
		require.NoError(t, err)
		_, err = reasoning.ParseIntent(data, offered)
		require.NoError(t, err, string(data))
	})
}

// TestBracesThatNothingCloses reads the text of a model that repeats itself. Without a
// bound each brace would cost a pass over the rest of the text, and the test never ends.
func TestBracesThatNothingCloses(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing in it is concurrent, and the race detector slows it tenfold")
	}
	t.Parallel()
	for _, part := range []string{"{", "<git_log>", "<a>git_log", "<a git_log='", "git_log(", "<", "</a>", "<a><b>git_log</b>"} {
		_, err := service.Parse(strings.Repeat(part, 1<<17), offered)
		require.ErrorIs(t, err, fault.InvalidIntent, part)
	}
	for _, text := range []string{strings.Repeat("<a>", 50_000) + "git_log" + strings.Repeat("</a>", 50_000), strings.Repeat("<git_log>", 50_000) + strings.Repeat("</git_log>", 50_000)} {
		_, _ = service.Parse(text, offered)
	}
}
