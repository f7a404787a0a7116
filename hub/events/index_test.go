package events_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/hub/events"
	"savant/telemetry"
)

// TestTheIndexFollowsTheTrace checks that the index has each event once, whatever files
// appear and disappear.
func TestTheIndexFollowsTheTrace(t *testing.T) {
	root, err := os.OpenRoot(t.TempDir())
	require.NoError(t, err)
	defer root.Close()
	recorder := telemetry.NewRecorder(telemetry.Options{Root: root, MaxFile: 20_000})
	seen := 0
	index := events.New(recorder, func(events.Line) { seen++ })
	require.NoError(t, index.Refresh(), "before there is a trace")

	write := func(count int) {
		for range count {
			recorder.Record(telemetry.Event{Type: telemetry.Retry, RunID: "r", Step: 7, Output: strings.Repeat("x", 300)})
			recorder.Record(telemetry.Event{Type: telemetry.Error, RunID: "s"})
			recorder.Record(telemetry.Event{Type: telemetry.ToolCallStarted})
		}
	}
	write(10)
	require.NoError(t, index.Refresh())
	require.Equal(t, 30, seen)
	before := index.Now()
	selected, err := index.Select("r", events.Filter{Types: []string{"retry"}, Step: 7, Query: "XXX"})
	require.NoError(t, err)
	require.Equal(t, 10, selected.Total)
	require.Equal(t, 10, selected.Len())
	require.Equal(t, []int{7}, selected.Steps())
	require.Equal(t, selected.Places(0, 10), selected.InSteps([]int{3, 7}))
	require.Empty(t, selected.InSteps([]int{6, 8}))
	last, found := selected.Before(8)
	require.True(t, found)
	require.Equal(t, selected.Place(9), last)
	_, found = selected.Before(7)
	require.False(t, found)
	require.Equal(t, map[telemetry.Type]int{telemetry.Retry: 10}, selected.Counts)
	require.Equal(t, 9, selected.Find(selected.Place(9)))
	require.Equal(t, -1, selected.Find(telemetry.Place{}))
	for _, none := range []events.Filter{{Types: []string{"error"}}, {Types: []string{"nothing"}}, {Step: 6}, {Query: "yyy"}} {
		selected, err := index.Select("r", none)
		require.NoError(t, err)
		require.Zero(t, selected.Len(), none)
	}
	runs, all, _ := index.Changed(before)
	require.Empty(t, runs)
	require.False(t, all)

	write(1)
	require.NoError(t, index.Refresh())
	runs, all, now := index.Changed(before)
	require.Equal(t, []string{"r", "s"}, runs)
	require.False(t, all)

	for range 30 { // a file is moved aside, and the one before it is gone
		held, err := index.Select("r", events.Filter{})
		require.NoError(t, err)
		places := held.Places(0, held.Len())
		write(5)
		require.NoError(t, index.Refresh())
		require.Equal(t, places, held.Places(0, held.Len()), "a selection stays as it was")
	}
	require.Equal(t, 33+450, seen)
	require.Zero(t, index.Lost())
	_, all, _ = index.Changed(now)
	require.True(t, all, "events have other numbers")
	selected, err = index.Select("r", events.Filter{})
	require.NoError(t, err)
	require.Less(t, selected.Total, 161)
	read, err := index.Read(selected.Places(0, selected.Len()))
	require.NoError(t, err)
	for _, each := range read {
		require.Equal(t, "r", each.RunID)
	}

	write(500) // twice moved aside meanwhile
	require.NoError(t, index.Refresh())
	require.EqualValues(t, 1, index.Lost())
	selected, err = index.Select("r", events.Filter{})
	require.NoError(t, err)
	require.NotZero(t, selected.Len())
}

// TestASearchReadsOnlyWhatIsNew checks that a repeated search reads none of the events
// that it read before, and finds each once.
func TestASearchReadsOnlyWhatIsNew(t *testing.T) {
	folder := t.TempDir()
	root, err := os.OpenRoot(folder)
	require.NoError(t, err)
	defer root.Close()
	recorder := telemetry.NewRecorder(telemetry.Options{Root: root})
	index := events.New(recorder, nil)
	search := func(f events.Filter) []telemetry.Place {
		require.NoError(t, index.Refresh())
		selected, err := index.Select("r", f)
		require.NoError(t, err)
		return selected.Places(0, selected.Len())
	}
	write := func(output string) {
		recorder.Record(telemetry.Event{Type: telemetry.Retry, RunID: "r", Step: 1, Output: output})
	}
	write("first")
	write("wanted")
	write("other")
	before := search(events.Filter{Query: "Wanted"})
	require.Len(t, before, 1)

	trace := filepath.Join(folder, filepath.FromSlash(telemetry.TraceFile))
	text, err := os.ReadFile(trace)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(trace, []byte(strings.Replace(string(text), "wanted", "hidden", 1)), 0o600))
	write("wanted too")
	after := search(events.Filter{Query: "Wanted"})
	require.Len(t, after, 2)
	require.Equal(t, before[0], after[0])
	require.Len(t, search(events.Filter{Query: "Wanted"}), 2)
	for _, other := range []events.Filter{{Query: "wanted", Step: 1}, {Query: "wanted", Types: []string{"retry"}}} {
		require.Len(t, search(other), 1, "another search reads all")
	}
	require.Empty(t, search(events.Filter{Query: "wanted", Step: 2}))
	require.Empty(t, search(events.Filter{Step: 1<<32 + 1}), "not step 1")
	for i := range 100 { // more searches than are remembered
		require.Empty(t, search(events.Filter{Query: "none" + strconv.Itoa(i)}))
	}
	require.Len(t, search(events.Filter{Query: "wanted"}), 1)
}
