package telemetry_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/telemetry"
)

// TestADeletedFolderIsMadeAgain checks that a recorder loses no later event after logs/
// is deleted or moved.
func TestADeletedFolderIsMadeAgain(t *testing.T) {
	for name, take := range map[string]func(string) error{
		"deleted": os.RemoveAll,
		"moved":   func(logs string) error { return os.Rename(logs, logs+"-before") },
	} {
		t.Run(name, func(t *testing.T) {
			var warnings bytes.Buffer
			r, folder := recorder(t, telemetry.Options{MaxFile: 2000, Logger: slog.New(slog.NewTextHandler(&warnings, nil))})
			event := func(i int) telemetry.Event {
				return telemetry.Event{Type: telemetry.RunFinished, RunID: fmt.Sprint("r", i), Status: "done", Metadata: map[string]any{"steps": 1}}
			}
			r.Record(event(0))
			for round := 1; round <= 3; round++ {
				require.NoError(t, take(filepath.Join(folder, "logs")))
				r.Record(event(round))
				r.Record(event(round))
				require.Len(t, lines(t, folder, telemetry.TraceFile), 2)
				require.Len(t, lines(t, folder, telemetry.RuntimeFile), 2)
				require.Equal(t, round, bytes.Count(warnings.Bytes(), []byte("level=WARN")), warnings.String())
				require.NoError(t, os.RemoveAll(filepath.Join(folder, "logs-before")))
			}
			for range 20 {
				r.Record(event(4))
			}
			require.FileExists(t, filepath.Join(folder, telemetry.TraceFile+".1"), "files are moved on as before")
		})
	}
}
