package statetest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"savant/fault"
	"savant/think/state"
)

// Snapshot implements state.Store.
func (m *Memory) Snapshot(_ context.Context, key state.Key) (state.Snapshot, error) {
	found, err := m.find(key)
	defer m.mu.Unlock()
	if err != nil {
		return state.Snapshot{}, err
	}
	return found.snapshot, nil
}

// Project implements state.Store.
func (m *Memory) Project(_ context.Context, key state.Key, snapshot state.Snapshot, _ bool) error {
	found, err := m.find(key)
	defer m.mu.Unlock()
	if err != nil {
		return err
	}
	complete, err := found.complete(key, snapshot)
	if err == nil && complete.Version >= found.snapshot.Version {
		found.snapshot = complete
	}
	return err
}

// complete checks a snapshot against the journal and fills what a store fills.
func (r *run) complete(key state.Key, snapshot state.Snapshot) (state.Snapshot, error) {
	at := snapshot.Version - 1
	if at < 0 || at >= len(r.records) || r.records[at].Hash != snapshot.Record {
		return state.Snapshot{}, fault.New(fault.StateConflict, "version v%d is not of the journal", snapshot.Version)
	}
	var written, compact bytes.Buffer
	if snapshot.WriteState != nil {
		if err := snapshot.WriteState(&written); err != nil {
			return state.Snapshot{}, err
		}
		snapshot.State, snapshot.WriteState = written.Bytes(), nil
	}
	if err := json.Compact(&compact, snapshot.State); err != nil {
		return state.Snapshot{}, fault.New(fault.InvalidParams, "not JSON: %w", err)
	}
	snapshot.State = compact.Bytes()
	snapshot.Format, snapshot.Workflow, snapshot.Run = state.Format, key.Workflow, key.Run
	snapshot.Digest = digest(snapshot.State)
	if snapshot.Time == "" {
		snapshot.Time = time.Now().UTC().Format(time.RFC3339Nano)
	}
	return snapshot, nil
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// Checkpoint implements state.Store.
func (m *Memory) Checkpoint(_ context.Context, key state.Key, name string, snapshot state.Snapshot) error {
	found, err := m.find(key)
	defer m.mu.Unlock()
	if err != nil {
		return err
	}
	if err := validateName(name); err != nil {
		return err
	}
	complete, err := found.complete(key, snapshot)
	if err == nil {
		found.checkpoints[name] = complete
	}
	return err
}

// validateName holds a name by itself to what the names of a Key are held to.
func validateName(name string) error { return state.Key{Workflow: name, Run: name}.Validate() }

// Checkpoints implements state.Store.
func (m *Memory) Checkpoints(_ context.Context, key state.Key) ([]state.CheckpointInfo, error) {
	found, err := m.find(key)
	defer m.mu.Unlock()
	if err != nil {
		return nil, err
	}
	infos := []state.CheckpointInfo{}
	for name, snapshot := range found.checkpoints {
		infos = append(infos, state.CheckpointInfo{Name: name, Version: snapshot.Version, Time: snapshot.Time, Hash: snapshot.Hash})
	}
	slices.SortFunc(infos, func(a, b state.CheckpointInfo) int {
		if a.Version != b.Version {
			return a.Version - b.Version
		}
		return strings.Compare(a.Name, b.Name)
	})
	return infos, nil
}

// Restore implements state.Store.
func (m *Memory) Restore(_ context.Context, key state.Key, name string) (state.Snapshot, error) {
	found, err := m.find(key)
	defer m.mu.Unlock()
	if err != nil {
		return state.Snapshot{}, err
	}
	if err := validateName(name); err != nil {
		return state.Snapshot{}, err
	}
	snapshot, ok := found.checkpoints[name]
	if !ok {
		return state.Snapshot{}, fault.New(fault.CheckpointNotFound, "no checkpoint %q", name)
	}
	return snapshot, nil
}

// PutArtifact implements state.Store.
func (m *Memory) PutArtifact(_ context.Context, data []byte) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	name := digest(data)
	m.artifacts[name] = bytes.Clone(data)
	return name, nil
}

// Artifact implements state.Store.
func (m *Memory) Artifact(_ context.Context, name string) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(name) != len(digest(nil)) {
		return nil, fault.New(fault.InvalidParams, "%q is not a digest", name)
	}
	data, ok := m.artifacts[name]
	if !ok {
		return nil, fault.New(fault.StateCorrupt, "the artifact %s is missing", name)
	}
	return bytes.Clone(data), nil
}
