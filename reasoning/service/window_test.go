package service_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/fault"
	"savant/reasoning"
	"savant/reasoning/models"
	"savant/reasoning/service"
)

// windowed is a model whose window is smaller than anybody says.
type windowed struct {
	*scripted
	window, told int
}

func (w windowed) Generate(ctx context.Context, prompt models.Prompt) (models.Reply, error) {
	if tokens := service.Tokens(prompt.System) + service.Tokens(prompt.User); tokens > w.window {
		w.asked = append(w.asked, prompt)
		return models.Reply{}, &models.TooLong{Window: w.told, Err: fault.New(fault.ReasoningUnavailable, "the request exceeds the context size")}
	}
	return w.scripted.Generate(ctx, prompt)
}

func TestAPromptIsBuiltAgainForASmallWindow(t *testing.T) {
	for _, told := range []int{8000, 0} {
		slm := windowed{&scripted{name: "ollama:small", lines: []string{finish}}, 6000, told}
		request := large()
		request.Goal = "Where is the loop?"
		intent, err := service.New(service.Options{SLM: slm}).Decide(t.Context(), request, reasoning.Unobserved{})
		require.NoError(t, err)
		require.Equal(t, "done", intent.Final)
		require.Contains(t, strings.Join(intent.Repairs, "\n"), "built again")
	}
	slm := windowed{&scripted{name: "ollama:small"}, 10, 6000}
	_, err := service.New(service.Options{SLM: slm}).Decide(t.Context(), whole(), reasoning.Unobserved{})
	require.ErrorIs(t, err, fault.LimitExceeded)
	require.ErrorContains(t, err, "agent.prompt.slm_budget_tokens")
	require.LessOrEqual(t, len(slm.asked), 2)
}

// replies is a model that gives its replies.
type replies struct {
	list  []models.Reply
	asked []models.Prompt
}

func (*replies) Name() string { return "ollama:small" }

func (r *replies) Generate(_ context.Context, prompt models.Prompt) (models.Reply, error) {
	r.asked = append(r.asked, prompt)
	reply := r.list[0]
	r.list = r.list[1:]
	return reply, nil
}

func TestAnswersOfModelsThatThink(t *testing.T) {
	slm := &replies{list: []models.Reply{{Thinking: " " + finish + "\n"}}}
	intent, err := service.New(service.Options{SLM: slm}).Decide(t.Context(), whole(), reasoning.Unobserved{})
	require.NoError(t, err)
	require.Equal(t, "done", intent.Final)
	slm = &replies{list: []models.Reply{{Thinking: "Perhaps " + finish + " or not."}, {Text: `{"action":"finish","final":"real"}`}}}
	intent, err = service.New(service.Options{SLM: slm}).Decide(t.Context(), whole(), reasoning.Unobserved{})
	require.NoError(t, err)
	require.Equal(t, "real", intent.Final, "thoughts are no answer")
	require.False(t, slm.asked[0].Again)
	require.True(t, slm.asked[1].Again)
	require.False(t, slm.asked[1].Longer)
	for _, thoughts := range []string{"Let me see. The file says so.\n\n%s", "I may return {\"action\":\"finish\",\"final\":\"a draft\"} here.\nBetter:\n```json\n%s\n```\n", strings.Repeat("func f() { g(map[int]int{}) }\n", 90) + "%s\n", "So.</think>\n%s"} {
		slm = &replies{list: []models.Reply{{Thinking: strings.Replace(thoughts, "%s", finish, 1)}}}
		intent, err = service.New(service.Options{SLM: slm}).Decide(t.Context(), whole(), reasoning.Unobserved{})
		require.NoError(t, err)
		require.Equal(t, "done", intent.Final, thoughts)
		require.Len(t, slm.asked, 1, "thoughts may end with the answer")
	}
	for _, thoughts := range []string{"One way:\n%s\nNo, that is wrong.", "One way:\n{\"action\":\"tool\",\"tool_name\":\"context.search\",\"args\":{\"query\":\"a\"}}\nAnother:\n%s", "So I finish with %s", "hmm"} {
		thoughts = strings.Replace(thoughts, "%s", finish, 1)
		slm = &replies{list: []models.Reply{{Thinking: thoughts}, {Text: `{"action":"finish","final":"real"}`}}}
		intent, err = service.New(service.Options{SLM: slm}).Decide(t.Context(), whole(), reasoning.Unobserved{})
		require.NoError(t, err)
		require.Equal(t, "real", intent.Final, thoughts)
		require.Contains(t, slm.asked[1].User, thoughts[:3], "the model sees what it wrote")
	}
	for _, reply := range []models.Reply{
		{Thinking: "I need it. <|tool_calls_section_begin|><|tool_call_begin|>functions.context_search:0<|tool_call_argument_begin|>{\"query\":\"a\"}<|tool_call_end|><|tool_calls_section_end|>"},
		{Text: "Let me look.", Calls: `{"action":"tool","calls":[{"tool_name":"context.search","args":{"query":"a"}}]}`},
	} {
		slm = &replies{list: []models.Reply{reply}}
		intent, err = service.New(service.Options{SLM: slm}).Decide(t.Context(), whole(), reasoning.Unobserved{})
		require.NoError(t, err)
		require.Equal(t, "context.search", intent.AllCalls()[0].ToolName)
	}
	slm = &replies{list: []models.Reply{{Text: `{"action":"finish","final":"a draft"}`, Calls: `{"action":"tool","calls":[{"tool_name":"context.search","args":{}}]}`}, {Text: finish}}}
	intent, err = service.New(service.Options{SLM: slm}).Decide(t.Context(), whole(), reasoning.Unobserved{})
	require.NoError(t, err)
	require.NotEqual(t, "a draft", intent.Final, "a text and a call that differ are a doubt")
	slm = &replies{list: []models.Reply{{Thinking: "hmm", Cut: true}, {Text: finish}}}
	_, err = service.New(service.Options{SLM: slm}).Decide(t.Context(), whole(), reasoning.Unobserved{})
	require.NoError(t, err)
	require.True(t, slm.asked[1].Longer, "a length end gets more room")
	slm = &replies{list: []models.Reply{{Text: `{"action":"tool","tool_name":"context.search","args":{"query":"a"}`, Cut: true}, {Text: finish}}}
	_, err = service.New(service.Options{SLM: slm}).Decide(t.Context(), whole(), reasoning.Unobserved{})
	require.NoError(t, err)
	require.Len(t, slm.asked, 2, "a call that was cut off is not completed")
}
