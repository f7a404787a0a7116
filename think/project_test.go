package think

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"savant/fault"
	"savant/test/statetest"
	"savant/think/library"
	"savant/think/state"
)

const twoSteps = `name: two
version: "1.0"
steps:
  - {id: a, call: llm.generate, input_template: {task: x}}
  - {id: b, call: llm.generate, input_template: {task: x}}
  - {id: c, call: llm.generate, input_template: {task: x}}
`

// A run is written at its plan and end, and between them once it has rested, or
// after five rests where its steps come without one.
func TestWhenARunIsWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const items = 100
		files := fstest.MapFS{"workflows/long.yaml": {Data: []byte(`{name: long, version: "1.0", params: {n: {type: array}},
steps: [{id: s, call: llm.generate, foreach: params.n, input_template: {task: "{{item}}"}, capture_as: all}]}`)}}
		store := statetest.NewMemory()
		engine := New(Options{Library: library.New(library.Layer{Files: files}), Store: store})
		defer engine.Close()
		written := func() int {
			snapshot, err := store.Load(t.Context(), state.Key{Workflow: "long", Run: "r"}, "")
			require.NoError(t, err)
			return snapshot.Version
		}
		at := 0
		step := func() {
			_, err := engine.Next(t.Context(), NextInput{RunID: "r", StepID: fmt.Sprintf("s_%d", at), ResultSnapshot: json.RawMessage(`"x"`)})
			require.NoError(t, err)
			at++
		}
		_, err := engine.Plan(t.Context(), PlanInput{Workflow: "long", RunID: "r", Params: map[string]any{"n": make([]any, items)}})
		require.NoError(t, err)
		require.Equal(t, 1, written())
		step()
		require.Equal(t, 1, written(), "it has not rested")
		time.Sleep(2 * time.Second)
		require.Equal(t, 2, written(), "it has rested")
		for range 40 { // 20 seconds without a rest
			step()
			time.Sleep(500 * time.Millisecond)
			require.Greater(t, written(), 1+at-2*maxRests-2, "it lags five seconds and a tick at most")
		}
		for at < items {
			step()
		}
		require.Equal(t, 1+items, written(), "it has ended")
	})
}

// A file that takes long to write is written less often: after fifty times as long.
func TestAFileThatIsSlowToWriteIsWrittenSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		files := fstest.MapFS{"workflows/long.yaml": {Data: []byte(`{name: long, version: "1.0", params: {n: {type: array}},
steps: [{id: s, call: llm.generate, foreach: params.n, input_template: {task: "{{item}}"}}]}`)}}
		store := &slow{Storage: statetest.NewMemory()}
		engine := New(Options{Library: library.New(library.Layer{Files: files}), Store: store})
		defer engine.Close()
		_, err := engine.Plan(t.Context(), PlanInput{Workflow: "long", RunID: "r", Params: map[string]any{"n": make([]any, 100)}})
		require.NoError(t, err)
		for at := range 40 { // 20 seconds without a rest
			_, err := engine.Next(t.Context(), NextInput{RunID: "r", StepID: fmt.Sprintf("s_%d", at), ResultSnapshot: json.RawMessage(`"x"`)})
			require.NoError(t, err)
			time.Sleep(500 * time.Millisecond)
		}
		require.EqualValues(t, 3, store.written.Load(), "at the plan, after 5 seconds, and 10 seconds after that")
	})
}

// slow is a store that takes 200 ms to write the readable state of a run under way.
type slow struct {
	state.Storage
	written atomic.Int32
}

func (s *slow) Save(ctx context.Context, key state.Key, name string, snapshot state.Snapshot) error {
	if snapshot.Lazy {
		time.Sleep(200 * time.Millisecond)
		s.written.Add(1)
	}
	return s.Storage.Save(ctx, key, name, snapshot)
}

// The file of the latest run is of the one that moved last, in whatever order
// runs are written.
func TestTheLatestRunIsTheOneThatMovedLast(t *testing.T) {
	t.Parallel()
	files := fstest.MapFS{"workflows/two.yaml": {Data: []byte(twoSteps)}}
	folder := t.TempDir()
	store, err := state.Open(folder, state.Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, store.Close()) }()
	engine := New(Options{Library: library.New(library.Layer{Files: files}), Store: store, Now: time.Now, ProjectEvery: time.Hour})
	for i := range 20 {
		_, err := engine.Plan(t.Context(), PlanInput{Workflow: "two", RunID: fmt.Sprintf("r%02d", i)})
		require.NoError(t, err)
	}
	for i := range 20 {
		_, err := engine.Next(t.Context(), NextInput{Workflow: "two", RunID: fmt.Sprintf("r%02d", (i*7)%20), StepID: "a", ResultSnapshot: json.RawMessage(`"x"`)})
		require.NoError(t, err)
	}
	engine.Close()
	latest, err := os.ReadFile(filepath.Join(folder, ".savant", "state", "two.json"))
	require.NoError(t, err)
	require.Contains(t, string(latest), `"run": "r13"`)
	require.Contains(t, string(latest), `"version": 2`)
}

// What could not be written is written once it can be, though no step comes.
func TestWhatCouldNotBeWrittenIsWrittenLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		files := fstest.MapFS{"workflows/two.yaml": {Data: []byte(twoSteps)}}
		store := &unwritable{Storage: statetest.NewMemory()}
		engine := New(Options{Library: library.New(library.Layer{Files: files}), Store: store, Now: time.Now})
		defer engine.Close()
		version := func() int {
			snapshot, err := store.Load(t.Context(), state.Key{Workflow: "two", Run: "r"}, "")
			require.NoError(t, err)
			return snapshot.Version
		}
		_, err := engine.Plan(t.Context(), PlanInput{Workflow: "two", RunID: "r"})
		require.NoError(t, err)
		for at, step := range []string{"a", "b"} {
			store.full.Store(true)
			_, err = engine.Next(t.Context(), NextInput{RunID: "r", StepID: step, ResultSnapshot: json.RawMessage(`"x"`)})
			require.NoError(t, err)
			time.Sleep(time.Minute)
			require.Equal(t, at+1, version())
			store.full.Store(false)
			time.Sleep(2 * time.Second)
			require.Equal(t, at+2, version())
		}
	})
}

// unwritable is a store that can write no readable state for a time.
type unwritable struct {
	state.Storage
	full atomic.Bool
}

func (f *unwritable) Save(ctx context.Context, key state.Key, name string, snapshot state.Snapshot) error {
	if name == "" && f.full.Load() {
		return fault.New(fault.StateNotSaved, "the disk is full")
	}
	return f.Storage.Save(ctx, key, name, snapshot)
}
