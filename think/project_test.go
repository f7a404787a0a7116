package think

import (
	"bytes"
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
	"savant/think/library"
	"savant/think/state"
	"savant/think/state/statetest"
)

// The end of a run is written soon and does not hurry those that go on, which
// are written all the same.
func TestTheEndOfARunHurriesNoOther(t *testing.T) {
	files := fstest.MapFS{"workflows/two.yaml": {Data: []byte("name: two\nversion: \"1.0\"\nsteps:\n  - {id: a, call: llm.generate, input_template: {task: x}}\n  - {id: b, call: llm.generate, input_template: {task: x}}\n")}}
	store := statetest.NewMemory()
	engine := New(Options{Library: library.New(library.Layer{Files: files}), Store: store, Now: time.Now, ProjectEvery: time.Hour})
	written := func(run string) int {
		snapshot, err := store.Snapshot(t.Context(), state.Key{Workflow: "two", Run: run})
		require.NoError(t, err)
		return snapshot.Version
	}
	hold := func(run string) *live {
		l, err := engine.open(t.Context(), "two", run)
		require.NoError(t, err)
		l.mu.Unlock()
		return l
	}
	for _, run := range []string{"on", "ends"} {
		_, err := engine.Plan(t.Context(), PlanInput{Workflow: "two", RunID: run})
		require.NoError(t, err)
		_, err = engine.Next(t.Context(), NextInput{RunID: run, StepID: "a", ResultSnapshot: json.RawMessage(`"x"`)})
		require.NoError(t, err)
		require.Equal(t, 1, written(run), "the step is to be written in an hour")
	}
	engine.projects.later(hold("ends"), true)
	require.Eventually(t, func() bool { return written("ends") == 2 }, time.Minute, time.Millisecond)
	require.Equal(t, 1, written("on"))
	engine.projects.later(hold("on"), false) // and what is armed anew can be put off again
	engine.Close()
	require.Equal(t, 2, written("on"))
}

// A run whose steps come without a pause is written while they come, in parts,
// and what is written is a state that it had.
func TestALongRunIsWrittenWhileItsStepsCome(t *testing.T) {
	files := fstest.MapFS{"workflows/long.yaml": {Data: []byte(`{name: long, version: "1.0", limits: {items: 3000}, params: {n: {type: array}},
steps: [{id: s, call: llm.generate, foreach: params.n, input_template: {task: "{{item}}"}, capture_as: all}]}`)}}
	store, err := state.Open(t.TempDir(), state.Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, store.Close()) }()
	engine := New(Options{Library: library.New(library.Layer{Files: files}), Store: store, Now: time.Now, ProjectEvery: 5 * time.Millisecond})
	defer engine.Close()
	items := make([]any, 3000)
	for i := range items {
		items[i] = i
	}
	_, err = engine.Plan(t.Context(), PlanInput{Workflow: "long", RunID: "r", Params: map[string]any{"n": items}})
	require.NoError(t, err)

	key := state.Key{Workflow: "long", Run: "r"}
	seen := map[int]bool{}
	for i := range items {
		_, err := engine.Next(t.Context(), NextInput{RunID: "r", StepID: fmt.Sprintf("s_%d", i), ResultSnapshot: json.RawMessage(`"x"`)})
		require.NoError(t, err)
		snapshot, err := store.Snapshot(t.Context(), key)
		require.NoError(t, err)
		if snapshot.Version > 1 {
			records, err := store.Records(t.Context(), key, snapshot.Version-1, 1)
			require.NoError(t, err)
			require.Equal(t, records[0].State, snapshot.Hash)
			seen[snapshot.Version] = true
		}
		if len(seen) > 2 {
			return
		}
	}
	t.Fatal("it was not written while its steps came")
}

// The file of the latest run is of the one that moved last, in whatever order
// runs are written.
func TestTheLatestRunIsTheOneThatMovedLast(t *testing.T) {
	files := fstest.MapFS{"workflows/two.yaml": {Data: []byte("name: two\nversion: \"1.0\"\nsteps:\n  - {id: a, call: llm.generate, input_template: {task: x}}\n  - {id: b, call: llm.generate, input_template: {task: x}}\n")}}
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

// A program that ends does not finish what a newer state follows at once, and
// pauses no more.
func TestWhatIsLateIsGivenUpAtTheEnd(t *testing.T) {
	closed, waits := make(chan struct{}), false
	out := &bytes.Buffer{}
	paced := &unhurried{out: out, pause: time.Nanosecond, closed: closed, late: func() bool { return waits }}
	write := func() error { _, err := paced.Write([]byte("a")); return err }
	waits = true
	require.NoError(t, write(), "it goes on while the program does")
	paced.pause = time.Hour
	waits = false
	close(closed)
	require.NoError(t, write())
	waits = true
	require.ErrorIs(t, write(), errLate)
	require.Equal(t, "aa", out.String())
}

// What could not be written is written once it can be, though no step comes.
func TestWhatCouldNotBeWrittenIsWrittenLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		files := fstest.MapFS{"workflows/two.yaml": {Data: []byte("name: two\nversion: \"1.0\"\nsteps:\n  - {id: a, call: llm.generate, input_template: {task: x}}\n  - {id: b, call: llm.generate, input_template: {task: x}}\n")}}
		store := &unwritable{Store: statetest.NewMemory()}
		engine := New(Options{Library: library.New(library.Layer{Files: files}), Store: store, Now: time.Now})
		defer engine.Close()
		version := func() int {
			snapshot, err := store.Snapshot(t.Context(), state.Key{Workflow: "two", Run: "r"})
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
	state.Store
	full atomic.Bool
}

func (f *unwritable) Project(ctx context.Context, key state.Key, snapshot state.Snapshot, durable bool) error {
	if f.full.Load() {
		return fault.New(fault.StateNotSaved, "the disk is full")
	}
	return f.Store.Project(ctx, key, snapshot, durable)
}
