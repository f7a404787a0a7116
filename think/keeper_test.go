package think_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"savant"
	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/schemas"
	"savant/think"
	"savant/think/audit"
	"savant/think/library"
	"savant/think/maintenance"
	"savant/think/state"
)

// TestEveryRunCanBeKept takes every run of every scenario (of every second one
// outside CI) through what can be done with a run: it is whole, its export imports elsewhere as the same, and
// its answers lead its own workflow the same way.
func TestEveryRunCanBeKept(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.txtar")
	require.NoError(t, err)
	set, err := library.New(library.Layer{Files: savant.Files}).Schemas()
	require.NoError(t, err)
	schema, err := set.Lookup("run")
	require.NoError(t, err)
	var runs atomic.Int64
	t.Run("scenarios", func(t *testing.T) {
		for i, file := range files {
			if i%2 == 1 && os.Getenv("CI") == "" {
				continue
			}
			t.Run(filepath.Base(file), func(t *testing.T) {
				t.Parallel()
				runs.Add(int64(keepRuns(t, readScenario(t, file), schema)))
			})
		}
	})
	require.Greater(t, runs.Load(), int64(15))
}

// keepRuns plays a scenario, takes its runs through all and returns how many
// there are.
func keepRuns(t *testing.T, s *scenario, schema *schemas.Schema) int {
	root := s.lay(t)
	here := openLocal(t, root)
	defer here.close(t)
	p := &play{t: t, scenario: s, root: root, driver: here}
	p.all()
	keys, err := here.store.Keys(t.Context())
	require.NoError(t, err)
	there := openLocal(t, s.lay(t))
	defer there.close(t)
	for _, key := range keys {
		requireReadable(t, here.world, key, schema)
		keepRun(t, here.world, there.world, key)
	}
	return len(keys)
}

func keepRun(t *testing.T, here, there *world, key state.Key) {
	t.Helper()
	keeper := maintenance.New(here.engine, here.store)
	problems, err := keeper.Check(t.Context(), key)
	require.NoError(t, err)
	require.Empty(t, problems, key)
	var first, second bytes.Buffer
	exported, err := keeper.Export(t.Context(), key, &first)
	require.NoError(t, err)

	other := maintenance.New(there.engine, there.store)
	imported, err := other.Import(t.Context(), bytes.NewReader(first.Bytes()))
	require.NoError(t, err, key)
	require.Equal(t, exported, imported)
	_, err = other.Export(t.Context(), key, &second)
	require.NoError(t, err)
	require.Equal(t, first.Bytes(), second.Bytes(), key)
	events, err := other.History(t.Context(), key)
	require.NoError(t, err)
	require.Len(t, events, exported.Version)
	problems, err = other.Check(t.Context(), key)
	require.NoError(t, err)
	require.Empty(t, problems, key)

	compared, err := audit.New(there.engine).WhatIf(t.Context(), key.Workflow, key.Run, sourceOf(t, there, key))
	require.NoError(t, err)
	require.Nil(t, compared.Difference, key)
}

// requireReadable: the run's readable file is what its published schema says.
func requireReadable(t *testing.T, w *world, key state.Key, schema *schemas.Schema) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(w.root, ".savant", "state", key.Workflow, key.Run+".json"))
	require.NoError(t, err)
	value, err := jsonvalue.Decode(text)
	require.NoError(t, err)
	require.NoError(t, schema.Check(value), key)
}

// sourceOf returns the workflow that a run is pinned to.
func sourceOf(t *testing.T, w *world, key state.Key) []byte {
	records, err := w.store.Records(t.Context(), key, 0, 0)
	require.NoError(t, err)
	var plan struct {
		Pins map[string]struct{ Digest string }
	}
	require.NoError(t, json.Unmarshal(records[0].Data, &plan))
	source, err := w.store.Artifact(t.Context(), plan.Pins[key.Workflow].Digest)
	require.NoError(t, err)
	return source
}

const threeSteps = `name: three
version: "1"
steps:
  - {id: a, call: llm.generate, input_template: {task: A}, capture_as: a}
  - {id: b, call: llm.generate, input_template: {task: "{{ len(a) }}"}, capture_as: b}
  - {id: c, call: llm.generate, input_template: {task: "{{ len(b) }}"}, capture_as: c}
artifacts: [{name: all, type: json, from: "[state.a, state.c]"}]
`

// keptFolder returns a folder with three finished runs, large results, a
// checkpoint and a reset.
func keptFolder(t *testing.T) string {
	root := t.TempDir()
	place(t, root, "three.yaml", []byte(threeSteps))
	w := openLocal(t, root)
	defer w.close(t)
	call := func(tool, args string) {
		require.False(t, isFault(w.call(t, tool, json.RawMessage(args))), args)
	}
	for _, run := range []string{"r1", "r2", "r3"} {
		of := `"workflow":"three","run_id":"` + run + `"`
		call("think.plan", `{`+of+`}`)
		call("think.next", `{`+of+`,"step_id":"a","result_snapshot":"`+run+`"}`)
		call("think.reset", `{`+of+`,"save":"half"}`)
		call("think.next", `{`+of+`,"step_id":"b","result_snapshot":"`+strings.Repeat(run, 5000)+`"}`)
		call("think.next", `{`+of+`,"step_id":"c","result_snapshot":"c"}`)
		call("think.reset", `{`+of+`,"checkpoint":"half","force":true}`)
		call("think.next", `{`+of+`,"step_id":"b","result_snapshot":"`+strings.Repeat(run, 4000)+`"}`)
		call("think.next", `{`+of+`,"step_id":"c","result_snapshot":"c"}`)
	}
	return root
}

func filesBelow(t require.TestingT, folder string) []string {
	var files []string
	require.NoError(t, filepath.WalkDir(folder, func(name string, entry os.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			files = append(files, name)
		}
		return err
	}))
	slices.Sort(files)
	return files
}

// damage changes one file as accidents do.
func damage(t *rapid.T, file string) {
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	at := rapid.IntRange(0, len(data)-1).Draw(t, "at")
	switch rapid.SampledFrom([]string{"flip", "cut", "short", "gone"}).Draw(t, "how") {
	case "flip":
		data[at] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
	case "cut":
		data = slices.Delete(data, at, min(len(data), at+rapid.IntRange(1, 600).Draw(t, "length")))
	case "short":
		data = data[:at]
	case "gone":
		require.NoError(t, os.Remove(file))
		return
	}
	require.NoError(t, os.WriteFile(file, data, 0o600))
}

// TestRepairAfterAnyDamage: whatever file is damaged, a repair leaves runs that
// are whole and replay, at most as far as they were, and no other run changes.
func TestRepairAfterAnyDamage(t *testing.T) {
	t.Parallel()
	whole := keptFolder(t)
	check(t, 500, func(rt *rapid.T) {
		root, err := os.MkdirTemp(t.TempDir(), "r")
		require.NoError(rt, err)
		require.NoError(rt, os.CopyFS(root, os.DirFS(whole)))
		files := filesBelow(rt, filepath.Join(root, ".savant"))
		damage(rt, rapid.SampledFrom(files).Draw(rt, "file"))
		before, refused := journals(t, root), map[string]bool{}
		w, err := openWorld(root)
		require.NoError(rt, err)
		defer w.close()
		keeper := maintenance.New(w.engine, w.store)
		for _, run := range []string{"r1", "r2", "r3"} {
			key := state.Key{Workflow: "three", Run: run}
			problems, err := keeper.Check(t.Context(), key)
			if err == nil && len(problems) == 0 {
				continue
			}
			if err == nil {
				refused[run] = !repairRun(rt, keeper, key)
			} else {
				require.ErrorIs(rt, err, fault.UnknownRun)
			}
			delete(before, run+".journal")
		}
		after := journals(t, root)
		for name, content := range before {
			require.Equal(rt, content, after[name], "a whole run was changed")
		}
		for name := range after {
			key := state.Key{Workflow: "three", Run: strings.TrimSuffix(name, ".journal")}
			if !refused[key.Run] {
				requireReplays(rt, w, key)
			}
		}
	})
}

// repairRun returns false when the damage looks like a newer format, which no
// repair may touch.
func repairRun(t *rapid.T, keeper *maintenance.Keeper, key state.Key) bool {
	done, err := keeper.Repair(t.Context(), key)
	if errors.Is(err, state.ErrNewerFormat) {
		return false
	}
	require.NoError(t, err)
	requireUsable(t, done.Remaining)
	require.LessOrEqual(t, done.Version, 7)
	for i, each := range done.Lost {
		require.Equal(t, done.Version+1+i, each.Version)
	}
	if done.Version == 0 {
		return true
	}
	problems, err := keeper.Check(t.Context(), key)
	require.NoError(t, err)
	requireUsable(t, problems)
	return true
}

// requireUsable: nothing is wrong but with results that a reset left behind,
// which cannot be made again and which nothing waits for.
func requireUsable(t *rapid.T, problems []state.Problem) {
	for _, each := range problems {
		require.False(t, each.Blocking, each.Message)
		require.Contains(t, each.Message, `"b"`)
	}
}

func requireReplays(t *rapid.T, w *world, key state.Key) {
	out, err := audit.New(w.engine).Debug(t.Context(), audit.DebugInput{Action: "replay", Workflow: key.Workflow, RunID: key.Run})
	if err != nil { // a result that a reset left behind may be lost: that run goes on
		require.ErrorIs(t, err, fault.StateCorrupt)
		require.ErrorContains(t, err, "artifact")
		return
	}
	if out.Difference != nil {
		require.Contains(t, out.Difference.Replayed, "artifact")
	}
}

// TestPruneByAge moves the clock: finished runs go when their time has come,
// those in progress never.
func TestPruneByAge(t *testing.T) {
	t.Parallel()
	root := keptFolder(t)
	w := openLocal(t, root)
	defer w.close(t)
	require.False(t, isFault(w.call(t, "think.plan", json.RawMessage(`{"workflow":"three","run_id":"r4"}`))))
	keeper := maintenance.New(w.engine, w.store)
	prune := func(passed string, in maintenance.PruneInput) *maintenance.Pruned {
		require.NoError(t, os.WriteFile(filepath.Join(root, "clock"), []byte(passed), 0o644))
		out, err := keeper.Prune(t.Context(), in)
		require.NoError(t, err)
		return out
	}
	const month = 30 * 24 * time.Hour
	prompt, err := w.store.PutArtifact(t.Context(), []byte("a prompt of a model, which no record names"))
	require.NoError(t, err)
	require.NoError(t, os.Chtimes(filepath.Join(root, state.ArtifactFile(prompt)), w.engine.Now(), w.engine.Now()))
	require.Equal(t, maintenance.Pruned{Runs: []state.Info{}, Purged: []state.Trashed{}}, *prune("719h", maintenance.PruneInput{OlderThan: month}))
	require.Len(t, prune("721h", maintenance.PruneInput{OlderThan: month, DryRun: true, Purge: true}).Runs, 3)
	recorded := map[string]float64{}
	out := prune("721h", maintenance.PruneInput{OlderThan: month, Purge: true,
		Progress: func(_, total float64, message string) { recorded[message] = total }})
	require.Contains(t, recorded, "pruning runs")
	require.GreaterOrEqual(t, recorded["pruning runs"], 3.0)
	require.Len(t, out.Runs, 3)
	require.Empty(t, out.Purged)
	require.Equal(t, 1, out.Collected.Artifacts)
	require.Empty(t, prune("1440h", maintenance.PruneInput{OlderThan: month, Purge: true}).Purged)
	require.Len(t, prune("1442h", maintenance.PruneInput{OlderThan: month, Purge: true}).Purged, 3)
	list, err := w.engine.StateList(t.Context(), think.StateListInput{})
	require.NoError(t, err)
	require.Len(t, list.Runs, 1)
	require.Equal(t, "r4", list.Runs[0].Run)
}
