package think_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/test/statetest"
	"savant/think"
	"savant/think/audit"
	static "savant/think/check"
	"savant/think/flow"
	"savant/think/library"
	"savant/think/state"
)

// A run behind an engine gives the same replies in another engine over another
// store, and where two engines over one store take turns; its record replays
// identically; a new engine over the same store stands where the first did;
// forks and resets come out at the recorded hashes. Wherever a run stands it can be
// cancelled, unless it has ended, and then only a fork goes on.
func TestEnginesAgree(t *testing.T) {
	t.Parallel()
	check(t, 300, func(t *rapid.T) {
		g := generate(t, false)
		if len(static.Graph(g.compile(t), nil, nil).Errors) > 0 {
			return // think.plan refuses it
		}
		client := respond{seed: rapid.Uint64().Draw(t, "seed"), failures: true}
		store := statetest.NewMemory()
		here := newSession(t, g, client, store)
		replies := here.drive()
		require.Equal(t, replies, newSession(t, g, client, statetest.NewMemory()).drive(), "%s", g)
		shared := statetest.NewMemory()
		turns := newSession(t, g, client, shared)
		turns.partner = newSession(t, g, client, shared).engine
		require.Equal(t, replies, turns.drive(), "%s", g)
		for _, reply := range replies {
			checkSize(t, "next ", json.RawMessage(reply))
		}
		other := newSession(t, g, client, store)
		require.Equal(t, here.plan(), other.plan(), "%s", g)
		got, err := other.engine.StateGet(t.Context(), think.StateGetInput{Workflow: "main", RunID: "r"})
		require.NoError(t, err)
		other.replays("r")
		other.returnsTo(got)
		other.cancels(newSession(t, g, client, store))
	})
}

// session is an engine that drives one generated run.
type session struct {
	t      *rapid.T
	g      generated
	client respond
	engine *think.Engine
	// partner, where there is one, takes some of the turns over the same store.
	partner *think.Engine
}

func newSession(t *rapid.T, g generated, client respond, store state.Storage) *session {
	files := fstest.MapFS{}
	for name, text := range g.files {
		files["workflows/"+name+".yaml"] = &fstest.MapFile{Data: []byte(text)}
	}
	engine := think.New(think.Options{Library: library.New(library.Layer{Files: files}), Store: store,
		Now: func() time.Time { return time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC) }, NewID: func() string { return "fresh" }})
	t.Cleanup(engine.Close)
	return &session{t: t, g: g, client: client, engine: engine}
}

// wire is a reply as the client has it.
func (s *session) wire(reply *think.Reply, err error) string {
	var value any = reply
	if err != nil {
		value = fault.From(err)
	}
	data, err := jsonvalue.Encode(value)
	require.NoError(s.t, err)
	return string(data)
}

func (s *session) plan() string {
	params := map[string]any{}
	for name, value := range s.g.params {
		params[name] = value
	}
	return s.wire(s.engine.Plan(s.t.Context(), think.PlanInput{Workflow: "main", RunID: "r", Params: params}))
}

// drive answers the first instruction until there is none, each answer twice.
func (s *session) drive() []string {
	replies := []string{s.plan()}
	for {
		next := s.outstanding()
		if next == nil {
			return replies
		}
		give := s.give(next)
		reply := give()
		require.Equal(s.t, reply, give(), "the same answer again")
		replies = append(replies, reply)
		if s.partner != nil && rapid.Bool().Draw(s.t, "the partner is next") {
			s.engine, s.partner = s.partner, s.engine
		}
	}
}

// outstanding returns the instruction that waits first, if any does.
func (s *session) outstanding() *flow.Instruction {
	out, err := audit.New(s.engine).Debug(s.t.Context(), audit.DebugInput{Workflow: "main", RunID: "r", Action: "step"})
	require.NoError(s.t, err)
	if len(out.Next) == 0 || out.Snapshot.Status == flow.Blocked {
		return nil
	}
	first := out.Next[0]
	return &flow.Instruction{StepID: first.StepID, Call: first.Call, Attempt: first.Attempt}
}

func (s *session) give(next *flow.Instruction) func() string {
	result := s.client.answer(next.StepID, next.Attempt, next.Call)
	if next.Call == flow.CallApprove {
		list, err := s.engine.Pending(s.t.Context(), "main", "r")
		require.NoError(s.t, err)
		digest := ""
		for _, each := range list {
			if each.StepID == next.StepID {
				digest = each.Digest
			}
		}
		return func() string {
			return s.wire(s.engine.Approve(s.t.Context(), think.Pending{Workflow: "main", RunID: "r", StepID: next.StepID, Digest: digest}, result, think.Caller{Name: think.ByTerminal}))
		}
	}
	data, err := jsonvalue.Encode(result)
	require.NoError(s.t, err)
	in := think.NextInput{Workflow: "main", RunID: "r", StepID: next.StepID, Attempt: next.Attempt, ResultSnapshot: data}
	return func() string { return s.wire(s.engine.Next(s.t.Context(), in)) }
}

func (s *session) replays(run string) {
	out, err := audit.New(s.engine).Debug(context.Background(), audit.DebugInput{Workflow: "main", RunID: run, Action: "replay"})
	require.NoError(s.t, err)
	require.Equal(s.t, "identical", out.Verdict, "%v\n%s", out.Difference, s.g)
}

// returnsTo forks the run from one of its states, and resets it to another.
func (s *session) returnsTo(got *think.StateGet) {
	version := rapid.IntRange(1, len(got.History)).Draw(s.t, "version")
	people := false
	for _, event := range got.History[:version] {
		people = people || event.Kind == "person"
	}
	name := fmt.Sprintf("v%d", version)
	if !people {
		_, err := audit.New(s.engine).Debug(s.t.Context(), audit.DebugInput{Workflow: "main", RunID: "r", Action: "fork", FromStep: name, NewRunID: "forked"})
		if err != nil {
			require.Equal(s.t, got.History[version-1].Refused, fault.From(err).Code)
		}
		require.Equal(s.t, got.History[version-1].Hash, s.hash("forked"))
		s.replays("forked")
	}
	_, err := s.engine.Reset(s.t.Context(), think.ResetInput{Workflow: "main", RunID: "r", Checkpoint: name, Force: true})
	require.NoError(s.t, err)
	require.Equal(s.t, got.History[version-1].Hash, s.hash("r"))
	s.replays("r")
}

// cancels cancels the run where it stands, and looks at it in another engine.
func (s *session) cancels(again *session) {
	before, err := s.engine.StateGet(s.t.Context(), think.StateGetInput{Workflow: "main", RunID: "r"})
	require.NoError(s.t, err)
	next := s.outstanding()
	by := flow.Cancellation{By: "ada", Reason: "enough"}
	_, err = s.engine.Cancel(s.t.Context(), think.CancelInput{Workflow: "main", RunID: "r", Cancellation: by})
	if over := before.Snapshot.Status; over == flow.Done || over == flow.Failed {
		require.ErrorIs(s.t, err, fault.InvalidTransition)
		return
	}
	require.NoError(s.t, err)
	s.replays("r")
	require.Equal(s.t, s.hash("r"), again.hash("r"))
	got, err := again.engine.StateGet(s.t.Context(), think.StateGetInput{Workflow: "main", RunID: "r"})
	require.NoError(s.t, err)
	require.Equal(s.t, flow.Cancelled, got.Snapshot.Status)
	require.Equal(s.t, &by, got.Snapshot.Cancelled)
	require.Empty(s.t, got.Outstanding)
	for _, step := range got.Snapshot.Steps {
		require.Contains(s.t, []flow.Status{flow.Done, flow.Failed, flow.Skipped}, step.Status, step.ID)
	}
	if next != nil && next.Call != flow.CallApprove {
		require.Contains(s.t, again.give(next)(), `"error":"RUN_CANCELLED"`)
	}
	_, err = again.engine.Reset(s.t.Context(), think.ResetInput{Workflow: "main", RunID: "r", Checkpoint: "start", Force: true})
	require.ErrorIs(s.t, err, fault.RunCancelled)
	out, err := audit.New(again.engine).Debug(s.t.Context(), audit.DebugInput{Workflow: "main", RunID: "r", Action: "fork", NewRunID: "again"})
	if err == nil {
		require.NotEqual(s.t, flow.Cancelled, out.Reply.State.Status)
	}
	again.replays("again")
}

func (s *session) hash(run string) string {
	got, err := s.engine.StateGet(s.t.Context(), think.StateGetInput{Workflow: "main", RunID: run})
	require.NoError(s.t, err)
	return got.Snapshot.Hash
}
