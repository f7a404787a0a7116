package service_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"savant/fault"
	"savant/reasoning"
	"savant/reasoning/service"
)

const verdict = `{"type":"object","required":["decision"],"properties":{"decision":{"enum":["approve","request_changes"]},"summary":{"type":"string"}}}`

// judge is a question with data.
func judge(input, schema string) reasoning.Request {
	return reasoning.Request{SessionID: "r1", RunID: "r1", Step: 1, Policy: reasoning.Policy{NoTools: true, MustFinish: true}}.
		Ask(reasoning.Question{Workflow: "review", StepID: "judge", Attempt: 1, Schema: json.RawMessage(schema)}, json.RawMessage(input))
}

// input is the data of a question.
func input(t require.TestingT, members map[string]any) string {
	raw, err := json.Marshal(members)
	require.NoError(t, err)
	return string(raw)
}

// What fits the schema is the answer, however the model wraps it.
func TestAnAnswerThatFitsIsAccepted(t *testing.T) {
	t.Parallel()
	const yes = `{"decision":"approve"}`
	for name, c := range map[string]struct{ schema, text, want string }{
		"exactly":                {verdict, yes, yes},
		"in a fence":             {verdict, "Here it is:\n```json\n" + yes + "\n```", yes},
		"amid prose":             {verdict, "I say " + yes + " since it works.", yes},
		"after thoughts":         {verdict, `<think>{"decision":"request_changes"}</think>` + yes, yes},
		"not quite JSON":         {verdict, `{'decision': 'approve',}`, yes},
		"in an intent":           {verdict, `{"action":"finish","final":"{\"decision\":\"approve\"}"}`, yes},
		"an object in an intent": {verdict, `{"action":"finish","final":{"decision":"approve"},"reasoning":"why"}`, yes},
		"any object":             {`{"type":"object"}`, `{"a":1}`, `{"a":1}`},
		"any object, an intent":  {`{"type":"object"}`, `{"action":"finish","final":"{\"a\":1}"}`, `{"a":1}`},
		"with a member action":   {`{"type":"object","required":["action"],"properties":{"action":{"enum":["finish"]}}}`, `{"action":"finish","final":"x"}`, `{"action":"finish","final":"x"}`},
		"a list":                 {`{"type":"array"}`, `[1, 2]`, `[1,2]`},
		"a text":                 {`{"type":"string","maxLength":20}`, `Hello, Ada!`, `"Hello, Ada!"`},
		"a quoted text":          {`{"type":"string","maxLength":20}`, `"Hello, Ada!"`, `"Hello, Ada!"`},
		"a large number":         {`{"type":"integer"}`, `9007199254740993`, `9007199254740993`},
		"no schema":              {``, "Hello, Ada!", "Hello, Ada!"},
		"no schema, thoughts":    {``, "<think>\nHi?\n</think>\n<think>Or so.</think>\nHello, Ada!", "Hello, Ada!"},
		"no schema, no start":    {``, "Hi?\n</think>\n\nHello, Ada!", "Hello, Ada!"},
		"no schema, one line":    {``, "Hi?</think>\n\nHello, Ada!", "Hello, Ada!"},
		"no schema, about tags":  {``, "It thinks between <think> and </think>.\nThen <reasoning> follows.", "It thinks between <think> and </think>.\nThen <reasoning> follows."},
		"no schema, an intent":   {``, `{"action":"finish","final":"Hello, Ada!"}`, "Hello, Ada!"},
		"no schema, an answer":   {``, `{"answer":"Hello"}`, `{"answer":"Hello"}`},
	} {
		t.Run(name, func(t *testing.T) {
			slm := &scripted{name: "ollama:small", lines: []string{c.text}}
			intent, err := reasoning.New(reasoning.Options{Transport: service.New(service.Options{SLM: slm})}).Decide(t.Context(), judge(`{"task":"Judge."}`, c.schema), reasoning.Unobserved{})
			require.NoError(t, err)
			require.Equal(t, reasoning.ActionFinish, intent.Action)
			require.Equal(t, c.want, intent.Final)
			require.Len(t, slm.asked, 1)
			require.Equal(t, c.schema, string(slm.asked[0].Schema))
			require.Equal(t, c.schema != "", slm.asked[0].Enforce)
			require.Contains(t, slm.asked[0].System, c.schema)
			require.NotContains(t, slm.asked[0].System, "tool_name")
		})
	}
}

func TestAnAnswerThatDoesNotFitIsAskedForOnceMore(t *testing.T) {
	t.Parallel()
	slm := &scripted{name: "ollama:small", lines: []string{`{"decision":"maybe"}`, `{"decision":"approve"}`}}
	intent, err := service.New(service.Options{SLM: slm}).Decide(t.Context(), judge(`{"task":"Judge."}`, verdict), reasoning.Unobserved{})
	require.NoError(t, err)
	require.Equal(t, `{"decision":"approve"}`, intent.Final)
	require.Contains(t, slm.asked[1].User, "/decision")
	require.Contains(t, slm.asked[1].User, `{"decision":"maybe"}`)
	slm.lines = []string{"no", "no"}
	_, err = service.New(service.Options{SLM: slm}).Decide(t.Context(), judge(`{"task":"Judge."}`, verdict), reasoning.Unobserved{})
	require.ErrorIs(t, err, fault.InvalidIntent)
	slm.lines = []string{`{"action":"error","error":"no patch"}`}
	intent, err = service.New(service.Options{SLM: slm}).Decide(t.Context(), judge(`{"task":"Judge."}`, verdict), reasoning.Unobserved{})
	require.NoError(t, err)
	require.Equal(t, "no patch", intent.Error)
}

// The offline planner is no model: it answers no step.
func TestThePlannerAnswersNoStep(t *testing.T) {
	t.Parallel()
	_, err := service.New(service.Options{}).Decide(t.Context(), judge(`{"task":"Judge."}`, verdict), reasoning.Unobserved{})
	require.ErrorIs(t, err, fault.ReasoningUnavailable)
	require.ErrorContains(t, err, "SLM_MODEL")
}

func TestAnInvalidSchemaAsksNoModel(t *testing.T) {
	t.Parallel()
	slm := &scripted{name: "slm"}
	_, err := service.New(service.Options{SLM: slm}).Decide(t.Context(), judge(`{"task":"Judge."}`, `{"type":5}`), reasoning.Unobserved{})
	require.ErrorIs(t, err, fault.InvalidParams)
	require.Empty(t, slm.asked)
}

// Data is cut where it stands, and the cut is marked. Task and schema are never cut,
// and the prompt never exceeds its budget.
func TestOnlyDataIsCut(t *testing.T) {
	if testing.Short() {
		t.Skip("one call after the other: the race detector finds nothing in it, and slows it tenfold")
	}
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		members := map[string]any{"task": strings.Repeat("Judge this. ", rapid.IntRange(1, 500).Draw(t, "task")) + "END"}
		for i := range rapid.IntRange(0, 5).Draw(t, "members") {
			text := rapid.StringMatching(`[a-zé\n ]{5}`).Draw(t, "text")
			members[fmt.Sprintf("part%d", i)] = strings.Repeat(text, rapid.IntRange(0, 5000).Draw(t, "length"))
		}
		var files []any
		for i := range rapid.IntRange(0, 1500).Draw(t, "files") {
			files = append(files, map[string]any{"path": fmt.Sprintf("folder/file%d.go", i), "lines": i})
		}
		members["files"] = files
		request := judge(input(t, members), verdict)
		prompt := build(t, request)
		require.LessOrEqual(t, prompt.Description.Tokens, service.SmallBudget)
		require.LessOrEqual(t, service.Tokens(prompt.System)+service.Tokens(prompt.User), service.SmallBudget)
		require.Contains(t, prompt.User, members["task"])
		require.Contains(t, prompt.System, verdict)
		_, trimmed := sizes(prompt)
		require.Equal(t, trimmed["input"] > 0, strings.Contains(prompt.User, "left out)"))
		for name := range members {
			if name != "task" {
				require.Contains(t, prompt.User, "## "+name)
			}
		}
	})
}

func TestWhereWhatWasLeftOut(t *testing.T) {
	t.Parallel()
	members := map[string]any{"task": "Judge.", "patch": "+first line\n" + strings.Repeat("+a line of the patch\n", 4000), "title": "A short title", "files": []any{"a.go", "b.go"}}
	slm := &scripted{name: "ollama:small", lines: []string{`{"decision":"approve"}`}}
	intent, err := service.New(service.Options{SLM: slm}).Decide(t.Context(), judge(input(t, members), verdict), reasoning.Unobserved{})
	require.NoError(t, err)
	shown := slm.asked[0].User
	require.Contains(t, shown, "## title\nA short title")
	require.Contains(t, shown, `["a.go","b.go"]`)
	require.Regexp(t, `## patch\n\+first line\n(.|\n)*\+a line of the patch\n… \(\d+ of 21003 tokens left out\)\n\n## title`, shown)
	require.Len(t, intent.Warnings, 1)
	for _, named := range []string{"step judge", "ollama:small", "patch", "8000", "agent.prompt.slm_budget_tokens"} {
		require.Contains(t, intent.Warnings[0], named)
	}
	require.Regexp(t, `patch[^,;]* \d+`, intent.Warnings[0], "the line of the cut")
	require.Equal(t, map[string]int{"patch": 1 + strings.Count(shown, "+a line of the patch\n")}, intent.Prompt.Seen)
	_, trimmed := sizes(service.Prompt{Description: *intent.Prompt})
	require.Positive(t, trimmed["input"])
}

// The large model is asked for what the small one would not see whole.
func TestALargeQuestionGoesToTheLargeModel(t *testing.T) {
	t.Parallel()
	request := judge(input(t, map[string]any{"task": "Judge.", "patch": strings.Repeat("+a line of the patch\n", 4000)}), verdict)
	slm := &scripted{name: "ollama:small", lines: []string{`{"decision":"approve"}`}}
	llm := &scripted{name: "ollama:large", lines: []string{`{"decision":"approve"}`}}
	observed := reasoning.NewObserved(nil)
	inside := service.New(service.Options{SLM: slm, LLM: llm})
	intent, err := inside.Decide(t.Context(), request, observed)
	require.NoError(t, err)
	require.Equal(t, "ollama:large", intent.Model)
	require.Empty(t, slm.asked)
	require.Empty(t, intent.Warnings)
	require.Contains(t, llm.asked[0].User, strings.Repeat("+a line of the patch\n", 3999))
	calls := observed.Calls()
	require.Len(t, calls, 1)
	require.Contains(t, calls[0].Switch, "8000", "the budget")
	require.Equal(t, reasoning.PurposeAnswer, calls[0].Purpose)
	request.Policy.Model = reasoning.ModelSLM
	intent, err = inside.Decide(t.Context(), request, reasoning.Unobserved{})
	require.NoError(t, err)
	require.Len(t, intent.Warnings, 1)
}

func TestWhatCannotBeCutIsRefused(t *testing.T) {
	t.Parallel()
	slm := &scripted{name: "ollama:small"}
	_, err := service.New(service.Options{SLM: slm}).Decide(t.Context(), judge(input(t, map[string]any{"task": strings.Repeat("Judge this. ", 3000)}), verdict), reasoning.Unobserved{})
	require.ErrorIs(t, err, fault.LimitExceeded)
	require.Equal(t, 8000, fault.From(err).Extra["budget"])
	require.Greater(t, fault.From(err).Extra["tokens"], 9000)
	for _, named := range []string{"step judge", "8000", "agent.prompt.slm_budget_tokens", "LLM_MODEL"} {
		require.ErrorContains(t, err, named)
	}
	require.Empty(t, slm.asked)
}

// narrow is a model with a small window.
type narrow struct {
	*scripted
	window int
}

func (n narrow) Window(context.Context) int { return n.window }

func TestAModelsOwnWindowBoundsThePrompt(t *testing.T) {
	t.Parallel()
	request := judge(input(t, map[string]any{"task": "Judge.", "patch": strings.Repeat("+a line of the patch\n", 4000)}), verdict)
	for window, most := range map[int]int{8192: 5120, 0: 8000, 1 << 20: 8000} {
		slm := narrow{&scripted{name: "ollama:small", lines: []string{`{"decision":"approve"}`}}, window}
		intent, err := service.New(service.Options{SLM: slm}).Decide(t.Context(), request, reasoning.Unobserved{})
		require.NoError(t, err)
		require.LessOrEqual(t, intent.Prompt.Tokens, most)
		require.Greater(t, intent.Prompt.Tokens, most-100)
	}
}
