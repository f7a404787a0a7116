package statetest

import (
	"context"
	"slices"
	"strings"
	"time"

	"savant/fault"
	"savant/think/state"
)

// Find implements state.Store.
func (m *Memory) Find(_ context.Context, run string) ([]state.Key, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var keys []state.Key
	for key := range m.runs {
		if key.Run == run {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, func(a, b state.Key) int { return strings.Compare(a.Workflow, b.Workflow) })
	return keys, nil
}

// List implements state.Store.
func (m *Memory) List(_ context.Context, workflow string) ([]state.Info, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if workflow != "" {
		if err := validateName(workflow); err != nil {
			return nil, err
		}
	}
	infos := []state.Info{}
	for key, found := range m.runs {
		if workflow == "" || key.Workflow == workflow {
			last := found.records[len(found.records)-1]
			infos = append(infos, state.Info{Workflow: key.Workflow, Run: key.Run, Status: last.Status,
				Version: last.Version, Created: found.records[0].Time, Updated: last.Time})
		}
	}
	slices.SortFunc(infos, func(a, b state.Info) int {
		if c := parseTime(b.Updated).Compare(parseTime(a.Updated)); c != 0 {
			return c
		}
		return strings.Compare(a.Workflow+"/"+a.Run, b.Workflow+"/"+b.Run)
	})
	return infos, nil
}

// parseTime reads a time that the store wrote.
func parseTime(text string) time.Time {
	at, _ := time.Parse(time.RFC3339Nano, text)
	return at
}

// Delete implements state.Store.
func (m *Memory) Delete(_ context.Context, key state.Key) error {
	found, err := m.find(key)
	defer m.mu.Unlock()
	if err != nil {
		return err
	}
	m.trash = append(m.trash, trashed{key, found})
	delete(m.runs, key)
	return nil
}

// Undelete implements state.Store.
func (m *Memory) Undelete(_ context.Context, key state.Key) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, thrown := range slices.Backward(m.trash) {
		if thrown.key != key {
			continue
		}
		if _, ok := m.runs[key]; ok {
			return fault.New(fault.StateConflict, "run %s exists", key)
		}
		m.runs[key] = thrown.run
		m.trash = slices.Delete(m.trash, i, i+1)
		return nil
	}
	return fault.New(fault.UnknownRun, "no run %s was deleted", key)
}

// Close implements state.Store.
func (m *Memory) Close() error { return nil }
