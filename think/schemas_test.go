package think_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"savant/engines"
	"savant/engines/guide"
	"savant/fault"
	"savant/think"
	"savant/think/audit"
	"savant/think/library"
	"savant/think/state"
)

// A run goes on under the schemas it was planned with, also after a restart
// and although somebody made one stricter meanwhile.
func TestRunKeepsItsSchemas(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	files := fstest.MapFS{
		"schemas/Finding.json": {Data: []byte(`{"type":"object","required":["a"]}`), ModTime: time.Unix(1, 0)},
		"workflows/two.yaml": {Data: []byte(`name: two
version: "1.0"
steps:
  - {id: a, call: llm.generate, input_template: {task: A}, success_schema: Finding, capture_as: a}
  - {id: b, call: llm.generate, input_template: {task: "{{ state.a.a }}"}, success_schema: Finding}
`), ModTime: time.Unix(1, 0)}}
	open := func() *think.Engine {
		store, err := state.Open(root, state.Options{})
		require.NoError(t, err)
		engine := think.New(think.Options{Library: library.New(library.Layer{Files: files}), Store: store, Now: time.Now, NewID: func() string { return "r2" }})
		t.Cleanup(func() {
			engine.Close()
			require.NoError(t, store.Close())
		})
		return engine
	}
	ctx := context.Background()
	first := open()
	_, err := first.Plan(ctx, think.PlanInput{Workflow: "two", RunID: "r1"})
	require.NoError(t, err)
	_, err = first.Next(ctx, think.NextInput{RunID: "r1", StepID: "a", ResultSnapshot: json.RawMessage(`{"a":1}`)})
	require.NoError(t, err)

	files["schemas/Finding.json"] = &fstest.MapFile{Data: []byte(`{"type":"object","required":["a","more"]}`), ModTime: time.Unix(2, 0)}
	second := open()
	reply, err := second.Next(ctx, think.NextInput{RunID: "r1", StepID: "b", ResultSnapshot: json.RawMessage(`{"a":2}`)})
	require.NoError(t, err)
	require.Equal(t, "done", reply.Outcome)
	replayed, err := audit.New(second).Debug(ctx, audit.DebugInput{RunID: "r1", Action: "replay"})
	require.NoError(t, err)
	require.Equal(t, "identical", replayed.Verdict)

	_, err = second.Plan(ctx, think.PlanInput{Workflow: "two"})
	require.NoError(t, err)
	_, err = second.Next(ctx, think.NextInput{RunID: "r2", StepID: "a", ResultSnapshot: json.RawMessage(`{"a":1}`)})
	require.ErrorIs(t, err, fault.ValidationFailed, "a new run has the new schema")
	require.Contains(t, fault.From(err).Diagnostics[0].Message, `"more"`)
}

// An invalid schema file affects only the workflows that refer to it: the others are
// listed and planned. Once the file is corrected, all are, even if only its readability
// changed.
func TestABrokenSchemaStopsNobodyElse(t *testing.T) {
	t.Parallel()
	workflow := func(name, schema string) []byte {
		return []byte("name: " + name + "\nversion: \"1.0\"\nsteps:\n  - {id: a, call: llm.generate, input_template: {task: A}, success_schema: " + schema + "}\n")
	}
	folder := t.TempDir()
	root, err := os.OpenRoot(folder)
	require.NoError(t, err)
	defer root.Close()
	require.NoError(t, os.MkdirAll(filepath.Join(folder, "schemas"), 0o700))
	require.NoError(t, os.Symlink("/outside/Bad.json", filepath.Join(folder, "schemas", "Bad.json"))) // which root refuses
	bundled := fstest.MapFS{"schemas/Bad.json": {Data: []byte(`{}`)}, "schemas/Good.json": {Data: []byte(`{}`)},
		"workflows/direct.yaml": {Data: workflow("direct", "Bad")}, "workflows/far.yaml": {Data: workflow("far", "{$ref: Bad}")},
		"workflows/good.yaml": {Data: workflow("good", "Good")}}
	store, err := state.Open(t.TempDir(), state.Options{})
	require.NoError(t, err)
	defer store.Close()
	engine := think.New(think.Options{Library: library.New(library.Layer{Files: bundled}, library.Layer{Files: root.FS()}), Store: store, Now: time.Now,
		NewID: func() string { return "r" }})
	defer engine.Close()

	for _, name := range []string{"direct", "far"} {
		_, err := engine.Plan(t.Context(), think.PlanInput{Workflow: name})
		require.ErrorIs(t, err, fault.YAMLSchemaViolation)
		require.ErrorContains(t, err, "schemas/Bad.json")
	}
	list, err := engine.Library.Catalog(t.Context(), library.CatalogInput{})
	require.NoError(t, err)
	valid := map[string]bool{}
	for _, each := range list.Workflows {
		valid[each.ID] = each.Error == ""
	}
	require.Equal(t, map[string]bool{"direct": false, "far": false, "good": true}, valid)
	_, err = engine.Plan(t.Context(), think.PlanInput{Workflow: "good", RunID: "r1"})
	require.NoError(t, err)

	require.NoError(t, os.Remove(filepath.Join(folder, "schemas", "Bad.json")))
	for _, name := range []string{"direct", "far"} {
		_, err := engine.Plan(t.Context(), think.PlanInput{Workflow: name, RunID: name})
		require.NoError(t, err)
	}
	_, err = engine.Next(t.Context(), think.NextInput{RunID: "r1", StepID: "a", ResultSnapshot: json.RawMessage(`{}`)})
	require.NoError(t, err)
}

// If a step names an invalid schema while the run is going on, the run keeps this error
// when it is replayed, although the file was corrected meanwhile.
func TestARunKeepsWhatWasBroken(t *testing.T) {
	t.Parallel()
	files := fstest.MapFS{"schemas/Bad.json": {Data: []byte(`{"type"`), ModTime: time.Unix(1, 0)},
		"workflows/ask.yaml": {Data: []byte(`name: ask
version: "1.0"
steps:
  - {id: a, call: llm.generate, input_template: {task: A}, capture_as: a}
  - {id: b, call: human.ask, input_template: {message: M, schema: "{{ state.a }}"}}
`)}}
	root := t.TempDir()
	open := func() *think.Engine {
		store, err := state.Open(root, state.Options{})
		require.NoError(t, err)
		engine := think.New(think.Options{Library: library.New(library.Layer{Files: files}), Store: store, Now: time.Now, NewID: func() string { return "r" }})
		t.Cleanup(func() {
			engine.Close()
			require.NoError(t, store.Close())
		})
		return engine
	}
	first := open()
	_, err := first.Plan(t.Context(), think.PlanInput{Workflow: "ask", RunID: "r"})
	require.NoError(t, err)
	_, err = first.Next(t.Context(), think.NextInput{RunID: "r", StepID: "a", ResultSnapshot: json.RawMessage(`{"$ref":"Bad"}`)})
	require.ErrorIs(t, err, fault.ExpressionError)
	require.ErrorContains(t, err, "schemas/Bad.json:1:8")

	files["schemas/Bad.json"] = &fstest.MapFile{Data: []byte(`{}`), ModTime: time.Unix(2, 0)}
	second := open()
	_, err = second.Plan(t.Context(), think.PlanInput{Workflow: "ask", RunID: "r"})
	require.ErrorIs(t, err, fault.ExpressionError)
	require.ErrorContains(t, err, "schemas/Bad.json:1:8", "the run keeps the error that it reported")
	replayed, err := audit.New(second).Debug(t.Context(), audit.DebugInput{RunID: "r", Action: "replay"})
	require.NoError(t, err)
	require.Equal(t, "identical", replayed.Verdict)
}

// A run is pinned to the schemas that its first instruction was made with, also
// where somebody edits one while a person is asked for the parameters.
func TestARunIsPinnedToTheSchemasItWasReadWith(t *testing.T) {
	t.Parallel()
	files := fstest.MapFS{"schemas/S.json": {Data: []byte(`{"type":"string"}`), ModTime: time.Unix(1, 0)},
		"workflows/asks.yaml": {Data: []byte(`name: asks
version: "1.0"
params: {who: {type: string, required: true}}
steps:
  - {id: a, call: llm.generate, input_template: {task: "{{ params.who }}"}, success_schema: S}
`)}}
	root := t.TempDir()
	open := func() *think.Engine {
		store, err := state.Open(root, state.Options{})
		require.NoError(t, err)
		engine := think.New(think.Options{Library: library.New(library.Layer{Files: files}), Store: store, Now: time.Now, NewID: func() string { return "r" }})
		t.Cleanup(func() {
			engine.Close()
			require.NoError(t, store.Close())
		})
		return engine
	}
	ask := guide.Caller(engines.Call{Caller: engines.Caller{Person: engines.PersonFunc(func(context.Context, engines.Elicitation) (engines.Answer, error) {
		files["schemas/S.json"] = &fstest.MapFile{Data: []byte(`{"type":"integer"}`), ModTime: time.Unix(2, 0)}
		return engines.Answer{Action: "accept", Content: json.RawMessage(`{"who":"ada"}`)}, nil
	})}})
	_, err := open().Plan(t.Context(), think.PlanInput{Workflow: "asks", RunID: "r", Caller: ask})
	require.NoError(t, err)
	second := open()
	replayed, err := audit.New(second).Debug(t.Context(), audit.DebugInput{RunID: "r", Action: "replay"})
	require.NoError(t, err)
	require.Equal(t, "identical", replayed.Verdict)
	_, err = second.Next(t.Context(), think.NextInput{RunID: "r", StepID: "a", ResultSnapshot: json.RawMessage(`"text"`)})
	require.NoError(t, err)
}
