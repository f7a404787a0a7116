package agent_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"savant/agent"
	"savant/agent/memory"
	"savant/engines"
	"savant/reasoning"
	"savant/telemetry"
)

// benchSteps is how long a run of the benchmark is.
const benchSteps = 205

// clocked answers at once, and notes for each question how long ago it gave
// the answer before: the gap that an agent makes.
type clocked struct {
	mu       sync.Mutex
	answered time.Time
	gaps     []time.Duration
	count    int
}

func (c *clocked) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return
	}
	if c.count > 0 {
		c.gaps = append(c.gaps, time.Since(c.answered))
	}
	c.count++
	answer := fmt.Sprintf(`{"action":"tool","tool_name":"test.nothing","args":{"text":"%d"}}`, c.count)
	if c.count > benchSteps {
		answer = `{"action":"finish","final":"done"}`
	}
	_, _ = io.WriteString(w, answer)
	c.answered = time.Now()
}

func median(list []time.Duration) float64 {
	sorted := slices.Sorted(slices.Values(list))
	return float64(sorted[len(sorted)/2]) / float64(time.Millisecond)
}

func worst(list []time.Duration) float64 {
	return float64(slices.Max(list)) / float64(time.Millisecond)
}

// BenchmarkGap measures the time between the answer of a Reasoning API and the
// next question, beside a bare loop that posts, writes a trace line and syncs a
// session file of 16 KB.
func BenchmarkGap(b *testing.B) {
	var ours, bare, early, late []time.Duration
	for b.Loop() {
		gaps := agentGaps(b, 1)
		ours = append(ours, gaps...)
		early, late = append(early, gaps[3:13]...), append(late, gaps[len(gaps)-10:]...)
		bare = append(bare, bareGaps(b)...)
	}
	b.ReportMetric(median(ours), "gap-ms")
	b.ReportMetric(median(bare), "bare-ms")
	b.ReportMetric(median(ours)/median(bare), "gap/bare")
	b.ReportMetric(median(late)/median(early), "step200/step5")
}

func agentGaps(b *testing.B, tools int) []time.Duration {
	api := &clocked{}
	server := httptest.NewServer(api)
	defer server.Close()
	root, err := os.OpenRoot(b.TempDir())
	require.NoError(b, err)
	defer root.Close()
	transport, err := reasoning.NewHTTP(reasoning.HTTPOptions{URL: server.URL})
	require.NoError(b, err)
	defer transport.Close()
	recorder := telemetry.NewRecorder(telemetry.Options{Root: root})
	defer func() { require.NoError(b, recorder.Close()) }()
	type in struct {
		Text string `json:"text,omitempty" doc:"A text that nothing is done with, whatever it says."`
		Path string `json:"path,omitempty" doc:"A file that is not read."`
		Size int    `json:"size,omitempty" min:"0" max:"100" doc:"A number that does not matter."`
	}
	registry := engines.NewRegistry(engines.Options{})
	for i := range tools {
		name := "test.nothing"
		if i > 0 {
			name += strconv.Itoa(i)
		}
		nothing := engines.Bind(name, "Does nothing. "+strings.Repeat("It says so at some length. ", 10), func(_ context.Context, given in) (in, error) { return given, nil })
		nothing.ReadOnly = true
		require.NoError(b, registry.Add(nothing))
	}
	runtime := agent.New(agent.Options{Toolbox: registry, Memory: memory.Open(root, time.Now), Recorder: recorder, Now: time.Now, SnapshotPause: agent.DefaultPause,
		Decider: reasoning.New(reasoning.Options{Transport: transport}), NewID: func() string { return "r1" }})
	defer runtime.Close()
	run, err := runtime.Start(agent.RunOptions{Goal: "g", MaxSteps: 1000})
	require.NoError(b, err)
	require.Equal(b, agent.StatusOK, run.Wait(b.Context(), nil).Status)
	return api.gaps
}

// BenchmarkTools measures the same gap with 200 tools beside one.
func BenchmarkTools(b *testing.B) {
	var one, many []time.Duration
	for b.Loop() {
		one, many = append(one, agentGaps(b, 1)...), append(many, agentGaps(b, 200)...)
	}
	b.ReportMetric(median(one), "1-tool-ms")
	b.ReportMetric(median(many), "200-tools-ms")
	b.ReportMetric(median(many)/median(one), "200-tools/1-tool")
}

func bareGaps(b *testing.B) []time.Duration {
	api := &clocked{}
	server := httptest.NewServer(api)
	defer server.Close()
	folder := b.TempDir()
	trace, err := os.Create(filepath.Join(folder, "trace"))
	require.NoError(b, err)
	defer trace.Close()
	session := bytes.Repeat([]byte("x"), memory.Budget)
	line := []byte(strings.Repeat("x", 300) + "\n")
	question, err := json.Marshal(map[string]any{"memory": strings.Repeat("x", memory.Budget)})
	require.NoError(b, err)
	for range benchSteps {
		response, err := http.Post(server.URL, "application/json", bytes.NewReader(question))
		require.NoError(b, err)
		_, err = io.Copy(io.Discard, response.Body)
		require.NoError(b, err)
		require.NoError(b, response.Body.Close())
		_, err = trace.Write(line)
		require.NoError(b, err)
		file, err := os.Create(filepath.Join(folder, "session"))
		require.NoError(b, err)
		_, err = file.Write(session)
		require.NoError(b, err)
		require.NoError(b, file.Sync())
		require.NoError(b, file.Close())
	}
	return api.gaps
}
