package telemetry_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"savant"
	"savant/internal/jsonvalue"
	"savant/schemas"
	"savant/telemetry"
)

// watcherFunc is a function as a telemetry.Watcher.
type watcherFunc func(telemetry.Event)

func (f watcherFunc) Recorded(event telemetry.Event) { f(event) }

func clock() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 600, time.UTC) }

func recorder(t *testing.T, options telemetry.Options) (*telemetry.Recorder, string) {
	t.Helper()
	folder := t.TempDir()
	root, err := os.OpenRoot(folder)
	require.NoError(t, err)
	options.Root, options.Now = root, clock
	r := telemetry.NewRecorder(options)
	t.Cleanup(func() { require.NoError(t, r.Close()); require.NoError(t, root.Close()) })
	return r, folder
}

func lines(t *testing.T, folder, name string) []string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(folder, filepath.FromSlash(name)))
	require.NoError(t, err)
	require.True(t, bytes.HasSuffix(data, []byte("\n")))
	return strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
}

// full returns an event with every field filled in.
func full(kind telemetry.Type) telemetry.Event {
	return telemetry.Event{Type: kind, Source: telemetry.SourceAgent, SessionID: "s1", RunID: "r1", Workflow: "hello", StepID: "a", Step: 2,
		Model: "m", PromptTokens: 10, OutputTokens: 3, Action: "tool", ToolName: "git.log", CallID: "2.0",
		Args: json.RawMessage(`{"limit":9007199254740993}`), Output: "{}", Status: "failed",
		Error: &telemetry.Failure{Code: "TOOL_FAILED", Details: "no"}, DurationMS: 1.5, TraceParent: "00-a-b-01",
		Metadata: map[string]any{"amr_rules_triggered": []any{"tour"}, "decision_summary": "look", "goal": "g", "steps": 2, "final": "f", "rule": "r"}}
}

func TestEveryEventFitsThePublishedSchema(t *testing.T) {
	files, err := fs.Sub(savant.Files, "schemas")
	require.NoError(t, err)
	set, err := schemas.Load(files)
	require.NoError(t, err)
	schema, err := set.Lookup("telemetry_event")
	require.NoError(t, err)
	r, folder := recorder(t, telemetry.Options{})
	for _, kind := range telemetry.Types() {
		r.Record(full(kind))
		r.Record(telemetry.Event{Type: kind})
	}
	written := lines(t, folder, telemetry.TraceFile)
	require.Len(t, written, 2*len(telemetry.Types()))
	for _, line := range written {
		value, err := jsonvalue.Decode([]byte(line))
		require.NoError(t, err)
		require.NoError(t, schema.Check(value), line)
	}
	require.Contains(t, written[0], `"limit":9007199254740993`)
	require.Contains(t, written[0], `"timestamp":"2026-01-02T03:04:05.0000006Z"`)
}

func TestReadableLines(t *testing.T) {
	r, folder := recorder(t, telemetry.Options{})
	r.Record(telemetry.Event{Type: telemetry.RunStarted, RunID: "r1", Metadata: map[string]any{"goal": "say\nhello", "decider": "ollama:s", "tools": 7}})
	r.Record(telemetry.Event{Type: telemetry.PromptSnapshot, RunID: "r1", Step: 1, PromptTokens: 900})
	r.Record(telemetry.Event{Type: telemetry.LLMCall, RunID: "r1", Step: 1, Model: "ollama:l", PromptTokens: 7, OutputTokens: 2, DurationMS: 1300,
		Metadata: map[string]any{"provider": "ollama", "purpose": "decide", "cache": false, "retry": 2, "switch": "it was stuck"}})
	r.Record(telemetry.Event{Type: telemetry.ReasoningStep, RunID: "r1", Step: 1, Action: "tool", ToolName: "context.fts_search", DurationMS: 1301,
		Metadata: map[string]any{"decision_summary": "look first"}})
	r.Record(telemetry.Event{Type: telemetry.ToolCallStarted, RunID: "r1", ToolName: "context.fts_search"})
	r.Record(telemetry.Event{Type: telemetry.ToolCallCompleted, RunID: "r1", Step: 1, ToolName: "context.fts_search",
		Args: json.RawMessage(`{"query":"indexer\u001b[31m"}`), DurationMS: 89.4, Status: "ok"})
	r.Record(telemetry.Event{Type: telemetry.PolicyDenied, RunID: "r1", Step: 1, ToolName: "git.log", Metadata: map[string]any{"rule": "deny"}})
	r.Record(telemetry.Event{Type: telemetry.ToolCallCompleted, RunID: "r1", Step: 1, ToolName: "git.log", Status: "denied",
		Error: &telemetry.Failure{Code: "TOOL_DENIED", Details: "git.log may not be called: deny"}})
	r.Record(telemetry.Event{Type: telemetry.Error, RunID: "r1", Step: 1, Error: &telemetry.Failure{Code: "REASONING_UNAVAILABLE"}, Metadata: map[string]any{"attempt": 3}})
	r.Record(telemetry.Event{Type: telemetry.MemorySnapshot, RunID: "r1", Step: 1, Metadata: map[string]any{"steps": 1, "bytes": 300}})
	r.Record(telemetry.Event{Type: telemetry.LLMCall, RunID: "r2", Workflow: "w", StepID: "say", DurationMS: 20, Status: "failed",
		Metadata: map[string]any{"cache": true, "provider": "reasoning_api"}, Error: &telemetry.Failure{Code: "INVALID_INTENT", Details: "no"}})
	r.Record(telemetry.Event{Type: telemetry.RunFinished, RunID: "r1", Status: "ok", DurationMS: 1234, PromptTokens: 7, OutputTokens: 2,
		Metadata: map[string]any{"steps": 8, "tool_calls": 2, "finishes": 1, "cost": 0.5, "final": "hello\x1b[0m"}})
	r.Record(telemetry.Event{Type: telemetry.RunFinished, RunID: "r1", Status: "stuck", Metadata: map[string]any{"steps": 1, "tool_calls": 0, "finishes": 0, "final": "no"}})
	const at = "2026-01-02T03:04:05.0000006Z r1 "
	require.Equal(t, []string{
		at + `Session started: "say\nhello", decided by ollama:s, 7 tools`,
		at + `1 build_prompt → 900 tokens`,
		at + `1 llm_call(ollama:l) → 1.3s, 7+2 tokens, retry 2, switched to it: it was stuck`,
		at + `1 parse_output → tool context.fts_search: look first (1.3s)`,
		at + `1 tool_call(context.fts_search) → 89ms {"query":"indexer\u001b[31m"}`,
		at + `1 tool_call(git.log) → 0.0ms denied TOOL_DENIED: git.log may not be called: deny`,
		at + `1 update_memory → 1 step, 300 bytes`,
		"2026-01-02T03:04:05.0000006Z r2 w/say llm_call(reasoning_api) → 20ms, 0+0 tokens, from the cache INVALID_INTENT: no",
		at + `Session complete: 8 steps, 2 tools, 1 finish; 7+2 tokens, 1.2s, cost 0.5000: hello\u{1b}[0m`,
		at + `Session ended (stuck): 1 step, 0 tools, 0 finishes; 0+0 tokens, 0.0ms: no`,
	}, lines(t, folder, telemetry.RuntimeFile))
}

func TestEventsAreNumberedUntilTheEnd(t *testing.T) {
	var seen []uint64
	r := telemetry.NewRecorder(telemetry.Options{Watcher: watcherFunc(func(e telemetry.Event) { seen = append(seen, e.Sequence) })})
	for range 3 {
		r.Record(telemetry.Event{Type: telemetry.Error})
	}
	require.NoError(t, r.Close())
	r.Record(telemetry.Event{Type: telemetry.Error}) // after the end: nothing
	require.Equal(t, []uint64{1, 2, 3}, seen)
	require.NoError(t, r.Close(), "closing twice is allowed")
}

func TestAFolderThatCannotBeWrittenCostsNoStep(t *testing.T) {
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "logs"), nil, 0o600))
	root, err := os.OpenRoot(folder)
	require.NoError(t, err)
	defer root.Close()
	var seen []telemetry.Event
	r := telemetry.NewRecorder(telemetry.Options{Root: root, Watcher: watcherFunc(func(e telemetry.Event) { seen = append(seen, e) })})
	r.Record(telemetry.Event{Type: telemetry.Error})
	require.Len(t, seen, 1)
	require.EqualValues(t, 1, r.Lost())
	require.NoError(t, r.Close())
}

func TestALargeEventIsStillOneLine(t *testing.T) {
	r, folder := recorder(t, telemetry.Options{})
	many := map[string]any{}
	for i := range 100 {
		many[fmt.Sprint(i)] = strings.Repeat("é", 5000)
	}
	r.Record(telemetry.Event{Type: telemetry.Error, Metadata: many, Output: strings.Repeat("x", 1<<20)})
	written := lines(t, folder, telemetry.TraceFile)
	require.Len(t, written, 1)
	require.Less(t, len(written[0]), 32<<10)
	require.Contains(t, written[0], "left_out")
}

// TestWritersOfSeveralFilesAtOnce has several recorders, each with its own open files
// like a process, write across many rotations. Every line must be whole and unique.
func TestWritersOfSeveralFilesAtOnce(t *testing.T) {
	folder := t.TempDir()
	root, err := os.OpenRoot(folder)
	require.NoError(t, err)
	defer root.Close()
	var wait sync.WaitGroup
	for i := range 4 {
		wait.Go(func() {
			r := telemetry.NewRecorder(telemetry.Options{Root: root, MaxFile: 20_000})
			for step := range 200 {
				r.Record(telemetry.Event{Type: telemetry.Error, RunID: fmt.Sprint(i), Step: step + 1, Output: strings.Repeat("x", 100)})
			}
			if err := r.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	seen := map[string]bool{}
	for _, name := range []string{telemetry.TraceFile, telemetry.TraceFile + ".1"} {
		for _, line := range lines(t, folder, name) {
			var e telemetry.Event
			require.NoError(t, json.Unmarshal([]byte(line), &e), line)
			key := fmt.Sprint(e.RunID, "/", e.Step)
			require.False(t, seen[key], key)
			seen[key] = true
		}
	}
	info, err := os.Stat(filepath.Join(folder, "logs", "agent_trace.log.1"))
	require.NoError(t, err)
	require.Less(t, info.Size(), int64(21_000), "a file is moved at the first line over the limit")
}

// TestOneLineForOneFailure checks that a denied call and a failed call are one line
// each at the terminal.
func TestOneLineForOneFailure(t *testing.T) {
	denied := telemetry.Event{Type: telemetry.PolicyDenied, Step: 1, ToolName: "git.log", Metadata: map[string]any{"rule": "deny"}}
	call := telemetry.Event{Type: telemetry.ToolCallCompleted, Step: 1, ToolName: "git.log", Status: "denied", Error: &telemetry.Failure{Code: "TOOL_DENIED"}}
	require.Equal(t, "1 denied git.log by deny", telemetry.Line(denied))
	require.Equal(t, "started without a goal", telemetry.Line(telemetry.Event{Type: telemetry.RunStarted}))
	require.Empty(t, telemetry.Line(call))
	call.Status = "failed"
	require.Contains(t, telemetry.Line(call), "1 tool git.log")
	require.Equal(t, "1 retry REASONING_UNAVAILABLE: gone", telemetry.Line(telemetry.Event{Type: telemetry.Retry, Step: 1,
		Error: &telemetry.Failure{Code: "REASONING_UNAVAILABLE", Details: "gone"}}))
	require.Equal(t, "1 retry in 2s REASONING_UNAVAILABLE: gone", telemetry.Line(telemetry.Event{Type: telemetry.Retry, Step: 1,
		Error: &telemetry.Failure{Code: "REASONING_UNAVAILABLE", Details: "gone"}, Metadata: map[string]any{"wait_ms": int64(2000)}}))
	require.Empty(t, telemetry.Line(telemetry.Event{Type: telemetry.LLMCall, Step: 1, Error: &telemetry.Failure{Code: "REASONING_UNAVAILABLE"}}),
		"a failure has one line, that of the retry or of the end")
	require.Equal(t, "2 build_prompt → 900 tokens, 70 left out", telemetry.RuntimeLine(telemetry.Event{Type: telemetry.PromptSnapshot, Step: 2,
		PromptTokens: 900, Metadata: map[string]any{"left_out": 70.0}}))
}
