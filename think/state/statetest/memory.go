// Package statetest holds what every state.Store has to pass, and a Store in
// memory that exists to show that the suite asks for nothing but the contract.
package statetest

import (
	"context"
	"slices"
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
func (m *Memory) Records(_ context.Context, key state.Key, after, limit int) ([]state.Record, error) {
	found, err := m.find(key)
	defer m.mu.Unlock()
	if err != nil {
		return nil, err
	}
	rest := found.records[min(max(after, 0), len(found.records)):]
	if limit > 0 {
		rest = rest[:min(limit, len(rest))]
	}
	return slices.Clone(rest), nil
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
