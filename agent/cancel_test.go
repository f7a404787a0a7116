package agent_test

import (
	"context"
	"encoding/json"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"savant/agent"
	"savant/agent/memory"
	"savant/engines"
	"savant/fault"
	"savant/reasoning"
)

// ignores is what a run does when it calls a tool that heeds no context.
const ignores = `{"action":"tool","tool_name":"test.ignore","args":{}}`

// waits are what a run may wait for when it is asked to end.
var waits = map[string]string{"heeding": hang, "ignoring": ignores, "question": `{"hang":true}`, "pause": `{"http":503}`}

// busy is a run that waits.
type busy struct {
	*world
	run *agent.Run
	// began holds something once a tool was called.
	began chan struct{}
}

// newBusy returns a run as soon as it waits. In a pause, the next attempt at a
// question is far away.
func newBusy(t testing.TB, wait string) *busy {
	t.Helper()
	b := &busy{began: make(chan struct{}, 2)}
	release := make(chan struct{})
	stuck := engines.Bind("test.ignore", "Waits, and heeds nothing.", func(context.Context, struct{}) (any, error) {
		b.began <- struct{}{}
		<-release
		return map[string]any{}, nil
	})
	heeding := engines.Bind("test.hang", "Waits.", func(ctx context.Context, _ struct{}) (any, error) {
		b.began <- struct{}{}
		<-ctx.Done()
		return nil, ctx.Err()
	})
	stuck.ReadOnly, heeding.ReadOnly = true, true
	registry := engines.NewRegistry(engines.Options{})
	require.NoError(t, registry.Add(stuck, heeding))
	b.world = newWorld(t, []json.RawMessage{json.RawMessage(waits[wait])}, func(o *agent.Options) {
		o.Toolbox = registry
		if wait == "pause" {
			o.Decider = reasoning.New(reasoning.Options{Transport: later{}, Retries: 1, Observe: func(context.Context, reasoning.Attempt) { b.began <- struct{}{} }})
		}
	})
	t.Cleanup(func() { close(release) })
	var err error
	b.run, err = b.runtime.Start(agent.RunOptions{Goal: "g"})
	require.NoError(t, err)
	if wait == "question" {
		<-b.api.Arrived
	} else {
		<-b.began
	}
	return b
}

// later is a Reasoning API that wants to be asked later.
type later struct{}

func (later) RoundTrip(context.Context, reasoning.Request, reasoning.Observer) (json.RawMessage, error) {
	return nil, &reasoning.Temporary{Err: fault.New(fault.ReasoningUnavailable, "not now"), After: 20 * time.Second}
}

// cancels are the ways there are to end a run.
var cancels = map[string]func(testing.TB, *busy){
	"here": func(t testing.TB, b *busy) { require.NoError(t, b.runtime.Cancel(b.run.ID())) },
	"elsewhere": func(t testing.TB, b *busy) { // a wish in a file is enough
		root, err := os.OpenRoot(b.folder)
		require.NoError(t, err)
		other := agent.New(agent.Options{Memory: memory.Open(root, time.Now)})
		require.NoError(t, other.Cancel(b.run.ID()))
		other.Close()
		require.NoError(t, root.Close())
	},
}

// TestCancelInterrupts whatever a run waits for, from wherever.
func TestCancelInterrupts(t *testing.T) {
	for wait := range waits {
		for way, cancel := range cancels {
			t.Run(wait+"_"+way, func(t *testing.T) {
				b := newBusy(t, wait)
				cancel(t, b)
				report := ended(t, b.run)
				require.Equal(t, agent.StatusCanceled, report.Status)
				require.Equal(t, "Canceled by user", report.Final)
				require.Equal(t, agent.Cancel, report.State)
				require.NoError(t, b.runtime.Cancel(b.run.ID()), "it is canceled still")
				require.False(t, b.store.Canceled(b.run.ID()), "the wish is fulfilled")
				snapshot, err := snapshotOf(b.store, b.run.ID())
				require.NoError(t, err)
				require.Equal(t, "canceled", snapshot.Status)
			})
		}
	}
}

// TestCloseIsNotHeldUp by a tool that heeds nothing; its run can go on later.
func TestCloseIsNotHeldUp(t *testing.T) {
	b := newBusy(t, "ignoring")
	b.runtime.Close()
	require.Equal(t, agent.StatusInterrupted, ended(t, b.run).Status)
}

// BenchmarkCancel takes the time from the wish to the end of the run, which is
// on disk then.
func BenchmarkCancel(b *testing.B) {
	for _, wait := range []string{"heeding", "ignoring", "question"} {
		for _, way := range []string{"here", "elsewhere"} {
			b.Run(wait+"_"+way, func(b *testing.B) {
				var took []time.Duration
				for b.Loop() {
					waiting := newBusy(b, wait)
					began := time.Now()
					cancels[way](b, waiting)
					<-waiting.run.Done()
					took = append(took, time.Since(began))
				}
				b.ReportMetric(median(took), "p50-ms")
				b.ReportMetric(worst(took), "worst-ms")
			})
		}
	}
}

// TestARunBelongsToOneProcess: another sees that it goes on, and cannot take it.
func TestARunBelongsToOneProcess(t *testing.T) {
	b := newBusy(t, "heeding")
	root, err := os.OpenRoot(b.folder)
	require.NoError(t, err)
	defer root.Close()
	other := agent.New(agent.Options{Memory: memory.Open(root, time.Now)})
	defer other.Close()
	standing, err := other.Report(b.run.ID())
	require.NoError(t, err)
	require.Equal(t, agent.StatusRunning, standing.Status)
	_, err = other.Resume(agent.Order{RunID: b.run.ID()})
	require.ErrorIs(t, err, fault.StateConflict)
}

// TestTheSnapshotIsReplacedWhileARunWaits: a run that makes no step for the pause
// can be read, and its end is not overwritten.
func TestTheSnapshotIsReplacedWhileARunWaits(t *testing.T) {
	for _, wait := range []string{hang, `{"hang":true}`} {
		w := newWorld(t, script(read, wait), func(o *agent.Options) { o.SnapshotPause = time.Millisecond })
		run, err := w.runtime.Start(agent.RunOptions{Goal: "g"})
		require.NoError(t, err)
		require.Eventually(t, func() bool {
			snapshot, err := snapshotOf(w.store, run.ID())
			return err == nil && snapshot.Count == 1 && snapshot.Status == "running"
		}, endless, time.Millisecond)
		run.Cancel()
		require.Equal(t, agent.StatusCanceled, ended(t, run).Status)
		snapshot, err := snapshotOf(w.store, run.ID())
		require.NoError(t, err)
		require.Equal(t, "canceled", snapshot.Status)
	}
}

// snapshotOf reads the snapshot of a run.
func snapshotOf(store *memory.Store, id string) (snapshot memory.Snapshot, err error) {
	data, err := store.Snapshot(id)
	if err == nil {
		err = json.Unmarshal(data, &snapshot)
	}
	return snapshot, err
}

// TestARunEndsWithItsTask: a client that cancels the task of a run ends the run; one that is
// gone does not.
func TestARunEndsWithItsTask(t *testing.T) {
	for name, c := range map[string]struct {
		cause error
		want  agent.Status
	}{"cancelled": {engines.ErrTaskCancelled, agent.StatusCanceled}, "gone": {nil, agent.StatusRunning}} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, []json.RawMessage{json.RawMessage(`{"hang":true}`)}, nil)
			ctx, cancel := context.WithCancelCause(t.Context())
			go func() {
				<-w.api.Arrived
				cancel(c.cause)
			}()
			task := &engines.Task{}
			_, _ = calledWith[agent.Report](t, w, ctx, engines.Caller{Task: task}, "agent.run", `{"goal":"g"}`)
			standing, err := called[agent.Report](t, w, t.Context(), "agent.status", `{"run_id":"`+task.Run()+`","wait_ms":`+map[bool]string{true: "50000", false: "0"}[c.cause != nil]+`}`)
			require.NoError(t, err)
			require.Equal(t, c.want, standing.Status)
		})
	}
}
