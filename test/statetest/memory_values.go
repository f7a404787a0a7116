package statetest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"

	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/think/state"
)

// Save implements state.Journal.
func (m *Memory) Save(_ context.Context, key state.Key, name string, snapshot state.Snapshot) error {
	found, err := m.findNamed(key, name)
	defer m.mu.Unlock()
	if err != nil {
		return err
	}
	complete, err := found.complete(key, snapshot)
	if err == nil && (name != "" || complete.Version >= found.snapshots[""].Version) {
		found.snapshots[name] = complete
	}
	return err
}

// Load implements state.Journal.
func (m *Memory) Load(_ context.Context, key state.Key, name string) (state.Snapshot, error) {
	found, err := m.findNamed(key, name)
	defer m.mu.Unlock()
	if err != nil {
		return state.Snapshot{}, err
	}
	snapshot, ok := found.snapshots[name]
	if !ok && name != "" {
		return state.Snapshot{}, fault.New(fault.CheckpointNotFound, "no checkpoint %q", name)
	}
	return snapshot, nil
}

// findNamed is find that also checks the name of a checkpoint, where it is one.
func (m *Memory) findNamed(key state.Key, checkpoint string) (*run, error) {
	found, err := m.find(key)
	if named := (state.Key{Workflow: checkpoint, Run: checkpoint}).Validate(); checkpoint != "" && named != nil {
		return nil, named
	}
	return found, err
}

// complete checks a snapshot against the journal and fills what a store fills.
func (r *run) complete(key state.Key, snapshot state.Snapshot) (state.Snapshot, error) {
	at := snapshot.Version - 1
	if at < 0 || at >= len(r.records) || r.records[at].Hash != snapshot.Record {
		return state.Snapshot{}, fault.New(fault.StateConflict, "version v%d is not in the journal", snapshot.Version)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, snapshot.State); err != nil {
		return state.Snapshot{}, fault.New(fault.InvalidParams, "not JSON: %w", err)
	}
	snapshot.State, snapshot.Lazy = compact.Bytes(), false
	snapshot.Format, snapshot.Workflow, snapshot.Run = state.Format, key.Workflow, key.Run
	snapshot.Digest = jsonvalue.HexSum(snapshot.State)
	snapshot.Time = cmp.Or(snapshot.Time, time.Now().UTC().Format(time.RFC3339Nano))
	return snapshot, nil
}

// Checkpoints implements state.Journal.
func (m *Memory) Checkpoints(_ context.Context, key state.Key) ([]state.CheckpointInfo, error) {
	found, err := m.find(key)
	defer m.mu.Unlock()
	if err != nil {
		return nil, err
	}
	infos := []state.CheckpointInfo{}
	for name, snapshot := range found.snapshots {
		if name == "" {
			continue
		}
		infos = append(infos, state.CheckpointInfo{Name: name, Version: snapshot.Version, Time: snapshot.Time, Hash: snapshot.Hash})
	}
	slices.SortFunc(infos, func(a, b state.CheckpointInfo) int {
		return cmp.Or(cmp.Compare(a.Version, b.Version), cmp.Compare(a.Name, b.Name))
	})
	return infos, nil
}

// PutArtifact implements state.Artifacts.
func (m *Memory) PutArtifact(_ context.Context, data []byte) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	name := jsonvalue.HexSum(data)
	m.artifacts[name] = bytes.Clone(data)
	return name, nil
}

// Artifact implements state.Artifacts.
func (m *Memory) Artifact(_ context.Context, name string) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(name) != len(jsonvalue.HexSum(nil)) {
		return nil, fault.New(fault.InvalidParams, "%q is not a digest", name)
	}
	data, ok := m.artifacts[name]
	if !ok {
		return nil, fault.New(fault.StateCorrupt, "artifact %s: %w", name, state.ErrNoArtifact)
	}
	return bytes.Clone(data), nil
}
