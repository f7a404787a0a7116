package service_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"savant/fault"
	"savant/reasoning"
	"savant/reasoning/models"
	"savant/reasoning/planner"
	"savant/reasoning/service"
)

func TestWithoutAModelThePlannerDecides(t *testing.T) {
	t.Parallel()
	inside := service.New(service.Options{})
	require.Contains(t, inside.Name(), "not a model")
	intent, err := inside.Decide(t.Context(), reasoning.Request{RunID: "r1", Step: 1, Goal: "Where is the loop?"}, reasoning.Unobserved{})
	require.NoError(t, err)
	require.Equal(t, planner.Name, intent.Model)
	require.Nil(t, intent.Prompt)
}

func TestAModelDecides(t *testing.T) {
	t.Parallel()
	slm := &scripted{name: "ollama:small", lines: []string{`{"action":"finish","final":"done","model":"somebody else","prompt_tokens":9}`}}
	client := reasoning.New(reasoning.Options{Transport: service.New(service.Options{SLM: slm})})
	intent, err := client.Decide(t.Context(), whole(), reasoning.Unobserved{})
	require.NoError(t, err)
	require.Equal(t, "ollama:small", intent.Model)
	require.Equal(t, []int{100, 10}, []int{intent.PromptTokens, intent.OutputTokens})
	prompt := build(t, whole())
	require.Equal(t, &prompt.Description, intent.Prompt)
	require.Equal(t, prompt.System, slm.asked[0].System)
	require.Equal(t, prompt.User, slm.asked[0].User)
	require.True(t, json.Valid(slm.asked[0].Schema))
}

func TestABadAnswerIsAskedForOnceMore(t *testing.T) {
	t.Parallel()
	slm := &scripted{name: "ollama:small", lines: []string{"I would rather not.", finish}}
	intent, err := service.New(service.Options{SLM: slm}).Decide(t.Context(), whole(), reasoning.Unobserved{})
	require.NoError(t, err)
	require.Equal(t, []int{200, 20}, []int{intent.PromptTokens, intent.OutputTokens})
	require.Contains(t, intent.Repairs[0], "asked once more")
	require.Contains(t, slm.asked[1].User, "I would rather not.")
	require.Contains(t, slm.asked[1].User, "expected a JSON object")
}

func TestAfterTwoBadAnswersTheLargeModelIsAsked(t *testing.T) {
	t.Parallel()
	slm := &scripted{name: "ollama:small", lines: []string{"no", "no"}}
	llm := &scripted{name: "anthropic:large", lines: []string{finish}}
	intent, err := service.New(service.Options{SLM: slm, LLM: llm}).Decide(t.Context(), whole(), reasoning.Unobserved{})
	require.NoError(t, err)
	require.Equal(t, "anthropic:large", intent.Model)
	require.Equal(t, 300, intent.PromptTokens)
	require.Len(t, slm.asked, 2)
}

func TestWhatCannotBeUsedInTheEndIsAnError(t *testing.T) {
	t.Parallel()
	for name, forced := range map[string]bool{"forced": true, "not forced": false} {
		slm := &scripted{name: "ollama:small", lines: []string{"no", "no"}}
		llm := &scripted{name: "anthropic:large", lines: []string{"no", "no"}}
		request := whole()
		if forced {
			request.Policy.Model = reasoning.ModelSLM
		}
		_, err := service.New(service.Options{SLM: slm, LLM: llm}).Decide(t.Context(), request, reasoning.Unobserved{})
		require.ErrorIs(t, err, fault.InvalidIntent, name)
		require.Equal(t, forced, len(llm.asked) == 0, name)
	}
}

func TestWhichModelIsAsked(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*reasoning.Request)
		want   string
	}{
		"small by default": {func(*reasoning.Request) {}, "slm"},
		"forced large":     {func(r *reasoning.Request) { r.Policy.Model = "llm" }, "llm"},
		"forced small":     {func(r *reasoning.Request) { r.Policy.Model, r.Policy.Stuck = "slm", true }, "slm"},
		"stuck":            {func(r *reasoning.Request) { r.Policy.Stuck = true }, "llm"},
		"step 8":           {func(r *reasoning.Request) { r.Step = 8 }, "slm"},
		"step 30":          {func(r *reasoning.Request) { r.Step = 30 }, "slm"},
		"a complex step": {func(r *reasoning.Request) {
			r.Question = &reasoning.Question{StepID: "a", Attempt: 1, Task: "x", Complex: true}
		}, "llm"},
		"a first attempt": {func(r *reasoning.Request) { r.Question = &reasoning.Question{StepID: "a", Attempt: 1, Task: "x"} }, "slm"},
		"another attempt": {func(r *reasoning.Request) { r.Question = &reasoning.Question{StepID: "a", Attempt: 2, Task: "x"} }, "llm"},
		"60 words":        {func(r *reasoning.Request) { r.Goal = strings.Repeat("word ", 60) }, "slm"},
		"61 words":        {func(r *reasoning.Request) { r.Goal = strings.Repeat("word ", 61) }, "llm"},
		"a flagged word":  {func(r *reasoning.Request) { r.Goal = "Review the Architecture." }, "llm"},
	} {
		t.Run(name, func(t *testing.T) {
			slm, llm := &scripted{name: "slm", lines: []string{finish}}, &scripted{name: "llm", lines: []string{finish}}
			request := whole()
			c.change(&request)
			intent, err := service.New(service.Options{SLM: slm, LLM: llm}).Decide(t.Context(), request, reasoning.Unobserved{})
			require.NoError(t, err)
			require.Equal(t, c.want, intent.Model)
		})
	}
}

// Each reason to ask the large model stands in the call that is observed, and work
// of other kinds stays with the small one.
func TestWhyTheLargeModelIsAsked(t *testing.T) {
	t.Parallel()
	goal := func(text string) func(*reasoning.Request) { return func(r *reasoning.Request) { r.Goal = text } }
	patch := func(lines int) string {
		return "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1,2 +1,3 @@ func f\n" + strings.Repeat("+x := 1\n", lines)
	}
	output := func(value any) func(*reasoning.Request) {
		return func(r *reasoning.Request) {
			raw, err := json.Marshal(value)
			require.NoError(t, err)
			r.LastOutput = []reasoning.Outcome{{ToolName: "git.diff", Result: raw}}
		}
	}
	for name, c := range map[string]struct {
		change func(*reasoning.Request)
		why    string
	}{
		"the driver":         {func(r *reasoning.Request) { r.Driver.Complex = true }, "the driver prompt is flagged complex"},
		"a rule":             {func(r *reasoning.Request) { r.Rules = []reasoning.Rule{{Name: "big", Complex: true}} }, "the rule big is flagged complex"},
		"stuck":              {func(r *reasoning.Request) { r.Policy.Stuck = true }, "the last steps repeated themselves"},
		"the person":         {func(r *reasoning.Request) { r.Policy.Model = "llm" }, "it was asked for"},
		"a merge request":    {goal("Please review merge request 7"), "a merge request is to be reviewed"},
		"an MR":              {goal("Reviewing this MR is what I want"), "a merge request is to be reviewed"},
		"my PR":              {goal("my PR needs a review"), "a merge request is to be reviewed"},
		"two files":          {goal("Refactoring a.go and b.go"), "several files are to be reworked"},
		"files":              {goal("rename the type across all packages"), "several files are to be reworked"},
		"a stem":             {goal("Refactored it?"), `the goal says "Refactored"`},
		"another stem":       {goal("Who migrates the data?"), `the goal says "migrates"`},
		"a diff in a result": {output(map[string]any{"files": []any{map[string]any{"patch": patch(501)}}}), "a diff of 501 lines is in the input"},
		"a cut result":       {output(fmt.Sprintf(`{"patch": %q}`, patch(600))), "a diff of 600 lines is in the input"},
		"a diff's counts":    {output(map[string]any{"files": []any{map[string]any{"additions": 400, "deletions": 150, "patch": ""}}}), "a diff of 550 lines is in the input"},
		"a diff in the goal": {goal("What is this?\n" + patch(501)), "a diff of 501 lines is in the input"},

		"a diff of 500":    {output(map[string]any{"patch": patch(500)}), ""},
		"one file":         {goal("rename a function in a.go"), ""},
		"a review":         {goal("Where is the review written?"), ""},
		"words that begin": {goal("Trace the designated professor's racer"), ""},
		"plus signs":       {goal("Why?\n" + strings.Repeat("+ more\n", 20)), ""},
	} {
		t.Run(name, func(t *testing.T) {
			slm, llm := &scripted{name: "slm", lines: []string{finish}}, &scripted{name: "llm", lines: []string{finish}}
			request := whole()
			request.Goal = "Where is it?"
			c.change(&request)
			observed := reasoning.NewObserved(nil)
			_, err := service.New(service.Options{SLM: slm, LLM: llm}).Decide(t.Context(), request, observed)
			require.NoError(t, err)
			calls := observed.Calls()
			require.Len(t, calls, 1)
			require.Equal(t, c.why, calls[0].Switch)
			require.Equal(t, map[bool]string{true: "slm", false: "llm"}[c.why == ""], calls[0].Model)
		})
	}
}

// A switch because of unusable answers is reported together with the calls before it.
func TestEachCallOfAModelIsReported(t *testing.T) {
	t.Parallel()
	slm, llm := &scripted{name: "ollama:s", lines: []string{"no", "no"}}, &scripted{name: "ollama:l", lines: []string{finish}}
	observed := reasoning.NewObserved(nil)
	_, err := service.New(service.Options{SLM: slm, LLM: llm}).Decide(t.Context(), whole(), observed)
	require.NoError(t, err)
	var sent []string
	for _, call := range observed.Calls() {
		switched := ""
		if call.Switch != "" {
			require.Contains(t, call.Switch, "ollama:s", "the model that was asked before")
			switched = "switched"
		}
		sent = append(sent, fmt.Sprint(call.Model, " ", call.Provider(), " ", call.Purpose, " ", call.Retry, " ", switched))
	}
	require.Equal(t, []string{"ollama:s ollama decide 0 ", "ollama:s ollama decide 1 ", "ollama:l ollama decide 2 switched"}, sent)
}

func TestTheOnlyModelThereIs(t *testing.T) {
	t.Parallel()
	only := &scripted{name: "only", lines: []string{finish, finish}}
	request := whole()
	intent, err := service.New(service.Options{LLM: only}).Decide(t.Context(), request, reasoning.Unobserved{})
	require.NoError(t, err)
	require.Equal(t, "only", intent.Model)
	request.Policy.Stuck = true
	intent, err = service.New(service.Options{SLM: only}).Decide(t.Context(), request, reasoning.Unobserved{})
	require.NoError(t, err)
	require.Equal(t, "only", intent.Model)
	for model, variable := range map[string]string{"slm": "SLM_MODEL", "llm": "LLM_MODEL"} {
		request.Policy.Model = model
		_, err = service.New(service.Options{}).Decide(t.Context(), request, reasoning.Unobserved{})
		require.ErrorIs(t, err, fault.ReasoningUnavailable)
		require.Contains(t, err.Error(), variable)
	}
}

func TestAModelThatFailsIsNotReplaced(t *testing.T) {
	t.Parallel()
	slm := &scripted{name: "slm", err: fault.New(fault.ReasoningUnavailable, "it is down")}
	llm := &scripted{name: "llm", lines: []string{finish}}
	_, err := service.New(service.Options{SLM: slm, LLM: llm}).Decide(t.Context(), whole(), reasoning.Unobserved{})
	require.ErrorIs(t, err, slm.err)
	require.Empty(t, llm.asked)
}

// slow never answers.
type slow struct{}

func (slow) Name() string { return "slow" }

func (slow) Generate(ctx context.Context, _ models.Prompt) (models.Reply, error) {
	<-ctx.Done()
	return models.Reply{}, ctx.Err()
}

func TestASlowModelIsNotWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inside := service.New(service.Options{SLM: slow{}, Timeout: time.Minute})
		_, err := inside.Decide(t.Context(), whole(), reasoning.Unobserved{})
		require.ErrorIs(t, err, fault.ReasoningUnavailable)
		require.ErrorContains(t, err, "slow", "the model")
		require.ErrorContains(t, err, "1m0s", "the timeout")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = inside.Decide(ctx, whole(), reasoning.Unobserved{})
		require.ErrorIs(t, err, context.DeadlineExceeded)
	})
}
