package telemetry_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/internal/redact"
	"savant/telemetry"
)

func TestLaterKeepsTheOrderAndClosingFlushes(t *testing.T) {
	r, folder := recorder(t, telemetry.Options{Complete: func(e telemetry.Event) telemetry.Event {
		e.RunID = fmt.Sprint("run", e.Step)
		return e
	}})
	for i := range 500 {
		r.RecordLater(telemetry.Event{Type: telemetry.ToolCallCompleted, Step: i + 1, Args: json.RawMessage(`{"a":"sk-aaaaaaaaaaaa"}`)})
	}
	require.NoError(t, r.Close())
	written := lines(t, folder, telemetry.TraceFile)
	require.Len(t, written, 500)
	for i, line := range written {
		require.Contains(t, line, fmt.Sprintf(`"run_id":"run%d"`, i+1))
		require.Contains(t, line, `{"a":"[redacted]"}`)
	}
	r.RecordLater(telemetry.Event{Type: telemetry.Error}) // after the end: nothing
	r.Flush()
	require.Len(t, lines(t, folder, telemetry.TraceFile), 500)
}

func TestFlushWaitsForWhatWasHandedOver(t *testing.T) {
	var seen atomic.Int64
	r := telemetry.NewRecorder(telemetry.Options{Watcher: watcherFunc(func(telemetry.Event) { seen.Add(1) })})
	var writing sync.WaitGroup
	for range 8 {
		writing.Go(func() {
			for range 50 {
				r.RecordLater(telemetry.Event{Type: telemetry.Error})
				r.Flush()
			}
		})
	}
	writing.Wait()
	require.Equal(t, int64(400), seen.Load())
	require.NoError(t, r.Close())
}

// TestWhatFindsNoPlaceIsCounted blocks the worker and adds more than the queue holds.
func TestWhatFindsNoPlaceIsCounted(t *testing.T) {
	held, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	var events []telemetry.Event
	r := telemetry.NewRecorder(telemetry.Options{Watcher: watcherFunc(func(e telemetry.Event) {
		events = append(events, e)
		once.Do(func() { close(held); <-release })
	})})
	r.RecordLater(telemetry.Event{Type: telemetry.RunStarted})
	<-held
	for range 5000 {
		r.RecordLater(telemetry.Event{Type: telemetry.RunFinished})
	}
	close(release)
	require.NoError(t, r.Close())
	require.Len(t, events, 1+4096+1)
	at := slices.IndexFunc(events, func(e telemetry.Event) bool { return e.Type == telemetry.Error })
	require.Contains(t, events[at].Error.Details, "904", "the events that were lost")
}

const parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

func TestATraceIsCarriedAsItCameOrNotAtAll(t *testing.T) {
	ctx := telemetry.WithTrace(t.Context(), telemetry.Trace{Parent: parent, State: "a=1,b=2"})
	require.Equal(t, telemetry.Trace{Parent: parent, State: "a=1,b=2"}, telemetry.TraceFrom(ctx))
	ctx = telemetry.WithTrace(t.Context(), telemetry.Trace{Parent: parent, State: "a=1\r\nb: 2"})
	require.Equal(t, telemetry.Trace{Parent: parent}, telemetry.TraceFrom(ctx))
	for _, wrong := range []string{"", "no", strings.ToUpper(parent), parent + "\n",
		"00-00000000000000000000000000000000-00f067aa0ba902b7-01", "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01"} {
		require.Equal(t, t.Context(), telemetry.WithTrace(t.Context(), telemetry.Trace{Parent: wrong}), wrong)
	}
	require.Equal(t, telemetry.Trace{}, telemetry.TraceFrom(t.Context()))
}

func TestASpanHasNoSecretAndNoArguments(t *testing.T) {
	var seen, recorded []telemetry.Event
	r := telemetry.NewRecorder(telemetry.Options{Watcher: watcherFunc(func(e telemetry.Event) { recorded = append(recorded, e) }), Trace: func(ctx context.Context, begun telemetry.Event) (context.Context, func(telemetry.Event)) {
		seen = append(seen, begun)
		return ctx, func(ended telemetry.Event) { seen = append(seen, ended) }
	}})
	e := full(telemetry.ToolCallStarted)
	e.ToolName, e.Error.Details = "sk-aaaaaaaaaaaa", "bearer abcdef123456"
	_, end := r.Span(t.Context(), e)
	end(e)
	require.Len(t, seen, 2)
	for _, each := range seen {
		require.Empty(t, each.Args)
		require.Empty(t, each.Output)
		require.Equal(t, redact.Mark, each.ToolName)
		require.Equal(t, &telemetry.Failure{Code: "TOOL_FAILED"}, each.Error)
	}
	require.NoError(t, r.Close())
	require.Empty(t, recorded)

	var none *telemetry.Recorder
	ctx, end := none.Span(t.Context(), e)
	end(e)
	require.Equal(t, t.Context(), ctx)
}
