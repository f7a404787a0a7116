package memory_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"savant"
	"savant/agent/memory"
	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/schemas"
)

func clock() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }

type helper interface {
	require.TestingT
	Helper()
}

func open(t testing.TB) (*memory.Store, string) {
	t.Helper()
	folder := t.TempDir()
	root, err := os.OpenRoot(folder)
	require.NoError(t, err)
	t.Cleanup(func() { _ = root.Close() })
	return memory.Open(root, clock), folder
}

func create(t helper, store *memory.Store, id string) *memory.Session {
	t.Helper()
	session, err := store.Create(id)
	require.NoError(t, err)
	session.Describe(memory.Head{Goal: "g", Status: "running", Started: clock().Format(time.RFC3339)})
	return session
}

func called(index, bytes int) memory.Step {
	output, err := json.Marshal(map[string]any{"step": index, "text": strings.Repeat("x", bytes)})
	if err != nil {
		panic(err)
	}
	return memory.Step{Index: index, Action: "tool", Reasoning: "to see", Calls: []memory.Call{
		{Tool: "git.log", Args: json.RawMessage(`{"limit":1}`), Output: output, DurationMS: 1}}}
}

func read(t helper, folder, name string) memory.Snapshot {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(folder, filepath.FromSlash(name)))
	require.NoError(t, err)
	require.LessOrEqual(t, utf8.RuneCount(data), memory.Budget)
	var snapshot memory.Snapshot
	require.NoError(t, json.Unmarshal(data, &snapshot))
	return snapshot
}

func TestASmallRunIsKeptWhole(t *testing.T) {
	store, folder := open(t)
	session := create(t, store, "r1")
	for i := range 7 {
		session.Remember(called(i+1, 100))
	}
	saved, err := session.Save()
	require.NoError(t, err)
	require.Equal(t, 7, saved.Steps)
	require.Zero(t, saved.Summarized)
	snapshot := read(t, folder, ".savant/sessions/r1.json")
	require.Len(t, snapshot.Steps, 7)
	require.Empty(t, snapshot.Summaries)
	require.Equal(t, snapshot, read(t, folder, ".savant/session.json"))
}

func TestOverTheBudgetFiveStepsStayWhole(t *testing.T) {
	store, folder := open(t)
	session := create(t, store, "r1")
	for i := range 20 {
		session.Remember(called(i+1, 1500))
	}
	_, err := session.Save()
	require.NoError(t, err)
	snapshot := read(t, folder, ".savant/session.json")
	require.Len(t, snapshot.Steps, 6)
	require.JSONEq(t, `{"index":"summary","note":"Summarized 15 earlier steps"}`, string(snapshot.Steps[0]))
	for i, raw := range snapshot.Steps[1:] {
		whole, err := json.Marshal(called(16+i, 1500))
		require.NoError(t, err)
		require.JSONEq(t, string(whole), string(raw))
	}
	require.Len(t, snapshot.Summaries, 1)
	require.Contains(t, snapshot.Summaries[0], `15 git.log {"limit":1} -> {"step":15,`)
	require.Len(t, session.Steps(), 20, "the whole history stays")
}

func TestWhatIsTooLargeIsCutAndKeptWhole(t *testing.T) {
	store, folder := open(t)
	session := create(t, store, "r1")
	for i := range 3 {
		session.Remember(called(i+1, 30_000))
	}
	saved, err := session.Save()
	require.NoError(t, err)
	require.Zero(t, saved.Summarized)
	snapshot := read(t, folder, ".savant/session.json")
	require.Len(t, snapshot.Steps, 3)
	for i, raw := range snapshot.Steps {
		var step memory.Step
		require.NoError(t, json.Unmarshal(raw, &step))
		require.True(t, step.Calls[0].Cut)
		require.Contains(t, step.Calls[0].Note, "cut from 300")
		whole, err := os.ReadFile(filepath.Join(folder, filepath.FromSlash(step.Calls[0].Artifact)))
		require.NoError(t, err)
		require.JSONEq(t, string(called(i+1, 30_000).Calls[0].Output), string(whole))
	}
}

func TestAnOutputTooLargeForAStepBecomesAnArtifactAtOnce(t *testing.T) {
	store, folder := open(t)
	session := create(t, store, "r1")
	large := called(1, 100_000).Calls[0]
	kept, err := session.Keep(large)
	require.NoError(t, err)
	require.True(t, kept.Cut)
	require.Less(t, len(kept.Output), 33<<10)
	whole, err := os.ReadFile(filepath.Join(folder, filepath.FromSlash(kept.Artifact)))
	require.NoError(t, err)
	require.Equal(t, string(large.Output), string(whole))
	small, err := session.Keep(called(1, 10).Calls[0])
	require.NoError(t, err)
	require.Equal(t, called(1, 10).Calls[0], small)
}

// TestSnapshotsFit: whatever the steps are, a snapshot is within its budget,
// fits its published schema, is the same every time, and tells of every step.
func TestSnapshotsFit(t *testing.T) {
	files, err := fs.Sub(savant.Files, "schemas")
	require.NoError(t, err)
	set, err := schemas.Load(files)
	require.NoError(t, err)
	schema, err := set.Lookup("session")
	require.NoError(t, err)
	store, folder := open(t)
	runs := 0
	rapid.Check(t, func(t *rapid.T) {
		runs++
		session := create(t, store, fmt.Sprintf("r%d", runs))
		session.Describe(memory.Head{Goal: rapid.String().Draw(t, "goal"), Status: "running", Started: "2026-01-02T03:04:05Z", State: map[string]any{}})
		count := rapid.IntRange(0, 40).Draw(t, "steps")
		for i := range count {
			session.Remember(drawStep(t, i+1))
		}
		saved, err := session.Save()
		require.NoError(t, err)
		require.Equal(t, count, saved.Steps)
		data, err := os.ReadFile(filepath.Join(folder, ".savant", "session.json"))
		require.NoError(t, err)
		snapshot := read(t, folder, ".savant/session.json")
		stub := min(saved.Summarized, 1)
		require.Equal(t, count, saved.Summarized+len(snapshot.Steps)-stub)
		value, err := jsonvalue.Decode(data)
		require.NoError(t, err)
		require.NoError(t, schema.Check(value))
		_, err = session.Save()
		require.NoError(t, err)
		again, err := os.ReadFile(filepath.Join(folder, ".savant", "session.json"))
		require.NoError(t, err)
		require.True(t, bytes.Equal(data, again), "the same memory gives the same bytes")
		require.NoError(t, session.Close())
	})
}

func drawStep(t *rapid.T, index int) memory.Step {
	step := memory.Step{Index: index, Action: "tool", Reasoning: rapid.StringN(0, 50, -1).Draw(t, "reasoning")}
	for range rapid.IntRange(0, 3).Draw(t, "calls") {
		text, err := json.Marshal(strings.Repeat(rapid.StringN(1, 5, -1).Draw(t, "text"), rapid.IntRange(0, 3000).Draw(t, "times")))
		require.NoError(t, err)
		call := memory.Call{Tool: "x.y", Args: json.RawMessage(`{"a":` + string(text) + `}`), Output: text}
		if rapid.Bool().Draw(t, "failed") {
			call.Output, call.Error = nil, fault.New(fault.ToolFailed, "%s", text)
		}
		step.Calls = append(step.Calls, call)
	}
	return step
}
