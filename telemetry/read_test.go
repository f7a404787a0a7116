package telemetry_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/telemetry"
)

// TestWhatIsWrittenOfARunIsFound checks that a run's lines are found in both files, in
// order, among other lines.
func TestWhatIsWrittenOfARunIsFound(t *testing.T) {
	r, folder := recorder(t, telemetry.Options{MaxFile: 4000})
	require.NoError(t, r.ReadRun("r1", func(telemetry.Event, []byte) { require.Fail(t, "nothing is written") }))
	for i := range 20 {
		r.Record(telemetry.Event{Type: telemetry.ReasoningStep, RunID: "r" + strconv.Itoa(i%2), Step: i, Output: strings.Repeat("r1 ", 50)})
	}
	trace := filepath.Join(folder, filepath.FromSlash(telemetry.TraceFile))
	require.FileExists(t, trace+".1")
	file, err := os.OpenFile(trace, os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = file.WriteString(`"r1" ` + strings.Repeat("x", 1<<17) + "\nr1 no event\n" + `{"type":"reasoning_step","run_id":"r1","step":21}` + "\n" + `{"type":"error","run_id":"r1"`)
	require.NoError(t, err)
	require.NoError(t, file.Close())
	var seen []int
	require.NoError(t, r.ReadRun("r1", func(e telemetry.Event, line []byte) {
		require.Contains(t, string(line), `"run_id":"r1"`)
		seen = append(seen, e.Step)
	}))
	require.Equal(t, 21, seen[len(seen)-1])
	require.GreaterOrEqual(t, len(seen), 3)
	for i, step := range seen {
		require.Equal(t, 21-2*(len(seen)-1-i), step, "no line is missing but those that are gone")
	}
	require.NoError(t, os.Rename(trace, trace+".1"))
	count := 0
	require.NoError(t, r.ReadRun("r1", func(telemetry.Event, []byte) { count++ }))
	require.Positive(t, count)
	var none *telemetry.Recorder
	require.NoError(t, none.ReadRun("r1", nil))
}

// TestWrittenInTwoFolders checks that files in the folder of older versions are read
// too.
func TestWrittenInTwoFolders(t *testing.T) {
	r, folder := recorder(t, telemetry.Options{})
	r.Record(telemetry.Event{Type: telemetry.Error, RunID: "r1", Step: 1})
	require.NoError(t, r.Close())
	root, err := os.OpenRoot(folder)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, root.Close()) })
	other := telemetry.NewRecorder(telemetry.Options{Root: root, Folder: ".savant/logs"})
	other.Record(telemetry.Event{Type: telemetry.Error, RunID: "r1", Step: 2})
	require.Len(t, lines(t, folder, telemetry.TraceFile), 1)
	require.Len(t, lines(t, folder, ".savant/logs/agent_trace.log"), 1)
	require.NoError(t, other.Close())

	reading := telemetry.NewRecorder(telemetry.Options{Root: root, Folder: ".savant/logs", ReadOnly: true})
	reading.Record(telemetry.Event{Type: telemetry.Error, RunID: "r1", Step: 3})
	var steps []int
	require.NoError(t, reading.ReadRun("r1", func(e telemetry.Event, _ []byte) { steps = append(steps, e.Step) }))
	require.Equal(t, []int{1, 2}, steps)
	require.NoError(t, reading.Close())
}

// TestATornLineIsEnded checks that a torn line does not damage the next one.
func TestATornLineIsEnded(t *testing.T) {
	r, folder := recorder(t, telemetry.Options{})
	trace := filepath.Join(folder, filepath.FromSlash(telemetry.TraceFile))
	require.NoError(t, os.MkdirAll(filepath.Dir(trace), 0o700))
	require.NoError(t, os.WriteFile(trace, []byte(`{"type":"err`), 0o600))
	r.Record(telemetry.Event{Type: telemetry.Error, RunID: "r1"})
	r.Record(telemetry.Event{Type: telemetry.Error, RunID: "r1"})
	require.Len(t, lines(t, folder, telemetry.TraceFile), 3)
	count := 0
	require.NoError(t, r.ReadRun("r1", func(telemetry.Event, []byte) { count++ }))
	require.Equal(t, 2, count)
}
