package guide_test

import (
	"context"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"savant/engines"
	"savant/engines/guide"
	"savant/fault"
	"savant/test/statetest"
	"savant/think"
	"savant/think/library"
	"savant/think/state"
)

// looks counts how often a store is asked where a run stands, or for its records.
type looks struct {
	state.Storage
	count int
}

func (l *looks) Head(ctx context.Context, key state.Key) (int, string, error) {
	l.count++
	return l.Storage.Head(ctx, key)
}

func (l *looks) Records(ctx context.Context, key state.Key, after, limit int) ([]state.Record, error) {
	l.count++
	return l.Storage.Records(ctx, key, after, limit)
}

// announcements are the steps whose answers a hook saw.
type announcements struct{ steps []string }

// Probed implements guide.Announcements.
func (*announcements) Probed(context.Context, string, string) (bool, error) { return true, nil }

// Continued implements guide.Announcements.
func (a *announcements) Continued(_ context.Context, workflow, run, step string) (bool, error) {
	return slices.Contains(a.steps, workflow+"/"+run+" "+step), nil
}

// Conversation implements guide.Announcements.
func (*announcements) Conversation(context.Context, think.Asked) *think.Conversation { return nil }

// Where runs need hooks, an answer that no hook was asked about is not taken. Whether runs
// need them or not, a step asks the store once where the run stands.
func TestAnAnswerNeedsAHook(t *testing.T) {
	for _, required := range []bool{false, true} {
		store := &looks{Storage: statetest.NewMemory()}
		engine := think.New(think.Options{Library: library.New(library.Layer{Files: files()}), Store: store, Now: time.Now})
		t.Cleanup(engine.Close)
		announced := &announcements{}
		hooks := guide.Hooks{Required: required, Announcements: announced}
		tools := engines.NewRegistry(engines.Options{})
		require.NoError(t, tools.Add(guide.Tools(engine, hooks)...))
		_, err := engine.Plan(t.Context(), think.PlanInput{Workflow: "ask", RunID: "r", Params: map[string]any{"count": 1}})
		require.NoError(t, err)
		next := func() error {
			_, err := tools.Invoke(t.Context(), engines.Call{}, "think.next", json.RawMessage(`{"run_id":"r","step_id":"word","result_snapshot":"so"}`))
			return err
		}
		if required {
			require.ErrorIs(t, next(), fault.HooksMissing)
			announced.steps = []string{"ask/r word"}
		}
		store.count = 0
		require.NoError(t, next())
		require.Equal(t, 1, store.count)
		announced.steps = nil
		require.NotErrorIs(t, next(), fault.HooksMissing, "the run has ended")
	}
}
