package statetest

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"savant/fault"
	"savant/think/state"
)

// testModel does the same random things to a store and to Memory and compares
// what they answer.
func testModel(t *testing.T, store state.Storage) {
	round := 0
	rapid.Check(t, func(t *rapid.T) {
		round++ // each round has runs of its own, so that one store serves all
		pair := &pair{store: store, model: NewMemory(), workflow: fmt.Sprintf("w%d", round)}
		t.Repeat(map[string]func(*rapid.T){
			"create": pair.create, "append": pair.append, "project": pair.project, "checkpoint": pair.checkpoint,
			"delete": pair.delete, "": pair.compare,
		})
	})
}

type pair struct {
	store, model state.Storage
	workflow     string
}

func (p *pair) key(t *rapid.T) state.Key {
	return state.Key{Workflow: p.workflow, Run: rapid.SampledFrom([]string{"r1", "r2"}).Draw(t, "run")}
}

// both does something to both stores and requires the same outcome.
func both[V any](t *rapid.T, p *pair, do func(state.Storage) (V, error)) V {
	want, wantErr := do(p.model)
	got, gotErr := do(p.store)
	require.Equal(t, codeOf(wantErr), codeOf(gotErr), "%v, not %v", gotErr, wantErr)
	require.Equal(t, want, got)
	return got
}

func codeOf(err error) fault.Code {
	var coded *fault.Error
	if errors.As(err, &coded) {
		return coded.Code
	}
	return ""
}

// The time of all records, since two clocks would not agree.
const fixedTime = "2026-01-02T03:04:05Z"

func (p *pair) create(t *rapid.T) {
	key, first := p.key(t), record(1)
	first.Time = fixedTime
	both(t, p, func(s state.Storage) (state.Record, error) { return s.Append(context.Background(), key, first) })
}

func (p *pair) append(t *rapid.T) {
	key := p.key(t)
	version, _, _ := p.model.Head(context.Background(), key) // 0 for an unknown run
	next := record(version + rapid.IntRange(0, 2).Draw(t, "ahead"))
	next.Time = fixedTime
	both(t, p, func(s state.Storage) (state.Record, error) { return s.Append(context.Background(), key, next) })
}

// drawSnapshot returns a snapshot of some record of the run.
func (p *pair) drawSnapshot(t *rapid.T, key state.Key) state.Snapshot {
	records, _ := p.model.Records(context.Background(), key, 0, 0) // none for an unknown run
	of := record(1)
	if len(records) > 0 {
		of = rapid.SampledFrom(records).Draw(t, "record")
	}
	snapshot := snapshotOf(of)
	snapshot.Time = fixedTime
	return snapshot
}

func (p *pair) project(t *rapid.T) {
	key := p.key(t)
	snapshot := p.drawSnapshot(t, key)
	snapshot.Lazy = rapid.Bool().Draw(t, "lazy")
	both(t, p, func(s state.Storage) (any, error) { return nil, s.Save(context.Background(), key, "", snapshot) })
}

func (p *pair) checkpoint(t *rapid.T) {
	key, name := p.key(t), rapid.SampledFrom([]string{"a", "b"}).Draw(t, "name")
	snapshot := p.drawSnapshot(t, key)
	both(t, p, func(s state.Storage) (any, error) { return nil, s.Save(context.Background(), key, name, snapshot) })
}

func (p *pair) delete(t *rapid.T) {
	key := p.key(t)
	both(t, p, func(s state.Storage) (any, error) { return nil, s.Delete(context.Background(), key) })
}

// compare requires everything that can be read to be the same.
func (p *pair) compare(t *rapid.T) {
	ctx := context.Background()
	both(t, p, func(s state.Storage) ([]state.Info, error) { return s.List(ctx, state.Filter{Workflow: p.workflow}) })
	for _, run := range []string{"r1", "r2"} {
		key := state.Key{Workflow: p.workflow, Run: run}
		both(t, p, func(s state.Storage) ([]state.Info, error) {
			return s.List(ctx, state.Filter{Workflow: p.workflow, Run: run})
		})
		both(t, p, func(s state.Storage) ([]state.Record, error) { return s.Records(ctx, key, 0, 0) })
		both(t, p, func(s state.Storage) (state.Snapshot, error) { return s.Load(ctx, key, "") })
		both(t, p, func(s state.Storage) ([]state.CheckpointInfo, error) { return s.Checkpoints(ctx, key) })
		both(t, p, func(s state.Storage) (state.Snapshot, error) { return s.Load(ctx, key, "a") })
	}
}
