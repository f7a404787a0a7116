package state_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"savant/think/state"
)

// BenchmarkManyRuns measures 64 runs at once beside one: steps per second of
// all together, and their ratio. The kernel lets syncs of different files share
// a commit of its file system's journal, which is what a group commit would do.
func BenchmarkManyRuns(b *testing.B) {
	store := openDir(b, b.TempDir())
	const many, steps = 64, 40
	runs := make([]string, many)
	for i := range runs {
		runs[i] = fmt.Sprint("r", i)
	}
	for _, run := range append([]string{"alone"}, runs...) {
		_, err := store.Create(context.Background(), state.Key{Workflow: "w", Run: run}, oneKilobyte(1))
		require.NoError(b, err)
	}
	next := 2
	var one, all float64
	for b.Loop() {
		one += stepsPerSecond(b, store, []string{"alone"}, next, steps)
		all += stepsPerSecond(b, store, runs, next, steps)
		next += steps
	}
	b.ReportMetric(all/one, "x-one-run")
}

func oneKilobyte(version int) state.Record {
	return state.Record{Version: version, Kind: "result", Status: "running", State: strings.Repeat("0", 64),
		Data: json.RawMessage(`{"text":"` + strings.Repeat("x", 1000) + `"}`)}
}

func stepsPerSecond(b *testing.B, store state.Store, runs []string, from, steps int) float64 {
	var writers sync.WaitGroup
	start := time.Now()
	for _, run := range runs {
		writers.Go(func() { appendSteps(b, store, run, from, steps) })
	}
	writers.Wait()
	return float64(len(runs)*steps) / time.Since(start).Seconds()
}

func appendSteps(b *testing.B, store state.Store, run string, from, steps int) {
	for version := from; version < from+steps; version++ {
		if _, err := store.Append(context.Background(), state.Key{Workflow: "w", Run: run}, oneKilobyte(version)); err != nil {
			b.Error(err)
		}
	}
}
