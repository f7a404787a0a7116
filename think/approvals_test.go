package think_test

import (
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"savant/engines"
	"savant/fault"
	"savant/think"
	"savant/think/audit"
	"savant/think/flow"
	"savant/think/library"
	"savant/think/state"
)

const twoPersons = `name: two
version: "1.0"
steps:
  - {id: sure, call: human.approve, input_template: {message: "Go on?"}, approvers: [anna, ben, local], count: 2, remind_after: 10m, escalate_after: 1h, capture_as: sure}
  - {id: last, call: llm.generate, input_template: {task: go on}}
`

const manyCalls = `name: many
version: "1.0"
steps:
  - {id: sure, call: human.approve, input_template: {message: "Go on?"}, scope: {call: pay.refund, at_most: 10000}}
  - {id: last, call: llm.generate, input_template: {task: go on}}
`

// openApprovals is an engine over a folder, whose clock is set.
func openApprovals(t *testing.T, folder string, at *clock) (*think.Engine, *state.Dir) {
	store, err := state.Open(folder, state.Options{Now: at.now})
	require.NoError(t, err)
	engine := think.New(think.Options{Library: library.New(library.Layer{Files: fstest.MapFS{"workflows/two.yml": {Data: []byte(twoPersons)}, "workflows/many.yml": {Data: []byte(manyCalls)}, "workflows/paid.yml": {Data: []byte(oneParameter)}}}), Store: store, Now: at.now, Imports: store})
	t.Cleanup(func() { engine.Close(); _ = store.Close() })
	return engine, store
}

func TestTwoDifferentPersonsHaveToAgree(t *testing.T) {
	at, folder := &clock{at: time.Unix(1000, 0)}, t.TempDir()
	engine, store := openApprovals(t, folder, at)
	_, err := engine.Plan(t.Context(), think.PlanInput{Workflow: "two", RunID: "r1"})
	require.NoError(t, err)
	pending := func(e *think.Engine) think.Pending {
		all, err := e.Pending(t.Context(), "two", "r1")
		require.NoError(t, err)
		require.Len(t, all, 1)
		return all[0]
	}
	yes := func(by string) error {
		_, err := engine.Approve(t.Context(), pending(engine), map[string]any{"approved": true}, think.Caller{Name: by})
		return err
	}
	require.ErrorIs(t, yes("carl"), fault.ApprovalRequired, "he is no approver")
	require.NoError(t, yes("anna"))
	require.ErrorIs(t, yes("anna"), fault.ApprovalRequired, "the same person counts once")
	require.Equal(t, []string{"anna"}, pending(engine).Agreed)
	require.Empty(t, pending(engine).Due)
	at.move(10 * time.Minute)
	require.Equal(t, "remind", pending(engine).Due)
	at.move(50 * time.Minute)
	require.Equal(t, "escalate", pending(engine).Due)
	explained, err := engine.Explain(t.Context(), think.ExplainInput{Workflow: "two", RunID: "r1", StepID: "sure"})
	require.NoError(t, err)
	require.Contains(t, explained.Why, flow.Condition{Kind: "approval", Message: "2 of anna, ben, local must answer; agreed: anna"})

	again, _ := openApprovals(t, folder, at) // another process reads it from the records
	require.Equal(t, []string{"anna"}, pending(again).Agreed)
	_, err = again.Approve(t.Context(), pending(again), map[string]any{"approved": true}, think.Caller{Name: "anna"})
	require.ErrorIs(t, err, fault.ApprovalRequired)
	reply, err := again.Approve(t.Context(), pending(again), map[string]any{"approved": true}, think.Caller{Name: think.ByHub})
	require.NoError(t, err)
	require.Equal(t, "last", reply.Instruction.StepID)

	records, err := store.Records(t.Context(), state.Key{Workflow: "two", Run: "r1"}, 0, 0)
	require.NoError(t, err)
	_, found, err := audit.New(again).Verify(t.Context(), state.Key{Workflow: "two", Run: "r1"}, records)
	require.NoError(t, err)
	require.Nil(t, found)
}

// The terminal, the hub without a token and a client on this machine have one person.
func TestWhoeverSitsAtThisMachineIsOnePerson(t *testing.T) {
	engine, _ := openApprovals(t, t.TempDir(), &clock{at: time.Unix(1000, 0)})
	_, err := engine.Plan(t.Context(), think.PlanInput{Workflow: "two", RunID: "r1"})
	require.NoError(t, err)
	all, err := engine.Pending(t.Context(), "two", "r1")
	require.NoError(t, err)
	_, err = engine.Approve(t.Context(), all[0], map[string]any{"approved": true}, think.Caller{Name: think.ByTerminal})
	require.NoError(t, err)
	for _, other := range []string{think.ByHub, think.ByLocal, ""} {
		_, err = engine.Approve(t.Context(), all[0], map[string]any{"approved": true}, think.Caller{Name: other})
		require.ErrorIs(t, err, fault.ApprovalRequired)
	}
	_, err = engine.Approve(t.Context(), all[0], map[string]any{"approved": false}, think.Caller{Name: think.ByHub})
	require.NoError(t, err, "whoever agreed may still decline")
	explained, err := engine.Explain(t.Context(), think.ExplainInput{Workflow: "two", RunID: "r1", StepID: "sure"})
	require.NoError(t, err)
	require.Equal(t, flow.Failed, explained.Status)
}

// A client whose person may not answer, or agreed already, is not asked by a form.
func TestAFormIsForThoseWhoMayAnswer(t *testing.T) {
	engine, _ := openApprovals(t, t.TempDir(), &clock{at: time.Unix(1000, 0)})
	for name, asked := range map[string]int{"carl": 0, "anna": 1} {
		client := &person{answers: []engines.Answer{{Action: "accept", Content: []byte(`{"approved":true}`)}, {Action: "accept", Content: []byte(`{"approved":true}`)}}}
		caller := client.caller()
		caller.Name = name
		reply, err := engine.Plan(t.Context(), think.PlanInput{Workflow: "two", RunID: name, Caller: caller})
		require.NoError(t, err)
		require.Equal(t, flow.Waiting, reply.State.Status)
		require.Len(t, client.asked, asked, name)
	}
}

// TestManyUsesOfAnApprovalAreVerified reads each use once: twice as many need twice the work.
func TestManyUsesOfAnApprovalAreVerified(t *testing.T) {
	engine, store := openApprovals(t, t.TempDir(), &clock{at: time.Unix(1000, 0)})
	_, err := engine.Plan(t.Context(), think.PlanInput{Workflow: "many", RunID: "r1"})
	require.NoError(t, err)
	all, err := engine.Pending(t.Context(), "many", "r1")
	require.NoError(t, err)
	_, err = engine.Approve(t.Context(), all[0], map[string]any{"approved": true}, think.Caller{Name: think.ByTerminal})
	require.NoError(t, err)
	given, err := engine.ScopedApprovals(t.Context(), "many", "r1")
	require.NoError(t, err)
	key, work := state.Key{Workflow: "many", Run: "r1"}, []float64{}
	for range 3 {
		for i := range 100 {
			require.NoError(t, engine.Use(t.Context(), given[0], think.ScopedCall{Tool: "pay.refund", Input: map[string]any{"n": i}, Driven: true}, think.Caller{}))
		}
		records, err := store.Records(t.Context(), key, 0, 0)
		require.NoError(t, err)
		work = append(work, testing.AllocsPerRun(1, func() {
			_, found, err := audit.New(engine).Verify(t.Context(), key, records)
			require.NoError(t, err)
			require.Nil(t, found)
		}))
	}
	require.Less(t, work[2]-work[1], 1.5*(work[1]-work[0]))
}

const oneParameter = `name: paid
version: "1.0"
params: {sum: {type: integer, required: true}, note: {type: string, default: none}}
steps:
  - {id: sure, call: human.approve, input_template: {message: "Pay {{params.sum}}?"}}
`

// TestACallResumesItsOwnRun: what a call brings may name any run, but the call goes on with none
// that it could not have begun, and gives no new run a name.
func TestACallResumesItsOwnRun(t *testing.T) {
	engine, store := openApprovals(t, t.TempDir(), &clock{at: time.Unix(1000, 0)})
	for _, each := range []think.PlanInput{{Workflow: "paid", RunID: "r.1", Params: map[string]any{"sum": 5}}, {Workflow: "two", RunID: "other"}} {
		_, err := engine.Plan(t.Context(), each)
		require.NoError(t, err)
	}
	for name, each := range map[string]struct {
		in      think.PlanInput
		resumes bool
		refused error
	}{
		"the same":            {think.PlanInput{Resumes: "r.1", Params: map[string]any{"sum": "5"}}, true, nil},
		"a person gave it":    {think.PlanInput{Resumes: "r.1"}, true, nil},
		"other parameters":    {think.PlanInput{Resumes: "r.1", Params: map[string]any{"sum": 6}}, false, fault.StateConflict},
		"other by default":    {think.PlanInput{Resumes: "r.1", Params: map[string]any{"note": "x"}}, false, fault.StateConflict},
		"named, others":       {think.PlanInput{RunID: "r.1", Resumes: "other", Params: map[string]any{"sum": 6}}, false, fault.StateConflict},
		"another workflow's":  {think.PlanInput{Resumes: "other", Params: map[string]any{"sum": 7}}, false, nil},
		"gone":                {think.PlanInput{Resumes: "gone", Params: map[string]any{"sum": 7}}, false, nil},
		"no name":             {think.PlanInput{Resumes: "../paid/r.1", Params: map[string]any{"sum": 7}}, false, nil},
		"long, and no name":   {think.PlanInput{Resumes: strings.Repeat("a", 10_000), Params: map[string]any{"sum": 7}}, false, nil},
		"letters, other case": {think.PlanInput{Resumes: "R.1", Params: map[string]any{"sum": 7}}, false, nil},
	} {
		each.in.Workflow = "paid"
		reply, err := engine.Plan(t.Context(), each.in)
		require.ErrorIs(t, err, each.refused, name)
		if err == nil {
			require.Equal(t, each.resumes, reply.State.RunID == "r.1", name)
			require.NotContains(t, []string{"other", "gone", "R.1"}, reply.State.RunID, name)
		}
	}
	_, err := store.Records(t.Context(), state.Key{Workflow: "paid", Run: "gone"}, 0, 0)
	require.ErrorIs(t, err, fault.UnknownRun)
}
