package think_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"savant/fault"
	"savant/test/statetest"
	"savant/think"
	"savant/think/flow"
	"savant/think/library"
	"savant/think/state"
)

// reads counts the records that engines read.
type reads struct {
	state.Storage
	records int
}

func (r *reads) Records(ctx context.Context, key state.Key, after, limit int) ([]state.Record, error) {
	found, err := r.Storage.Records(ctx, key, after, limit)
	r.records += len(found)
	return found, err
}

// Two servers that take the steps of a run in turns read of it only what they have not
// seen: a step costs the same at the end of a long run as at its beginning.
func TestAnEngineReadsOnlyWhatItHasNotSeen(t *testing.T) {
	t.Parallel()
	const steps, longest = 60, 3
	var text strings.Builder
	text.WriteString("name: turns\nversion: '1.0'\nsteps:\n")
	for i := range steps {
		fmt.Fprintf(&text, "  - {id: s%d, call: llm.generate, input_template: {task: x}, capture_as: s%d}\n", i, i)
	}
	shared := statetest.NewMemory()
	engines, stores := make([]*think.Engine, 2), make([]*reads, 2)
	for i := range engines {
		stores[i] = &reads{Storage: shared}
		engines[i] = think.New(think.Options{Store: stores[i], Library: library.New(library.Layer{Files: fstest.MapFS{"workflows/turns.yaml": {Data: []byte(text.String())}}})})
		t.Cleanup(engines[i].Close)
	}
	_, err := engines[0].Plan(t.Context(), think.PlanInput{Workflow: "turns", RunID: "r"})
	require.NoError(t, err)
	turn, left := 0, 1
	var reply *think.Reply
	for i := range steps {
		if left--; left == 0 {
			turn, left = 1-turn, i%longest+1
		}
		reply, err = engines[turn].Next(t.Context(), think.NextInput{Workflow: "turns", RunID: "r", StepID: fmt.Sprint("s", i), ResultSnapshot: json.RawMessage(`"x"`)})
		require.NoError(t, err)
	}
	require.True(t, reply.Done)
	require.LessOrEqual(t, stores[0].records+stores[1].records, steps+1, "each record was written by one of them, and read by the other at most once")
}

// A run is found by its id alone also after another server deleted it and began one of
// this id in another workflow.
func TestAnIDThatMovedToAnotherWorkflow(t *testing.T) {
	t.Parallel()
	files := fstest.MapFS{}
	for _, name := range []string{"one", "two"} {
		files["workflows/"+name+".yaml"] = &fstest.MapFile{Data: []byte("name: " + name + "\nversion: '1'\nsteps: [{id: a, call: llm.generate, input_template: {task: x}}]\n")}
	}
	shared := statetest.NewMemory()
	here := think.New(think.Options{Store: shared, Library: library.New(library.Layer{Files: files})})
	t.Cleanup(here.Close)
	there := think.New(think.Options{Store: shared, Library: library.New(library.Layer{Files: files})})
	t.Cleanup(there.Close)
	_, err := here.Plan(t.Context(), think.PlanInput{Workflow: "one", RunID: "r"})
	require.NoError(t, err)
	_, err = here.Position(t.Context(), "", "r")
	require.NoError(t, err)

	_, err = there.Reset(t.Context(), think.ResetInput{RunID: "r", Force: true})
	require.NoError(t, err)
	_, err = here.Position(t.Context(), "", "r")
	require.ErrorIs(t, err, fault.UnknownRun)
	_, err = there.Plan(t.Context(), think.PlanInput{Workflow: "two", RunID: "r"})
	require.NoError(t, err)
	at, err := here.Position(t.Context(), "", "r")
	require.NoError(t, err)
	require.Equal(t, "two", at.Workflow)
}

// Whoever waits for a person's answer hears that the run was deleted or cancelled.
func TestAWaitEndsWithItsRun(t *testing.T) {
	t.Parallel()
	files := fstest.MapFS{"workflows/asks.yaml": &fstest.MapFile{Data: []byte("name: asks\nversion: '1'\nsteps: [{id: ok, call: human.approve, input_template: {message: 'So?'}}]\n")}}
	for want, end := range map[fault.Code]func(*think.Engine) error{
		fault.UnknownRun: func(there *think.Engine) error {
			_, err := there.Reset(t.Context(), think.ResetInput{RunID: "r", Force: true})
			return err
		},
		fault.RunCancelled: func(there *think.Engine) error {
			_, err := there.Cancel(t.Context(), think.CancelInput{RunID: "r", Cancellation: flow.Cancellation{By: "ann"}})
			return err
		},
	} {
		shared := statetest.NewMemory()
		here := think.New(think.Options{Store: shared, Library: library.New(library.Layer{Files: files})})
		t.Cleanup(here.Close)
		there := think.New(think.Options{Store: shared, Library: library.New(library.Layer{Files: files})})
		t.Cleanup(there.Close)
		_, err := here.Plan(t.Context(), think.PlanInput{Workflow: "asks", RunID: "r"})
		require.NoError(t, err)
		ended := make(chan error, 1)
		go func() { ended <- here.AwaitStep(t.Context(), "asks", "r", "ok") }()
		select {
		case err := <-ended:
			require.Fail(t, "it did not wait", "%v", err)
		case <-time.After(600 * time.Millisecond): // it has looked again
		}
		require.NoError(t, end(there))
		select {
		case err := <-ended:
			require.ErrorIs(t, err, want)
		case <-time.After(time.Minute):
			require.Fail(t, "it still waits", want)
		}
	}
}
