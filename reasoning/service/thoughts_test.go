package service_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/fault"
	"savant/reasoning"
	"savant/reasoning/service"
)

// thoughts are the forms in which models think before they answer; %s is a draft.
var thoughts = map[string]string{
	"think":           "<think>%s</think>",
	"a capital":       "<Think>%s</Think>",
	"square":          "[THINK]%s[/THINK]",
	"thought":         "<thought>%s</thought>",
	"a namespace":     "<mm:think>%s</mm:think>",
	"triangles":       "◁think▷%s◁/think▷",
	"Cohere":          "<|START_THINKING|>%s<|END_THINKING|>",
	"begin and end":   "<|begin_of_thought|>%s<|end_of_thought|>",
	"Gemma":           "<|channel>thought\n%s<channel|>",
	"prefix, suffix":  "<|inner_prefix|>%s<|inner_suffix|>",
	"numbered":        "<unused94>thought\n%s<unused95>",
	"an end twice":    "<think>%s</think></think>",
	"Granite":         "Here is my thought process:\n%s\n\nHere is my response:\n",
	"a program":       "Thinking...\n%s\n...done thinking.\n\n",
	"a fence":         "```thinking\n%s\n```\n",
	"an answer":       "<think>%s</think>\n<answer>\n",
	"another script":  "<思考>%s</思考>",
	"lenticular":      "【思考】%s【/思考】\n",
	"another end":     "<think>%s</thinking>",
	"nobody's name":   "<musing>%s</musing>",
	"an attribute":    `<reasoning effort="high">%s</reasoning>`,
	"two blocks":      "<plan>first</plan>\n<scratchpad>%s</scratchpad>",
	"braces":          "{{think}}%s{{/think}}",
	"Solar":           "<|think|>%s<|end|><|begin|>assistant<|content|>",
	"a turn":          "<|im_start|>think\n%s<|im_end|>\n<|im_start|>answer\n",
	"no beginning":    "%s</think>",
	"no square one":   "%s[/THINK]\n",
	"harmony":         "<|channel|>analysis<|message|>%s<|end|><|start|>assistant<|channel|>final<|message|>",
	"harmony, begun":  "%s<|end|><|start|>assistant<|channel|>final<|message|>",
	"harmony, plain":  "<|channel|>analysis<|message|>%s<|end|>",
	"harmony, bare":   "analysis%sassistantfinal",
	"harmony, spoken": "<|start|>assistant<|channel|>analysis<|message|>%s<|end|><|start|>assistant<|channel|>commentary<|message|>I look.<|end|><|start|>assistant<|channel|>final<|message|>",
}

// A draft within thoughts is neither done nor the answer.
func TestThoughtsAreNotAnswers(t *testing.T) {
	t.Parallel()
	const call = `{"action":"tool","tool_name":"git.log","args":{"limit":1}}`
	for name, form := range thoughts {
		t.Run(name, func(t *testing.T) {
			for _, draft := range []string{`perhaps {"action":"finish","final":"a draft"} no`, `{"tool":"memory.write","args":{"text":"x"}}`} {
				intent, err := service.Parse(fmt.Sprintf(form, draft)+call, offered)
				require.NoError(t, err)
				require.Equal(t, "git.log", intent.ToolName)
				require.Empty(t, intent.Calls)
			}
			require.Equal(t, `{"decision":"approve"}`, answered(t, fmt.Sprintf(form, `draft {"decision":"request_changes"} wait`)+`{"decision":"approve"}`, verdict))
			require.Equal(t, "Hello there.", answered(t, fmt.Sprintf(form, "draft Hi")+"Hello there.", ""))
		})
	}
}

// What a text says is kept, marks and all.
func TestMarksThatAreNoThoughts(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"<b>Bold</b> words.", "<p>Hello</p>\n<p>there</p>", "<answer>Hello</answer> there", "<output>x</output> y", "[b]Bold[/b] words", "<details>x</details> y",
		"<h1>Title</h1>\nText.", "<project><name>a</name></project>\nThat is it.", "<step>1</step>\n<step>2</step>", "<note>all of it</note>", "It thinks between <think> and </think>.", "The tag `</think>` closes it.",
		"Write <|im_end|> at its end.", "<s>old</s>", "See [1] and [/1] there.", "<final>x</final> y", "Use <|channel|>final<|message|> for it.",
	} {
		require.Equal(t, text, answered(t, text, ""))
	}
}

func TestTokensAtTheEndAreCut(t *testing.T) {
	t.Parallel()
	for _, end := range []string{"<|im_end|>", "</s>", "<|endoftext|>", "<|eot_id|>", "<end_of_turn>", "<｜end▁of▁sentence｜>", "<|im_end|>\n<|endoftext|>\n",
		"<|im_end|>\n<|im_start|>user\nThanks<|im_end|>"} {
		require.Equal(t, "Hello there.", answered(t, "Hello there."+end, ""))
		intent, err := service.Parse(finish+end, offered)
		require.NoError(t, err)
		require.Equal(t, "done", intent.Final)
	}
}

func TestTokensAroundAnAnswerAreCut(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"<|begin_of_box|>Hello.<|end_of_box|>", "<|START_THINKING|>x<|END_THINKING|><|START_RESPONSE|>Hello.<|END_RESPONSE|>"} {
		require.Equal(t, "Hello.", answered(t, text, ""), text)
	}
}

// Of several intents without marks the last that stands by itself counts; different
// actions are a doubt, calls side by side are none.
func TestSeveralIntentsInOneText(t *testing.T) {
	t.Parallel()
	tools := []reasoning.Tool{{Name: "git.log", ReadOnly: true}, {Name: "git.status", ReadOnly: true}, {Name: "memory.write"}}
	const (
		log    = `{"action":"tool","tool_name":"git.log","args":{}}`
		status = `{"action":"tool","tool_name":"git.status","args":{}}`
		write  = `{"action":"tool","tool_name":"memory.write","args":{}}`
		draft  = `{"action":"finish","final":"a draft"}`
	)
	for text, want := range map[string]string{
		"Perhaps " + draft + ", or rather:\n" + finish: "done",
		draft + "\nNo:\n" + finish:                     "done",
		finish + "\n" + finish:                         "done",
		log + "\n" + status:                            "git.log git.status",
		log + log:                                      "git.log",
		"<tool_call>" + log + "</tool_call>\n<tool_call>" + write + "</tool_call>":                                           "git.log memory.write",
		"First:\n" + log + "\nThen:\n" + status:                                                                              "git.log git.status",
		"<tool_calls><tool_call><name>git_log</name></tool_call><tool_call><name>git_status</name></tool_call></tool_calls>": "git.log git.status",
		"<function_calls><invoke name=\"git_log\"></invoke><invoke name=\"git_status\"></invoke></function_calls>":           "git.log git.status",
		"<tool_call>git_log</tool_call><tool_call>memory_write</tool_call>":                                                  "git.log memory.write",
		"[" + log + ", " + status + "]":                                                                                      "git.log git.status",
		`The file has {"name":"demo"}. ` + finish:                                                                            "done",
		log + "\n" + finish: "",
		"I could " + write + " but nobody asked.\n" + finish: "",
		"I could write:\n" + write + "\nBut no:\n" + log:     "",
		"Maybe " + write + " no, " + log:                     "",
		draft + " no, " + status:                             "",
	} {
		intent, err := service.Parse(text, tools)
		if want == "" {
			require.ErrorIs(t, err, fault.InvalidIntent, text)
			require.ErrorContains(t, err, "two actions", text)
			continue
		}
		require.NoError(t, err, text)
		got := intent.Final
		for i, each := range intent.AllCalls() {
			got += " "[:min(i, 1)] + each.ToolName
		}
		require.Equal(t, want, got, text)
	}
}

func TestOfSeveralValuesTheLastCounts(t *testing.T) {
	t.Parallel()
	const no, yes = `{"decision":"request_changes"}`, `{"decision":"approve"}`
	for _, text := range []string{"Perhaps " + no + ".\n" + yes, no + "\n" + yes, "```json\n" + no + "\n```\nBetter:\n```json\n" + yes + "\n```", yes + "\nIt was " + no + " before.",
		`{"action":"finish","final":` + no + "}\n" + `{"action":"finish","final":` + yes + `}`} {
		require.Equal(t, yes, answered(t, text, verdict), text)
	}
}

// answered is the answer of a question whose model writes a text.
func answered(t *testing.T, text, schema string) string {
	t.Helper()
	slm := &scripted{name: "ollama:small", lines: []string{text, "asked again"}}
	intent, err := service.New(service.Options{SLM: slm}).Decide(t.Context(), judge(`{"task":"Judge."}`, schema), reasoning.Unobserved{})
	require.NoError(t, err, text)
	require.Len(t, slm.asked, 1, text)
	return intent.Final
}

// Each form is read without another question.
func TestFormsOfCalls(t *testing.T) {
	t.Parallel()
	schema := json.RawMessage(`{"type":"object","properties":{"limit":{"type":"integer"},"path":{"type":"string"}}}`)
	tools := []reasoning.Tool{{Name: "git.log", InputSchema: schema}, {Name: "context.search"}}
	const limit = `{"limit":3}`
	for _, text := range []string{
		`{"type":"function","function":{"name":"git_log","arguments":"{\"limit\":3}"}}`,
		`{"tool_calls":[{"id":"1","type":"function","function":{"name":"git_log","arguments":"{\"limit\":3}"}}]}`,
		`{"function_call":{"name":"git_log","arguments":{"limit":3}}}`,
		`{"action":"tool_call","tool_call":{"name":"git_log","args":{"limit":3}}}`,
		`{"action":{"name":"git_log","parameters":{"limit":3}}}`,
		`{"action":"git_log","action_input":{"limit":3}}`,
		`{"git_log":{"limit":3}}`,
		`{"tool_uses":[{"recipient_name":"functions.git_log","parameters":{"limit":3}}]}`,
		`[{"name":"git_log","arguments":{"limit":3}}]`,
		`{"action"=>"tool", "tool_name"=>"git.log", "args"=>{"limit"=>3}}`,
		`{"action":"tool","calls":[{"tool_name":"json_tool_call","args":{"action":"tool","tool_name":"git_log","args":{"limit":3}}}]}`,
		"analysisPerhaps {\"action\":\"finish\",\"final\":\"no\"}assistantcommentary to=functions.git_log json" + limit,
		`{"name":"git_log<|channel|>commentary","arguments":{"limit":3}}`,
		`{"name":"functions.git_log:0","arguments":{"limit":3}}`,
		"to=functions.git_log  天天json\n" + limit,
		`<|tool_call>call:git_log{limit:3}<tool_call|>`,
		"<tool_call>git_log<arg_key>limit</arg_key><arg_value>3</arg_value>",
		"<tool_call>\n<function=git_log>\n<parameter=limit>\n3\n</tool_call>",
		"<tool_call>\n<function=git_log>\n<parameter=limit>3\n</function>\n</tool_call>",
		"]<]minimax[>[<tool_call>\n]<]minimax[>[<invoke name=\"git_log\">\n]<]minimax[>[<limit>3]<]minimax[>[</limit>\n]<]minimax[>[</invoke>\n]<]minimax[>[</tool_call>",
		"<think>I need the log.\n<tool_call>\n{\"name\": \"git_log\", \"arguments\": {\"limit\": 3}}\n</tool_call>\n</think>",
		"<tool_use><name>git_log</name><arguments>" + limit + "</arguments></tool_use>",
		"<use_mcp_tool>\n<server_name>savant</server_name>\n<tool_name>git_log</tool_name>\n<arguments>\n" + limit + "\n</arguments>\n</use_mcp_tool>",
		"<tool_use><name>git_log</name><arguments><limit>3</limit></arguments></tool_use>",
		"<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"git_log\">\n<｜DSML｜parameter name=\"limit\" string=\"false\">3</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>",
		"[tool_call: git_log(limit=3)]",
		`{"content":[{"type":"tool_use","id":"t","name":"git_log","input":{"limit":3}}]}`,
		`{"choices":[{"message":{"tool_calls":[{"function":{"name":"git_log","arguments":"{\"limit\":3}"}}]}}]}`,
		`{"response":{"action":"tool","tool_name":"git_log","args":{"limit":3}}}`,
		`{"answer":"{\"action\":\"tool\",\"tool_name\":\"git_log\",\"args\":{\"limit\":3}}"}`,
		`{"next_action":{"tool":"git_log","args":{"limit":3}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"git_log","arguments":{"limit":3}}}`,
		`{"action":"execute","tool":"git_log","args":{"limit":3}}`,
		`{"command":"git_log","args":{"limit":3}}`,
		`{"tool_name":"git_log","tool_arguments":{"limit":3}}`,
		`{"tool_name":"git_log","arguments_json":"{\"limit\":3}"}`,
		`{"action":"tool","calls":{"tool_name":"git.log","args":{"limit":3}}}`,
		`{"action":"tool","calls":"[{\"tool_name\":\"git.log\",\"args\":{\"limit\":3}}]"}`,
		`{"actions":[{"action":"tool","tool_name":"git.log","args":{"limit":3}}]}`,
		`{{"action":"tool","tool_name":"git_log","args":{"limit":3}}}`,
		`"action":"tool","tool_name":"git_log","args":{"limit":3}}`,
		"{&quot;action&quot;:&quot;tool&quot;,&quot;tool_name&quot;:&quot;git_log&quot;,&quot;args&quot;:{&quot;limit&quot;:3}}",
		"Action 1: git_log\nAction Input 1: " + limit,
		"Action: git_log\nAction Input: " + limit + "\nObservation: commit 1\nThought: I know.\nFinal Answer: wrong",
		`{"name":"git_log","arguments":"{'limit': 3}"}`,
		"<function=git_log>" + limit + "</function>",
		"<tool_call>\n<function=git_log>\n<parameter=limit>\n3\n</parameter>\n</function>\n</tool_call>",
		`<function_calls><invoke name="git_log"><parameter name="limit">3</parameter></invoke></function_calls>`,
		`<git_log limit="3"/>`, `<invoke name="git_log" limit="3"></invoke>`, `<tool_call name="git_log" args='{"limit": 3}'/>`,
		`<action name="git_log"><param name="limit" value="3"/></action>`, `<action type="tool" name="git_log">{"limit":3}</action>`,
		`<tool>git_log</tool><args>{"limit":3}</args>`, `<tool_call><tool>git_log</tool><args><limit>3</limit></args></tool_call>`,
		"action: tool\ntool_name: git_log\nargs:\n  limit: 3\n", "I look.\n\n```yaml\ntool: git_log\nargs: {limit: 3}\n```\n", "calls:\n- tool_name: git.log\n  args:\n    limit: 3",
		"Tool name: git_log\nTool input: {\"limit\": 3}", "Action: git_log(limit=3)\nObservation: none", "✿FUNCTION✿: git_log\n✿ARGS✿: {\"limit\": 3}",
		`{"tool_call":{"git_log":{"limit":3}}}`, `{"thought":"x","tool":{"git_log":{"limit":3}}}`,
		`[TOOL_CALLS]git_log[CALL_ID]abc123[ARGS]{"limit": 3}`,
		"<tool_call>git_log\n<arg_key>limit</arg_key>\n<arg_value>3</arg_value>\n</tool_call>",
		"<git_log><limit>3</limit></git_log>", `<call tool="git_log"><arg name="limit">3</arg></call>`, `<invoke name="git_log"><parameter name="limit">3</parameter>`,
		`<tool_use id="1" name="git_log"><input><limit>3</limit></input></tool_use>`, "<git_log limit=3/>", "<git_log><limit type=\"int\">3</limit></git_log>",
		"<tool_call>{\"name\": \"git_log\", \"arguments\": {\"limit\": 3}}\n</tool_call>",
		"<|python_tag|>{\"name\": \"git_log\", \"parameters\": {\"limit\": 3}}<|eom_id|>",
		"[TOOL_CALLS]git_log[ARGS]" + limit,
		"[TOOL_CALLS]git_log" + limit,
		`[TOOL_CALLS][{"name":"git_log","arguments":{"limit":3}}]`,
		"<|channel|>commentary to=functions.git_log <|constrain|>json<|message|>" + limit + "<|call|>",
		"<|channel|>analysis<|message|>I look.<|end|><|start|>assistant to=functions.git_log<|channel|>commentary json<|message|>" + limit + "<|call|>",
		"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>git_log\n```json\n" + limit + "\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜><｜end▁of▁sentence｜>",
		"<|tool_calls_section_begin|><|tool_call_begin|>functions.git_log:0<|tool_call_argument_begin|>" + limit + "<|tool_call_end|><|tool_calls_section_end|>",
		"调用：git_log\n参数：" + limit,
		"<｜tool▁calls▁begin｜>git_log（｛“limit”：3｝）<｜tool▁calls▁end｜>",
		"<details><summary>Thoughts</summary>{\"action\":\"finish\",\"final\":\"no\"}</details>\n{\"action\":\"git_log\",\"args\":" + limit + "}",
		"````markdown\n```json\n{\"action\":\"git_log\",\"args\":" + limit + "}\n```\n````",
		"Thought: I look at it.\nAction: git_log\nAction Input: " + limit,
		"**Thought:** I look.\n**Action:** git_log\n**Action Input:** " + limit,
		"functions.git_log(" + limit + ")",
		`"{\"action\":\"tool\",\"tool_name\":\"git_log\",\"args\":{\"limit\":3}}"`,
		`{\"action\":\"tool\",\"tool_name\":\"git_log\",\"args\":{\"limit\":3}}`,
		`{action: "tool", tool_name: "git_log", args: {limit: 3}}`,
		"{\"action\":\"tool\", // the log\n\"tool_name\":\"git_log\", /* so many */ \"args\":{\"limit\":3}}",
		`{"action":"tool","tool_name":"git\_log","args":{"limit":3}}`,
		`{"action":"tool","tool_name":"git_log","args":{"limit":3}`,
		"```json\n{\"action\":\"tool\",\"tool_name\":\"git_log\",\"args\":{\"limit\":3}\n```",
		`{“action”: “tool”, “tool_name”: “git_log”, “args”: {“limit”: 3}}`,
		`{"action"："tool"，"tool_name"："git_log"，"args"：{"limit"：3}}`,
		`｛"action"："tool"，"tool_name"："git_log"，"args"：｛"limit"：3｝｝`,
		"<|python_tag|>git_log.call(limit=3)", "@git_log " + limit, "- **action**: tool\n- **tool_name**: git.log\n- **args**: {\"limit\": 3}",
	} {
		intent, err := service.Parse(text, tools)
		require.NoError(t, err, text)
		calls := intent.AllCalls()
		require.Len(t, calls, 1, text)
		require.Equal(t, "git.log", calls[0].ToolName, text)
		require.JSONEq(t, limit, string(calls[0].Args), text)
	}
	for text, want := range map[string]string{
		`{"action":"finish","final":"it\'s done"}`:                                "it's done",
		`{"action":"finish","final":"see C:\Users\me"}`:                           `see C:\Users\me`,
		`{action:"finish","final":"see C:\\Users\\me"}`:                           `see C:\Users\me`,
		"Thought: I know.\nFinal Answer: It is done.\n":                           "It is done.",
		`{"action":"Final Answer","action_input":"It is done."}`:                  "It is done.",
		`{"action":"finish","result":"It is done.","reasoning":"so"}`:             "It is done.",
		`{"action":"finish","args":{"answer":"It is done."}}`:                     "It is done.",
		`{"action":"Finish","action_input":"It is done."}`:                        "It is done.",
		`{"name":"final_answer","arguments":{"answer":"It is done."}}`:            "It is done.",
		`{"action":"respond","message":"It is done."}`:                            "It is done.",
		`final_answer(answer="It is done.")`:                                      "It is done.",
		"**Action:** finish\n**Final:** It is done.":                              "It is done.",
		`{"action":"finish","final":"""It is done."""}`:                           "It is done.",
		`{"action":"complete","final":"It is done."}`:                             "It is done.",
		"action: finish\nfinal: It is done.":                                      "It is done.",
		"<action>finish</action><final>It is done.</final>":                       "It is done.",
		"<finish>It is done.</finish>":                                            "It is done.",
		`{"finish":"It is done."}`:                                                "It is done.",
		`{"final":{"action":"approve","why":"x"}}`:                                `{"action":"approve","why":"x"}`,
		`finish(final="It is done.")`:                                             "It is done.",
		`{"action":"finish","final":{"name":"git_log","arguments":{"limit":3}}}`:  `{"arguments":{"limit":3},"name":"git_log"}`,
		`{"action":"finish","final":"call <function=git_log>{}</function>"}`:      "call <function=git_log>{}</function>",
		`{"action":"finish","final":"<git_log><limit>3</limit></git_log> it is"}`: "<git_log><limit>3</limit></git_log> it is",
	} {
		intent, err := service.Parse(text, tools)
		require.NoError(t, err, text)
		require.Equal(t, reasoning.ActionFinish, intent.Action, text)
		if json.Valid([]byte(want)) {
			require.JSONEq(t, want, intent.Final)
		} else {
			require.Equal(t, want, intent.Final)
		}
	}
	intent, err := service.Parse("<|tool_call>call:git_log{limit:3,path:<|\"|>a<|\"|>}<tool_call|>", tools)
	require.NoError(t, err)
	require.JSONEq(t, `{"path":"a","limit":3}`, string(intent.Args))
	intent, err = service.Parse("<function=git_log>\n<parameter=path>\n<b>3</b>\n</parameter>\n<parameter=limit>3</parameter>\n</function>", tools)
	require.NoError(t, err)
	require.JSONEq(t, `{"path":"<b>3</b>","limit":3}`, string(intent.Args))
}

// What was cut off within a string or a number is no argument, and a text that only
// mentions a tool is no call.
func TestHalfACallIsNoCall(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`{"action":"tool","tool_name":"git_log","args":{"text":"half of`, `{"action":"tool","tool_name":"git_log","args":{"limit":3`,
		`{'action':'tool','tool_name':'git_log','args':{'text':'half of`, "git_log is the tool.", "I would use git_log with {\"limit\":3}.", "<git_log> is a tool.",
		"<think>a</think></think>", "<think>The form is <tool_call>{\"name\":\"git_log\",\"arguments\":{}}</tool_call></think>", "<think>From <begin> to <end> {\"name\":\"git_log\",\"arguments\":{}} lists",
		"<think>Perhaps <tool_call>{\"name\":\"git_log\",\"arguments\":{}}</tool_call>, or not.</think>", "<tool_call><function=git_log><parameter=limit>3", "Use <b>git_log</b> for it.", "<steps><step>git_log</step></steps>", `<invoke name="git_log"><parameter name="limit">3`, "<code>git_log</code> lists them."} {
		_, err := service.Parse(text, offered)
		require.ErrorIs(t, err, fault.InvalidIntent, text)
	}
}

// TestArrowsWithinATextStay: only the members of an object have them as Ruby writes it.
func TestArrowsWithinATextStay(t *testing.T) {
	for _, form := range []string{"{'action':'finish','final':'%s'}", "{action: finish, final: `%s`}", `{"action"=>"finish", "final"=>"%s"}`} {
		intent, err := service.Parse(fmt.Sprintf(form, "f = (x) => x + 1"), offered)
		require.NoError(t, err)
		require.Equal(t, "f = (x) => x + 1", intent.Final)
	}
}

// A call in Python is one where it stands by itself.
func TestCallsInPython(t *testing.T) {
	t.Parallel()
	tools := []reasoning.Tool{{Name: "git.log", ReadOnly: true}, {Name: "context.search", ReadOnly: true}}
	for text, want := range map[string]string{
		`[git_log(limit=1)]`: `git.log{"limit":1}`,
		`[git_log(limit=1), context_search(query="a, b) c", paths=['x', "y"], deep=True, at=None, o={'k': 2})]`: `git.log{"limit":1} context.search{"at":null,"deep":true,"o":{"k":2},"paths":["x","y"],"query":"a, b) c"}`,
		"<|python_start|>[git_log()]<|python_end|>":                                                             `git.log{}`,
		"<|python_tag|>git_log(limit = 1)<|eom_id|>":                                                            `git.log{"limit":1}`,
		"```tool_code\nprint(git_log(limit=1))\n```":                                                            `git.log{"limit":1}`,
		"I look.\n\ncontext_search(query='it\\'s \"=\"')":                                                       `context.search{"query":"it's \"=\""}`,
		"functions.git_log(limit=1);":                                                                           `git.log{"limit":1}`,
		"【git_log（limit＝1）】":                                                                                    `git.log{"limit":1}`,
	} {
		intent, err := service.Parse(text, tools)
		require.NoError(t, err, text)
		got := ""
		for _, each := range intent.AllCalls() {
			var args any
			require.NoError(t, json.Unmarshal(each.Args, &args))
			sorted, err := json.Marshal(args)
			require.NoError(t, err)
			got += " "[:min(len(got), 1)] + each.ToolName + string(sorted)
		}
		require.Equal(t, want, got, text)
	}
	intent, err := service.Parse(`api.call(url="x")`, []reasoning.Tool{{Name: "api"}, {Name: "api.call"}})
	require.NoError(t, err)
	require.Equal(t, "api.call", intent.AllCalls()[0].ToolName, "a tool of that name comes first")
	for _, text := range []string{"I would call git_log(limit=1) here.", "[git_log(limit=1", "git_log(\"x\")", "[git_log(limit=)]", "[nothing(limit=1)]", `[git_log(limit="half)]`, "[git_log(1, limit=2)]"} {
		_, err := service.Parse(text, tools)
		require.ErrorIs(t, err, fault.InvalidIntent, text)
	}
	intent, err = service.Parse(`{"action":"finish","final":"call\n[git_log(limit=1)]"}`, tools)
	require.NoError(t, err)
	require.Equal(t, "call\n[git_log(limit=1)]", intent.Final)
}

// A long answer is repaired like a short one.
func TestLongAnswersAreRepaired(t *testing.T) {
	if testing.Short() {
		t.Skip("one call after the other: the race detector finds nothing in it, and slows it tenfold")
	}
	t.Parallel()
	long := strings.Repeat("Some “words” of it, {and} [more]. ", 3_000)
	for _, form := range []string{`{action:"finish","final":"%s"}`, `{"action":"finish","final":"%s"`, `{"action":"finish","final":"%s",}`, "{'action':'finish',\"final\":\"\n%s\"}"} {
		intent, err := service.Parse(fmt.Sprintf(form, long), offered)
		require.NoError(t, err, form)
		require.Equal(t, strings.TrimSpace(long), strings.TrimSpace(intent.Final))
	}
}
