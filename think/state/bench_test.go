package state_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"savant/think/state"
)

// BenchmarkAppend measures a step of 1 KB beside F, appending the same bytes to
// a file and syncing it, in turns; "xF" is the ratio of their medians.
func BenchmarkAppend(b *testing.B) {
	folder := b.TempDir()
	store := openDir(b, folder)
	key := state.Key{Workflow: "w", Run: "r"}
	next := state.Record{Version: 1, Kind: "result", Status: "running", State: strings.Repeat("0", 64),
		Data: json.RawMessage(`{"text":"` + strings.Repeat("x", 1000) + `"}`)}
	made, err := store.Append(context.Background(), key, next)
	require.NoError(b, err)
	line, err := json.Marshal(made)
	require.NoError(b, err)
	plain, err := os.Create(filepath.Join(folder, "plain"))
	require.NoError(b, err)
	defer func() { require.NoError(b, plain.Close()) }()

	var steps, bare []time.Duration
	for b.Loop() {
		next.Version++
		start := time.Now()
		_, err := store.Append(context.Background(), key, next)
		steps = append(steps, time.Since(start))
		require.NoError(b, err)
		start = time.Now()
		_, err = plain.Write(line)
		if err == nil {
			err = plain.Sync()
		}
		bare = append(bare, time.Since(start))
		require.NoError(b, err)
	}
	b.ReportMetric(float64(median(steps))/float64(median(bare)), "xF")
	b.ReportMetric(float64(median(steps)), "ns/step")
	b.ReportMetric(float64(median(bare)), "ns/F")
}

func median(times []time.Duration) time.Duration {
	slices.Sort(times)
	return times[len(times)/2]
}

// BenchmarkOpen measures the first use of a run with a long journal.
func BenchmarkOpen(b *testing.B) {
	for _, count := range []int{10, 1000, 10_000} {
		b.Run(fmt.Sprint(count), func(b *testing.B) {
			folder := b.TempDir()
			key := state.Key{Workflow: "w", Run: "r"}
			writeRun(b, folder, key, count)
			for b.Loop() {
				store, err := state.Open(folder, state.Options{})
				require.NoError(b, err)
				version, _, err := store.Head(context.Background(), key)
				require.NoError(b, err)
				require.Equal(b, count, version)
				require.NoError(b, store.Close())
			}
		})
	}
}

// BenchmarkList measures a listing of 10,000 runs.
func BenchmarkList(b *testing.B) {
	folder := b.TempDir()
	for i := range 10_000 {
		writeRun(b, folder, state.Key{Workflow: fmt.Sprint("w", i%4), Run: fmt.Sprint("r", i)}, 3)
	}
	store := openDir(b, folder)
	for b.Loop() {
		infos, err := store.List(context.Background(), state.Filter{})
		require.NoError(b, err)
		require.Len(b, infos, 10_000)
	}
}

// writeRun writes a journal at once: made through the store, 10,000 runs would
// wait for 10,000 syncs.
func writeRun(b *testing.B, folder string, key state.Key, count int) {
	var journal []byte
	last := state.Link{}
	for version := 1; version <= count; version++ {
		made, line, err := state.Seal(key, last, childRecord(version, 0), time.Now())
		require.NoError(b, err)
		journal = append(append(journal, line...), '\n')
		last = state.Link{Version: made.Version, Hash: made.Hash}
	}
	runs := filepath.Join(folder, ".savant", "state", key.Workflow)
	require.NoError(b, os.MkdirAll(runs, 0o700))
	require.NoError(b, os.WriteFile(filepath.Join(runs, key.Run+".journal"), journal, 0o600))
}

// BenchmarkListFirst measures the first listing of a process.
func BenchmarkListFirst(b *testing.B) {
	folder := b.TempDir()
	for i := range 10_000 {
		writeRun(b, folder, state.Key{Workflow: fmt.Sprint("w", i%4), Run: fmt.Sprint("r", i)}, 3)
	}
	for b.Loop() {
		store := openDir(b, folder)
		infos, err := store.List(context.Background(), state.Filter{})
		require.NoError(b, err)
		require.Len(b, infos, 10_000)
	}
}
