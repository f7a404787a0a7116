package planner_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/reasoning"
	"savant/reasoning/planner"
)

// past is a tool that lists commits, as Savant has it.
var past = reasoning.Tool{Name: "git.log", Description: "Lists commits.", ReadOnly: true, InputSchema: json.RawMessage(
	`{"type":"object","properties":{"limit":{"type":"integer"},"since":{"type":"string"},"from":{"type":"string"},
	"paths":{"type":"array"},"files":{"type":"boolean"},"authors":{"type":"boolean"}}}`)}

// A question about the past goes to the commits: the right ones, and no search.
func TestAQuestionAboutThePastListsCommits(t *testing.T) {
	for goal, args := range map[string]string{
		"What changed in the last three commits?":        `{"limit":3,"files":true}`,
		"Please show me the last 5 commits":              `{"limit":5,"files":true}`,
		"What changed last week?":                        `{"limit":50,"since":"2026-11-15T10:00:00Z","files":true}`,
		"What has changed since 2026-10-01?":             `{"limit":50,"since":"2026-10-01T00:00:00Z","files":true}`,
		"what's new since v1.2.0?":                       `{"limit":50,"from":"v1.2.0","files":true}`,
		"What happened yesterday?":                       `{"limit":50,"since":"2026-11-21T00:00:00Z","files":true}`,
		"Who wrote most of the commits?":                 `{"limit":20,"files":false,"authors":true}`,
		"Who changed docs/state.md?":                     `{"limit":20,"paths":["docs/state.md"],"files":false,"authors":true}`,
		"Who has contributed over the past two months?":  `{"limit":50,"since":"2026-09-22T10:00:00Z","files":false,"authors":true}`,
		"When was internal/redact last changed?":         `{"limit":50,"paths":["internal/redact"],"files":false}`,
		"Could you list the latest changes in README.md": `{"limit":20,"paths":["README.md"],"files":true}`,
	} {
		intent := planner.Plan(reasoning.Request{Goal: goal, Step: 1, Tools: append(offered[:2:2], past)}, asked)
		require.Equal(t, "git.log", intent.ToolName, goal)
		require.JSONEq(t, args, string(intent.Args), goal)
	}
}

// Words about commits do not make a question one about the past.
func TestAQuestionAboutCodeIsSearched(t *testing.T) {
	for _, goal := range []string{"Where are commits parsed?", "How does the engine of git read the author?", "What changes the state hash?",
		"When does a run end?", "Who calls receiveAll?", "How do I add my own engine?", "Why was the journal chosen?"} {
		intent := planner.Plan(reasoning.Request{Goal: goal, Step: 1, Tools: append(offered[:2:2], past)}, asked)
		require.Equal(t, reasoning.ActionTool, intent.Action, goal)
		for _, call := range intent.AllCalls() {
			require.Equal(t, "context.search", call.ToolName, goal)
		}
	}
}

// The part of the project that a question about the past names by a word is found by a
// search first.
func TestAQuestionAboutThePastOfAPart(t *testing.T) {
	request := reasoning.Request{Goal: "What changed in the indexer last week?", Step: 1, Tools: append(offered[:2:2], past)}
	first := planner.Plan(request, asked)
	require.Equal(t, "context.search", first.ToolName)
	request.Step, request.LastOutput = 2, []reasoning.Outcome{{ToolName: first.ToolName, Args: first.Args,
		Result: json.RawMessage(`{"rows":[{"path":"indexer/index.go","line":1,"snippet":"// Package indexer finds text.","score":2}]}`)}}
	second := planner.Plan(request, asked)
	require.JSONEq(t, `{"limit":50,"since":"2026-11-15T10:00:00Z","paths":["indexer"],"files":true}`, string(second.Args))
}

func TestTheCommitsAreReported(t *testing.T) {
	commits := `{"commits":[{"short":"b2","author":"Ada","date":"2026-11-21T10:00:00Z","subject":"Mend the loop","files":["loop.go"]},
		{"short":"a1","author":"Bob","date":"2026-11-20T10:00:00Z","subject":"Begin"}],"truncated":false%s}`
	for _, c := range []struct{ goal, more, text string }{
		{"What changed last week?", "", "   > b2 2026-11-21 Ada: Mend the loop\n     changes loop.go\n   > a1 2026-11-20 Bob: Begin"},
		{"Who wrote most of the commits?", `,"authors":[{"name":"Bob","commits":40},{"name":"Ada","commits":2}]`, "Bob made the most, counted over all commits:\n\n   > 40: Bob\n   > 2: Ada"},
		{"Who changed loop.go?", `,"authors":[{"name":"Ada","commits":1}]`, "counted over all commits"},
		{"When was loop.go changed?", "", "Last changed 2026-11-21T10:00:00Z by Ada: b2 Mend the loop\nFirst commit 2026-11-20T10:00:00Z by Bob: a1 Begin"},
		{"When was the first commit made?", `,"truncated":true`, "by Ada: b2 Mend the loop\nThe first commit was not looked for: these are the newest 2.\n"},
	} {
		outcome := reasoning.Outcome{ToolName: "git.log", Args: json.RawMessage(`{}`), Result: json.RawMessage(fmt.Sprintf(commits, c.more))}
		intent := planner.Plan(reasoning.Request{Goal: c.goal, Step: 2, Tools: []reasoning.Tool{past}, LastOutput: []reasoning.Outcome{outcome}}, asked)
		require.Contains(t, intent.Final, c.text, c.goal)
	}
}

// A goal that asks for a change is refused without a call.
func TestAChangeIsRefused(t *testing.T) {
	for _, goal := range []string{"Fix the typo in README.md", "please rename receiveAll", "Could you add a test?", "Write release notes"} {
		intent := planner.Plan(reasoning.Request{Goal: goal, Step: 1, Tools: offered}, asked)
		require.Contains(t, intent.Final, "Nothing was changed", goal)
		require.Equal(t, reasoning.ActionError, intent.Action, goal)
	}
}

// If nothing matches, the answer says so and lists the words that were not found.
func TestNothingFits(t *testing.T) {
	w := newWorld(t, small)
	_, final := pursue(t, w, reasoning.Request{Goal: "Warum schläft walkFiles manchmal?", Tools: offered})
	require.Regexp(t, `^Not found: .*"manchmal"`, final)
	require.Contains(t, final, "Nothing fits")
	_, final = pursue(t, w, reasoning.Request{Goal: "How does the indexer build?", Tools: offered})
	require.Contains(t, final, "Found for")
}
