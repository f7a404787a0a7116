package flow_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/think/flow"
)

// TestWhatAToolSaidOfItsFailureIsShown: the tool's own code and words, and no
// attempt more where it says that none would help.
func TestWhatAToolSaidOfItsFailureIsShown(t *testing.T) {
	failed := func(text string) string {
		return `{"isError": true, "content": [{"type": "text", "text": ` + text + `}]}`
	}
	workflow, err := flow.Parse("w.yaml", []byte("name: w\nversion: '1'\nsteps: [{id: a, call: s.tool, retry: {max: 1}}]"), noSchemas(t))
	require.NoError(t, err)
	graph, err := flow.Compile(workflow, nil, flow.CurrentEdition)
	require.NoError(t, err)
	for name, c := range map[string]struct {
		result, details string
		again           bool
	}{
		"text":       {failed(`"no such file"`), "the tool failed: no such file", true},
		"coded":      {failed(`"{\"error\": \"ENGINE_OFFLINE\", \"details\": \"it is down\"}"`), "ENGINE_OFFLINE: it is down", true},
		"the same":   {failed(`"{\"error\": \"TOOL_FAILED\", \"details\": \"no head\"}"`), "no head", true},
		"structured": {`{"isError": true, "structuredContent": {"error": "INTERNAL", "details": "inside"}, "content": []}`, "INTERNAL: inside", true},
		"no code":    {failed(`"{\"error\": \"it broke\", \"details\": \"x\"}"`), `the tool failed: {"error": "it broke", "details": "x"}`, true},
		"hopeless":   {failed(`"{\"error\": \"INVALID_PARAMS\", \"details\": \"limit\", \"retry\": false}"`), "INVALID_PARAMS: limit", false},
		"hopeful":    {failed(`"{\"error\": \"INVALID_PARAMS\", \"details\": \"limit\", \"retry\": true}"`), "INVALID_PARAMS: limit", true},
	} {
		t.Run(name, func(t *testing.T) {
			run, _ := graph.Start("r", map[string]any{}, flow.Terms{PlainFailures: true})
			result, err := jsonvalue.Decode([]byte(c.result))
			require.NoError(t, err)
			step, err := run.View().Step("a")
			require.NoError(t, err)
			out, err := run.Settle(step, flow.Answer{Result: result})
			require.NoError(t, err)
			require.Equal(t, c.again, len(out.Instructions) > 0)
			if !c.again {
				require.Nil(t, out.Rejected, "nothing is left to be tried")
				require.Equal(t, c.details, out.Final.Failed[0].Details)
				return
			}
			require.Equal(t, fault.ToolFailed, out.Rejected.Code)
			require.Equal(t, c.details, out.Rejected.Details)
		})
	}
}

// The error of a tool is a failed call in each form in which it is handed in by value, and
// not where the step's own schema takes it for a result. A run that an earlier version
// planned takes it for a value, as it did.
func TestTheErrorOfAToolIsNoResult(t *testing.T) {
	lost := `{"error":"ENGINE_OFFLINE","details":"lost","diagnostics":[],"outcome":"unknown"}`
	quoted, err := json.Marshal(lost)
	require.NoError(t, err)
	block := `[{"type":"text","text":` + string(quoted) + `}]`
	for name, c := range map[string]struct {
		result, step string
		terms        flow.Terms
		status       flow.Status
		outcome      string
	}{
		"structured":                {lost, "", flow.CurrentTerms(), flow.Issued, flow.OutcomeUnknown},
		"its text":                  {string(quoted), "", flow.CurrentTerms(), flow.Issued, flow.OutcomeUnknown},
		"the bare list of content":  {block, "", flow.CurrentTerms(), flow.Issued, flow.OutcomeUnknown},
		"a reply without isError":   {`{"content":` + block + `}`, "", flow.CurrentTerms(), flow.Issued, flow.OutcomeUnknown},
		"structured in a reply":     {`{"content":[],"structuredContent":` + lost + `}`, "", flow.CurrentTerms(), flow.Issued, flow.OutcomeUnknown},
		"a whole reply":             {`{"isError":true,"content":` + block + `}`, "", flow.CurrentTerms(), flow.Issued, flow.OutcomeUnknown},
		"a schema that refuses it":  {lost, ", success_schema: {type: object, required: [id]}", flow.CurrentTerms(), flow.Issued, flow.OutcomeUnknown},
		"a schema that takes it":    {lost, ", success_schema: {type: object, required: [error]}", flow.CurrentTerms(), flow.Done, ""},
		"members beside isError":    {`{"isError":true,"duration":3,"content":[{"type":"text","text":"died"}]}`, "", flow.CurrentTerms(), flow.Issued, ""},
		"a fault beside isError":    {`{"isError":true,"error":"ENGINE_OFFLINE","details":"lost","outcome":"unknown"}`, "", flow.CurrentTerms(), flow.Issued, flow.OutcomeUnknown},
		"an earlier run's isError":  {`{"isError":true,"duration":3}`, "", flow.Terms{PlainFailures: true, BareFaults: true}, flow.Done, ""},
		"isError that a schema has": {`{"isError":true,"line":7}`, ", success_schema: {type: object, required: [line]}", flow.CurrentTerms(), flow.Done, ""},
		"isError that is false":     {`{"isError":false,"line":7}`, "", flow.CurrentTerms(), flow.Done, ""},
		"another failure":           {`{"error":"TOOL_FAILED","details":"boom"}`, "", flow.CurrentTerms(), flow.Issued, ""},
		"data that has an error":    {`{"error":"TOOL_FAILED","details":"boom","line":7}`, "", flow.CurrentTerms(), flow.Done, ""},
		"an error that has no code": {`{"error":"it broke","details":"boom"}`, "", flow.CurrentTerms(), flow.Done, ""},
		"an earlier run":            {lost, "", flow.Terms{PlainFailures: true, HoldUnknown: true}, flow.Done, ""},
	} {
		workflow, err := flow.Parse("w.yaml", []byte("name: w\nversion: \"1\"\nsteps: [{id: a, call: m.pay, effect: write"+c.step+"}]\n"), noSchemas(t))
		require.NoError(t, err)
		graph, err := flow.Compile(workflow, nil, flow.CurrentEdition)
		require.NoError(t, err)
		run, _ := graph.Start("r", map[string]any{}, c.terms)
		result, err := jsonvalue.Decode([]byte(c.result))
		require.NoError(t, err)
		step, err := run.View().Step("a")
		require.NoError(t, err)
		out, err := run.Settle(step, flow.Answer{Result: result})
		require.NoError(t, err)
		for each := range run.View().Steps() {
			require.Equal(t, c.status, each.Status, name)
		}
		if c.status == flow.Issued {
			require.Equal(t, c.outcome, out.Instructions[0].Outcome, name)
		}
	}
}

// A run that an earlier version planned issues a lost call again, as it did; a new one
// waits to be told what happened.
func TestAnUnknownOutcomeIsHeldByTheTermsOfTheRun(t *testing.T) {
	workflow, err := flow.Parse("w.yaml", []byte("name: w\nversion: \"1\"\nsteps: [{id: a, call: m.pay, effect: write}]\n"), noSchemas(t))
	require.NoError(t, err)
	graph, err := flow.Compile(workflow, nil, flow.CurrentEdition)
	require.NoError(t, err)
	for _, holds := range []bool{false, true} {
		run, _ := graph.Start("r", map[string]any{}, flow.Terms{PlainFailures: true, HoldUnknown: holds})
		result, err := jsonvalue.Decode([]byte(`{"isError":true,"content":[{"type":"text","text":"{\"error\":\"ENGINE_OFFLINE\",\"details\":\"lost\",\"outcome\":\"unknown\"}"}]}`))
		require.NoError(t, err)
		step, err := run.View().Step("a")
		require.NoError(t, err)
		out, err := run.Settle(step, flow.Answer{Result: result})
		require.NoError(t, err)
		require.Equal(t, holds, out.Instructions[0].Outcome == flow.OutcomeUnknown)
		require.Equal(t, 2, out.Instructions[0].Attempt)
	}
}

// A run that an earlier version planned reads of a result what it read then.
func TestResourcesAreReadByTheTermsOfTheRun(t *testing.T) {
	workflow, err := flow.Parse("w.yaml", []byte("name: w\nversion: \"1\"\nsteps: [{id: a, call: m.read, capture_as: a}]\noutputs: {a: \"{{ a }}\"}\n"), noSchemas(t))
	require.NoError(t, err)
	graph, err := flow.Compile(workflow, nil, flow.CurrentEdition)
	require.NoError(t, err)
	for _, c := range []struct {
		terms flow.Terms
		text  string
	}{{flow.Terms{PlainFailures: true, BoundValues: true}, ""}, {flow.CurrentTerms(), "its text"}} {
		run, _ := graph.Start("r", map[string]any{}, c.terms)
		step, err := run.View().Step("a")
		require.NoError(t, err)
		result, err := jsonvalue.Decode([]byte(`{"content":[{"type":"resource","resource":{"uri":"file:///a","text":"its text"}}]}`))
		require.NoError(t, err)
		out, err := run.Settle(step, flow.Answer{Result: result})
		require.NoError(t, err)
		require.Equal(t, map[string]any{"a": map[string]any{"text": c.text}}, out.Final.Outputs)
	}
}

// A run whose values an earlier version took goes on; a new one is blocked.
func TestValuesAreBoundedByTheTermsOfTheRun(t *testing.T) {
	workflow, err := flow.Parse("w.yaml", []byte("name: w\nversion: \"1\"\nlimits: {items: 200}\nsteps:\n  - {id: a, call: flow.set, foreach: 1..200, input_template: {value: \"{{ repeat('0123456789', 70000) }}\"}}\n"), noSchemas(t))
	require.NoError(t, err)
	graph, err := flow.Compile(workflow, nil, flow.CurrentEdition)
	require.NoError(t, err)
	for _, bounds := range []bool{false, true} {
		terms := flow.CurrentTerms()
		terms.BoundValues = bounds
		_, out := graph.Start("r", map[string]any{}, terms)
		require.Equal(t, bounds, out.Blocked != nil)
	}
}

// A result that somebody states and that does not fit is asked for again: the call was done,
// however often its result is mistyped. A run of an earlier version fails, as it did.
func TestAStatementThatDoesNotFitUsesNoAttemptUp(t *testing.T) {
	workflow, err := flow.Parse("w.yaml", []byte("name: w\nversion: \"1\"\nsteps: [{id: a, call: m.pay, effect: write, retry: {max: 0}, success_schema: {type: object, required: [id]}}]\n"), noSchemas(t))
	require.NoError(t, err)
	graph, err := flow.Compile(workflow, nil, flow.CurrentEdition)
	require.NoError(t, err)
	for _, spares := range []bool{false, true} {
		terms := flow.CurrentTerms()
		terms.SpareStatements = spares
		run, _ := graph.Start("r", map[string]any{}, terms)
		step, err := run.View().Step("a")
		require.NoError(t, err)
		answers := []string{`{"isError":true,"content":[{"type":"text","text":"{\"error\":\"ENGINE_OFFLINE\",\"details\":\"lost\",\"outcome\":\"unknown\"}"}]}`, `{"unknown_outcome":"done","result":{"number":7}}`}
		if spares {
			answers = append(answers, `{"unknown_outcome":"done","result":{"isError":true,"content":[]}}`, `{"unknown_outcome":"not_done"}`, answers[0], answers[1], `{"unknown_outcome":"done","result":{"id":7}}`)
		}
		for i, answer := range answers {
			result, err := jsonvalue.Decode([]byte(answer))
			require.NoError(t, err)
			out, err := run.Settle(step, flow.Answer{Result: result})
			require.NoError(t, err)
			require.Equal(t, i == len(answers)-1, out.Final != nil, answer)
			if out.Final != nil {
				require.Equal(t, spares, out.Final.Outcome == "done")
			}
		}
	}
}
