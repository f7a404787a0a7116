package engines_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"savant/engines"
	"savant/fault"
)

// does returns a tool without arguments.
func does(name string, call func(context.Context) (any, error)) engines.Tool {
	return engines.Tool{Name: name, Description: "Does something.", Input: json.RawMessage(`{"type":"object"}`),
		Call: func(ctx context.Context, _ engines.Call, _ json.RawMessage) (any, error) { return call(ctx) }}
}

// events keeps what a registry observed.
type events struct {
	mutex sync.Mutex
	seen  []engines.Event
}

func (e *events) begin(ctx context.Context, _ engines.Call, _ engines.Event, _ json.RawMessage) (context.Context, func(engines.Event)) {
	return ctx, func(event engines.Event) {
		e.mutex.Lock()
		defer e.mutex.Unlock()
		e.seen = append(e.seen, event)
	}
}

// unobserved is a Begin that does nothing.
func unobserved(ctx context.Context, _ engines.Call, _ engines.Event, _ json.RawMessage) (context.Context, func(engines.Event)) {
	return ctx, func(engines.Event) {}
}

func (e *events) last() engines.Event {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	return e.seen[len(e.seen)-1]
}

func waits(ctx context.Context) (any, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// A call over its time is TOOL_TIMEOUT, whether its tool ends in time, says
// something of its own, or goes on. The clock is synctest's.
func TestCallsHaveTheirTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		released := make(chan struct{})
		tools := map[string]engines.Tool{
			"x.waits": does("x.waits", waits),
			"x.explains": does("x.explains", func(ctx context.Context) (any, error) {
				<-ctx.Done()
				return nil, fault.New(fault.ToolFailed, "killed")
			}),
			"x.deaf":   does("x.deaf", func(context.Context) (any, error) { <-released; return nil, nil }),
			"x.panics": does("x.panics", func(ctx context.Context) (any, error) { <-ctx.Done(); panic("late") }),
		}
		for name, tool := range tools {
			var seen events
			var log bytes.Buffer
			table := engines.NewRegistry(engines.Options{Observer: observerFunc(seen.begin), Logger: slog.New(slog.NewTextHandler(&log, nil))})
			tool.Timeout = time.Minute
			require.NoError(t, table.Add(tool))
			_, err := table.Call(t.Context(), name, nil)
			require.ErrorIs(t, err, fault.ToolTimeout, name)
			require.ErrorContains(t, err, name)
			require.ErrorContains(t, err, "1m0s", "the timeout")
			require.Equal(t, "TOOL_TIMEOUT", seen.last().Outcome)
			require.GreaterOrEqual(t, seen.last().Duration, time.Minute)
			require.Less(t, seen.last().Duration, time.Minute+10*time.Second, "who called waits no longer")
		}
		close(released)
		synctest.Wait()
	})
}

// A caller that goes away, or whose own time is over, is answered whatever the
// tool does: one without a timeout, one of Think, and one with time left. What
// goes on is counted, and keeps its place, until it ends.
func TestNoToolHoldsItsCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const grace = 2 * time.Second
		released := make(chan struct{})
		deaf := func(context.Context) (any, error) { <-released; return "late", nil }
		timed := does("y.deaf", deaf)
		timed.Timeout = time.Hour
		table := engines.NewRegistry(engines.Options{})
		require.NoError(t, table.Add(does("x.deaf", deaf), timed, does("think.deaf", deaf)))
		for _, name := range []string{"x.deaf", "y.deaf", "think.deaf"} {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			began := time.Now()
			_, err := table.Call(ctx, name, nil)
			cancel()
			require.ErrorIs(t, err, fault.ToolTimeout, name)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.Equal(t, time.Second+grace, time.Since(began))

			ctx, cancel = context.WithCancel(t.Context())
			time.AfterFunc(time.Minute, cancel)
			began = time.Now()
			_, err = table.Call(ctx, name, nil)
			require.ErrorIs(t, err, context.Canceled, name)
			require.Equal(t, time.Minute+grace, time.Since(began))
		}
		for _, health := range table.Health(t.Context()) {
			require.Equal(t, 2, health.Left, health.Engine)
			if health.Engine != "think" { // whose calls take no place
				require.Equal(t, 2, health.Running, health.Engine)
			}
		}
		close(released)
		synctest.Wait()
		for _, health := range table.Health(t.Context()) {
			require.Zero(t, health.Left, health.Engine)
			require.Zero(t, health.Running, health.Engine)
		}
	})
}

// What a tool answers within the grace is not thrown away.
func TestAnswersInTheGraceAreTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		partial := does("x.partial", func(ctx context.Context) (any, error) { <-ctx.Done(); return "what there was", nil })
		table := engines.NewRegistry(engines.Options{})
		require.NoError(t, table.AddEngine(engines.Engine{Name: "x", Timeout: time.Second}, partial))
		result, err := table.Call(t.Context(), "x.partial", nil)
		require.NoError(t, err)
		require.Equal(t, "what there was", result)
	})
}

// A tool's timeout overrides its engine's, and a cancelled call is not a timeout.
func TestWhoseTimeItIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		own := does("x.own", waits)
		own.Timeout = time.Second
		table := engines.NewRegistry(engines.Options{})
		require.NoError(t, table.AddEngine(engines.Engine{Name: "x", Timeout: time.Hour}, own, does("x.engines", waits)))
		for name, want := range map[string]time.Duration{"x.own": time.Second, "x.engines": time.Hour} {
			began := time.Now()
			_, err := table.Call(t.Context(), name, nil)
			require.ErrorIs(t, err, fault.ToolTimeout)
			require.Equal(t, want, time.Since(began))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		_, err := table.Call(ctx, "x.own", nil)
		require.ErrorIs(t, err, fault.ToolTimeout)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		gone, leave := context.WithCancel(t.Context())
		leave()
		_, err = table.Call(gone, "x.own", nil)
		require.ErrorIs(t, err, fault.ToolFailed)
	})
}

// So many calls of an engine run, so many wait, and the next is refused; each
// waits no longer than its caller. Other engines go on.
func TestCallsOfAnEngineAreBounded(t *testing.T) {
	const running, waiting = 3, 3 * 16
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		table := engines.NewRegistry(engines.Options{})
		require.NoError(t, table.AddEngine(engines.Engine{Name: "x", Concurrency: running},
			does("x.holds", func(context.Context) (any, error) { <-release; return nil, nil })))
		require.NoError(t, table.Add(does("y.free", func(context.Context) (any, error) { return nil, nil })))
		var calls sync.WaitGroup
		call := func() {
			if _, err := table.Call(t.Context(), "x.holds", nil); err != nil {
				t.Error(err)
			}
		}
		for range running + waiting {
			calls.Go(call)
		}
		synctest.Wait()
		health := table.Health(t.Context())[0]
		require.Equal(t, running, health.Running)
		require.Equal(t, waiting, health.Waiting)
		_, err := table.Call(t.Context(), "x.holds", nil)
		require.ErrorIs(t, err, fault.EngineBusy)
		for _, named := range []string{"engine x", fmt.Sprint(running), fmt.Sprint(waiting)} {
			require.ErrorContains(t, err, named)
		}
		_, err = table.Call(t.Context(), "y.free", nil)
		require.NoError(t, err)
		close(release)
		calls.Wait()
		health = table.Health(t.Context())[0]
		require.Zero(t, health.Running)
		require.Zero(t, health.Waiting)
	})
}

// Waiting for a place is part of a call's time, and ends with its caller. A
// tool that does not end keeps its place until it does.
func TestWaitingForAPlaceEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		table := engines.NewRegistry(engines.Options{})
		require.NoError(t, table.AddEngine(engines.Engine{Name: "x", Concurrency: 1, Timeout: time.Second},
			does("x.deaf", func(context.Context) (any, error) { <-release; return "done", nil })))
		_, err := table.Call(t.Context(), "x.deaf", nil)
		require.ErrorIs(t, err, fault.ToolTimeout)
		_, err = table.Call(t.Context(), "x.deaf", nil)
		require.ErrorIs(t, err, fault.EngineBusy, "the first still runs")
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err = table.Call(ctx, "x.deaf", nil)
		require.ErrorIs(t, err, fault.EngineBusy)
		close(release)
		synctest.Wait()
		result, err := table.Call(t.Context(), "x.deaf", nil)
		require.NoError(t, err)
		require.Equal(t, "done", result)
	})
}

// Calls that drive other calls take no place, so none waits for itself.
func TestConductorsTakeNoPlace(t *testing.T) {
	table := engines.NewRegistry(engines.Options{})
	depth := 0
	require.NoError(t, table.Add(does("workflow.nested", func(ctx context.Context) (any, error) {
		if depth++; depth > 100 {
			return "deep", nil
		}
		return table.Call(ctx, "workflow.nested", nil)
	})))
	result, err := table.Call(t.Context(), "workflow.nested", nil)
	require.NoError(t, err)
	require.Equal(t, "deep", result)
}

// Every call is an event, also one that reaches no tool.
func TestEveryCallIsAnEvent(t *testing.T) {
	var seen events
	table := engines.NewRegistry(engines.Options{Observer: observerFunc(seen.begin)})
	require.NoError(t, table.Add(named("x.echo"), does("x.panics", func(context.Context) (any, error) { panic("now") }),
		does("x.odd", func(context.Context) (any, error) { return func() {}, nil })))
	cases := []struct {
		tool, args string
		want       engines.Event
	}{
		{"x_echo", `{"workflow":"a"}`, engines.Event{Tool: "x.echo", Engine: "x", InputBytes: 16, OutputBytes: 16, Outcome: "ok"}},
		{"x.echo", `{}`, engines.Event{Tool: "x.echo", Engine: "x", InputBytes: 2, Outcome: "INVALID_PARAMS"}},
		{"x.panics", ``, engines.Event{Tool: "x.panics", Engine: "x", Outcome: "INTERNAL"}},
		{"x.odd", ``, engines.Event{Tool: "x.odd", Engine: "x", Outcome: "INTERNAL"}},
		{"no.such", `{}`, engines.Event{Tool: "no.such", InputBytes: 2, Outcome: "UNKNOWN_TOOL"}},
	}
	for _, c := range cases {
		before := time.Now()
		_, err := table.Invoke(t.Context(), engines.Call{}, c.tool, json.RawMessage(c.args))
		require.Equal(t, c.want.Outcome != "ok", err != nil)
		got := seen.last()
		require.False(t, got.Started.Before(before))
		require.GreaterOrEqual(t, got.Duration, time.Duration(0))
		got.Started, got.Duration = time.Time{}, 0
		require.Equal(t, c.want, got)
	}
	require.Len(t, seen.seen, len(cases))
}

// Calls, changes of the table and questions after its health at once.
func TestEverythingAtOnce(t *testing.T) {
	table := engines.NewRegistry(engines.Options{Observer: observerFunc(unobserved)})
	var running, most atomic.Int64
	counted := func(context.Context) (any, error) {
		now := running.Add(1)
		defer running.Add(-1)
		for old := most.Load(); now > old && !most.CompareAndSwap(old, now); old = most.Load() {
		}
		return nil, nil
	}
	require.NoError(t, table.AddEngine(engines.Engine{Name: "x", Concurrency: 2}, does("x.counted", counted)))
	var calls sync.WaitGroup
	for range 16 {
		calls.Go(func() {
			for range 50 {
				_, err := table.Call(t.Context(), "x.counted", nil)
				if err != nil && !errors.Is(err, fault.EngineBusy) {
					t.Error(err)
				}
			}
		})
	}
	for range 4 {
		calls.Go(func() {
			for range 20 {
				if err := table.ReplaceTools("x", does("x.counted", counted), does("x.other", counted)); err != nil {
					t.Error(err)
				}
				table.Health(t.Context())
			}
		})
	}
	calls.Wait()
	require.LessOrEqual(t, most.Load(), int64(2))
}
