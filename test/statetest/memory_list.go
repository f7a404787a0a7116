package statetest

import (
	"cmp"
	"context"
	"slices"
	"time"

	"savant/think/state"
)

// List implements state.Journal.
func (m *Memory) List(_ context.Context, filter state.Filter) ([]state.Info, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := (state.Key{Workflow: filter.Workflow, Run: "r"}).Validate(); filter.Workflow != "" && err != nil {
		return nil, err
	}
	infos := []state.Info{}
	for key, found := range m.runs {
		if (filter.Workflow == "" || key.Workflow == filter.Workflow) && (filter.Run == "" || key.Run == filter.Run) {
			last := found.records[len(found.records)-1]
			infos = append(infos, state.Info{Workflow: key.Workflow, Run: key.Run, Status: last.Status,
				Version: last.Version, Created: found.records[0].Time, Updated: last.Time})
		}
	}
	slices.SortFunc(infos, func(a, b state.Info) int {
		return cmp.Or(parseTime(b.Updated).Compare(parseTime(a.Updated)), cmp.Compare(a.Key().String(), b.Key().String()))
	})
	return infos, nil
}

// parseTime reads a time that the store wrote.
func parseTime(text string) time.Time {
	at, _ := time.Parse(time.RFC3339Nano, text)
	return at
}

// Delete implements state.Journal.
func (m *Memory) Delete(_ context.Context, key state.Key) error {
	_, err := m.find(key)
	defer m.mu.Unlock()
	delete(m.runs, key)
	return err
}
