package telemetry_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/telemetry"
)

// TestLinesAreFoundAtTheirPlaces reads every line of both files again, in any order,
// also after the newer file was rotated.
func TestLinesAreFoundAtTheirPlaces(t *testing.T) {
	folder := t.TempDir()
	root, err := os.OpenRoot(folder)
	require.NoError(t, err)
	defer root.Close()
	recorder := telemetry.NewRecorder(telemetry.Options{Root: root, MaxFile: 300_000})
	for i := range 400 {
		recorder.Record(telemetry.Event{Type: telemetry.Retry, RunID: "r", Step: i + 1, Output: strings.Repeat("x", i*5)})
	}
	var places []telemetry.Place
	var lines []string
	_, err = recorder.Lines(new(telemetry.Cursor), func(at telemetry.Place, line []byte) bool {
		places, lines = append(places, at), append(lines, string(line))
		return true
	})
	require.NoError(t, err)
	require.Len(t, lines, 400)
	files := map[string]bool{}
	for i, each := range places {
		files[each.File] = true
		again, known := telemetry.ParsePlace(each.String())
		require.True(t, known)
		require.Equal(t, places[i], again)
	}
	require.Len(t, files, 2)

	check := func(order []int) (found int) {
		wanted := make([]telemetry.Place, len(order))
		for i, number := range order {
			wanted[i] = places[number]
		}
		require.NoError(t, recorder.ReadAt(wanted, func(i int, line []byte) bool {
			require.Equal(t, lines[order[i]], string(line))
			found++
			return true
		}))
		return found
	}
	forward, mixed := make([]int, 400), make([]int, 400)
	for i := range forward {
		forward[i], mixed[i] = i, i*171%400
	}
	require.Equal(t, 400, check(forward))
	require.Equal(t, 400, check(mixed))

	trace := filepath.Join(folder, telemetry.TraceFile)
	require.NoError(t, os.Rename(trace, trace+".1"))
	kept := 0
	for _, each := range places {
		if each.File == places[399].File {
			kept++
		}
	}
	require.Equal(t, kept, check(mixed), "a moved file keeps its places, and those of the replaced one are gone")

	last := places[399]
	for _, wrong := range []telemetry.Place{{File: last.File, At: last.At + 1, Length: last.Length - 2}, {File: last.File, At: last.At + 1, Length: last.Length + 100}, {File: "0011223344556677", At: 0, Length: 10}} {
		require.NoError(t, recorder.ReadAt([]telemetry.Place{wrong}, func(int, []byte) bool {
			require.Fail(t, "there is no line there", "%v", wrong)
			return true
		}))
	}
	for _, text := range []string{"", "x", "a:1", "a:-1:3", "a:1:0", "a:1:9999999", "a:1:2:3"} {
		_, known := telemetry.ParsePlace(text)
		require.False(t, known, text)
	}
}
