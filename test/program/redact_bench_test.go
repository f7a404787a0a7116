package program

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/internal/redact"
	"savant/telemetry"
)

// BenchmarkRedactionOfAStep takes the removal of secrets from what a step leaves in
// the trace beside the step itself, think.next with a result of 1 KB through a real
// server. The goal is 0.03.
func BenchmarkRedactionOfAStep(b *testing.B) {
	const steps = 1000
	folder := b.TempDir()
	longWorkflow(b, folder, steps)
	s := startServer(b, exec.Command("savant-with-nothing"), folder)
	record := string(bytes.Repeat([]byte("some words "), payload/11))
	var next samples
	for i := 0; b.Loop(); i++ {
		run := fmt.Sprintf("r%d", i/steps)
		if i%steps == 0 {
			s.call(b, "think.plan", map[string]any{"workflow": "long", "run_id": run})
		}
		next.time(func() {
			s.call(b, "think.next", map[string]any{"run_id": run, "step_id": fmt.Sprintf("s%d", i%steps), "result_snapshot": record})
		})
	}
	require.NoError(b, s.stdin.Close())
	require.NoError(b, s.wait(b))

	recorder := telemetry.NewRecorder(telemetry.Options{Redactor: redact.FromEnvironment(os.Environ())}) // it writes nothing
	traced, took := eventsOfSteps(b, folder), samples{}
	for _, each := range traced {
		took.time(func() { recorder.Record(each) })
	}
	require.NotEmpty(b, traced)
	perStep := max(1, float64(len(traced))/float64(len(next)))
	b.ReportMetric(took.median()*perStep/next.median(), "redaction/step")
	b.ReportMetric(took.median()*perStep, "redaction-ms")
	b.ReportMetric(next.median(), "step-ms")
}

// eventsOfSteps returns the events of think.next in the trace of a folder.
func eventsOfSteps(b *testing.B, folder string) (events []telemetry.Event) {
	files, err := filepath.Glob(filepath.Join(folder, "logs", "agent_trace.log*"))
	require.NoError(b, err)
	for _, name := range files {
		data, err := os.ReadFile(name)
		require.NoError(b, err)
		for lines := bufio.NewScanner(bytes.NewReader(data)); lines.Scan(); {
			var e telemetry.Event
			require.NoError(b, json.Unmarshal(lines.Bytes(), &e))
			if e.ToolName == "think.next" {
				events = append(events, e)
			}
		}
	}
	return events
}
