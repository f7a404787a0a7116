// Package statetest has a Journal in memory for tests. Its own tests are those that every
// state.Journal has to pass: the one in memory, that of a folder, that of a database.
package statetest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"savant/fault"
	"savant/think/state"
)

// Memory is a Journal that forgets everything when it goes.
type Memory struct {
	mu        sync.Mutex
	runs      map[state.Key]*run
	artifacts map[string][]byte
}

type run struct {
	records   []state.Record
	snapshots map[string]state.Snapshot // by name, "" for the readable one
}

var _ state.Storage = (*Memory)(nil)

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

// Append implements state.Journal.
func (m *Memory) Append(_ context.Context, key state.Key, record state.Record) (state.Record, error) {
	found, err := m.find(key)
	defer m.mu.Unlock()
	if record.Version == 1 && errors.Is(err, fault.UnknownRun) {
		found, err = &run{snapshots: map[string]state.Snapshot{}}, nil
	}
	if err != nil {
		return state.Record{}, err
	}
	sealed, _, err := state.Seal(key, found.end(), record, time.Now())
	if err != nil {
		return state.Record{}, err
	}
	found.records = append(found.records, sealed)
	m.runs[key] = found
	return sealed, nil
}

// Records implements state.Journal.
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

// Head implements state.Journal.
func (m *Memory) Head(_ context.Context, key state.Key) (int, string, error) {
	found, err := m.find(key)
	defer m.mu.Unlock()
	if err != nil {
		return 0, "", err
	}
	return found.end().Version, found.end().Hash, nil
}
