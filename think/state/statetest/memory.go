// Package statetest holds what every state.Store has to pass, and a Store in
// memory that exists to show that the suite asks for nothing but the contract.
package statetest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"time"

	"savant/fault"
	"savant/think/state"
)

// Memory is a Store that forgets everything when it goes.
type Memory struct {
	mu        sync.Mutex
	runs      map[state.Key]*run
	trash     []trashed
	artifacts map[string][]byte
}

type run struct {
	records     []state.Record
	snapshot    state.Snapshot
	checkpoints map[string]state.Snapshot
}

type trashed struct {
	key state.Key
	run *run
}

var _ state.Store = (*Memory)(nil)

// NewMemory returns an empty store.
func NewMemory() *Memory {
	return &Memory{runs: map[state.Key]*run{}, artifacts: map[string][]byte{}}
}

func (r *run) end() state.Link {
	if len(r.records) == 0 {
		return state.Link{}
	}
	last := r.records[len(r.records)-1]
	return state.Link{Version: last.Version, Hash: last.Hash}
}

// find locks the store and returns a run; the caller unlocks.
func (m *Memory) find(key state.Key) (*run, error) {
	m.mu.Lock()
	if err := key.Validate(); err != nil {
		return nil, err
	}
	found, ok := m.runs[key]
	if !ok {
		return nil, fault.New(fault.UnknownRun, "no run %s", key)
	}
	return found, nil
}

// Create implements state.Store.
func (m *Memory) Create(_ context.Context, key state.Key, first state.Record) (state.Record, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := key.Validate(); err != nil {
		return state.Record{}, err
	}
	if first.Version != 1 {
		return state.Record{}, fault.New(fault.InvalidParams, "version %d is not 1", first.Version)
	}
	sealed, err := state.Seal(key, state.Link{}, first, time.Now())
	if err != nil {
		return state.Record{}, err
	}
	if _, ok := m.runs[key]; ok {
		return state.Record{}, fault.New(fault.StateConflict, "run %s exists", key)
	}
	m.runs[key] = &run{records: []state.Record{sealed}, checkpoints: map[string]state.Snapshot{}}
	return sealed, nil
}

// Append implements state.Store.
func (m *Memory) Append(_ context.Context, key state.Key, next state.Record) (state.Record, error) {
	found, err := m.find(key)
	defer m.mu.Unlock()
	if err != nil {
		return state.Record{}, err
	}
	sealed, err := state.Seal(key, found.end(), next, time.Now())
	if err != nil {
		return state.Record{}, err
	}
	found.records = append(found.records, sealed)
	return sealed, nil
}

// Records implements state.Store.
func (m *Memory) Records(_ context.Context, key state.Key, after int) ([]state.Record, error) {
	found, err := m.find(key)
	defer m.mu.Unlock()
	if err != nil {
		return nil, err
	}
	return slices.Clone(found.records[min(max(after, 0), len(found.records)):]), nil
}

// Head implements state.Store.
func (m *Memory) Head(_ context.Context, key state.Key) (int, string, error) {
	found, err := m.find(key)
	defer m.mu.Unlock()
	if err != nil {
		return 0, "", err
	}
	return found.end().Version, found.end().Hash, nil
}

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
	var compact bytes.Buffer
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
	if err := (state.Key{Workflow: key.Workflow, Run: name}).Validate(); err != nil {
		return err
	}
	complete, err := found.complete(key, snapshot)
	if err == nil {
		found.checkpoints[name] = complete
	}
	return err
}

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
	snapshot, ok := found.checkpoints[name]
	if !ok {
		return state.Snapshot{}, fault.New(fault.CheckpointNotFound, "no checkpoint %q", name)
	}
	return snapshot, nil
}
