package telemetry_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/telemetry"
)

// eventsOf is the function of Lines that calls each for the events of run r.
func eventsOf(each func(e telemetry.Event, line []byte) bool) func(telemetry.Place, []byte) bool {
	return func(_ telemetry.Place, line []byte) bool {
		var e telemetry.Event
		return json.Unmarshal(line, &e) != nil || e.RunID != "r" || each(e, line)
	}
}

// readSince returns the steps of the events after a cursor.
func readSince(t *testing.T, r *telemetry.Recorder, c *telemetry.Cursor) (steps []int, lost bool) {
	t.Helper()
	lost, err := r.Lines(c, eventsOf(func(e telemetry.Event, line []byte) bool {
		require.True(t, strings.HasSuffix(string(line), "\n"))
		steps = append(steps, e.Step)
		return true
	}))
	require.NoError(t, err)
	return steps, lost
}

// TestACursorLosesNothing reads parts of any length while files are rotated. Each event
// comes once and in order. Events of a file that was rotated twice are reported as
// lost.
func TestACursorLosesNothing(t *testing.T) {
	for _, every := range []int{1, 3, 7, 40} {
		r, _ := recorder(t, telemetry.Options{MaxFile: 12_000})
		var c telemetry.Cursor
		var seen []int
		for step := 1; step <= 200; step++ {
			r.Record(telemetry.Event{Type: telemetry.Error, RunID: "r", Step: step, Output: strings.Repeat("x", 100)})
			if step%every == 0 {
				more, lost := readSince(t, r, &c)
				require.False(t, lost)
				seen = append(seen, more...)
			}
		}
		require.Len(t, seen, 200/every*every)
		for i, step := range seen {
			require.Equal(t, i+1, step)
		}
	}
	r, _ := recorder(t, telemetry.Options{MaxFile: 2000})
	r.Record(telemetry.Event{Type: telemetry.Error, RunID: "r", Step: 1})
	var c telemetry.Cursor
	readSince(t, r, &c)
	for step := range 100 {
		r.Record(telemetry.Event{Type: telemetry.Error, RunID: "r", Step: step + 2})
	}
	steps, lost := readSince(t, r, &c)
	require.True(t, lost)
	require.Empty(t, steps)
	steps, lost = readSince(t, r, &c)
	require.False(t, lost)
	require.Equal(t, 101, steps[len(steps)-1])
}

// TestALineIsReadOnceItIsWhole checks that an incomplete line is left for the next
// read, that a line that is not JSON is skipped, and that the place where reading
// stopped is kept.
func TestALineIsReadOnceItIsWhole(t *testing.T) {
	r, folder := recorder(t, telemetry.Options{})
	var c telemetry.Cursor
	steps, lost := readSince(t, r, &c)
	require.Empty(t, steps)
	require.False(t, lost)
	require.NoError(t, os.Mkdir(filepath.Join(folder, "logs"), 0o700))
	file, err := os.Create(filepath.Join(folder, "logs", "agent_trace.log"))
	require.NoError(t, err)
	defer file.Close()
	write := func(text string) {
		_, err := file.WriteString(text)
		require.NoError(t, err)
	}
	write(`{"run_id":"r","step":`)
	steps, _ = readSince(t, r, &c)
	require.Empty(t, steps)
	write("1}\nnonsense\n" + strings.Repeat("y", 100<<10) + "\n{\"run_id\":\"of another, not r\",\"step\":9}\n{\"run_id\":\"r\",\"step\":2}\n{\"run_id\":\"r\",\"st")
	steps, _ = readSince(t, r, &c)
	require.Equal(t, []int{1, 2}, steps)
	write("ep\":3}\n{\"run_id\":\"r\",\"step\":4}\n")
	_, err = r.Lines(&c, eventsOf(func(e telemetry.Event, _ []byte) bool { require.Equal(t, 3, e.Step); return false }))
	require.NoError(t, err)
	steps, _ = readSince(t, r, &c)
	require.Equal(t, []int{4}, steps)
}
