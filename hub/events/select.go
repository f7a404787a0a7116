package events

import (
	"encoding/json"
	"slices"
	"strings"

	"savant/telemetry"
)

// Filter selects events of a run.
type Filter struct {
	Types []string // empty: all
	Query string   // a text in the line, in any case
	Step  int      // 0: all
}

// Selection are the events of a run that a filter selects, by place.
type Selection struct {
	// Epoch changes when events are renumbered.
	Epoch string
	// Total is the number of the run's events, without the filter.
	Total  int
	Places []telemetry.Place
	Steps  []int // the step of each place
}

// Select returns the events of a run that a filter selects. It reads the trace only for
// a query.
func (x *Index) Select(name string, f Filter) (Selection, error) {
	selected := x.inMemory(name, f)
	if f.Query == "" {
		return selected, nil
	}
	query := strings.ToLower(f.Query)
	places, steps := selected.Places, selected.Steps
	selected.Places, selected.Steps = nil, nil
	err := x.recorder.At(places, func(i int, line []byte) bool {
		if strings.Contains(strings.ToLower(string(line)), query) {
			selected.Places, selected.Steps = append(selected.Places, places[i]), append(selected.Steps, steps[i])
		}
		return true
	})
	return selected, err
}

// inMemory selects by types and steps, which the index holds.
func (x *Index) inMemory(name string, f Filter) Selection {
	x.mu.Lock()
	defer x.mu.Unlock()
	selected := Selection{Epoch: x.epoch}
	events := x.runs[name]
	if events == nil {
		return selected
	}
	var kinds []uint16
	for _, each := range f.Types {
		if kind := kindOf(telemetry.Type(each)); kind > 0 {
			kinds = append(kinds, kind)
		}
	}
	selected.Total = len(events.entries)
	for _, e := range events.entries {
		if (len(f.Types) == 0 || slices.Contains(kinds, e.kind)) && (f.Step == 0 || int32(f.Step) == e.step) {
			selected.Places = append(selected.Places, telemetry.Place{File: x.files[e.file], At: e.at, Length: int(e.length)})
			selected.Steps = append(selected.Steps, int(e.step))
		}
	}
	return selected
}

// Event is an event with its place.
type Event struct {
	telemetry.Event
	Place telemetry.Place
}

// Read returns the events at places. A missing or invalid one has no type.
func (x *Index) Read(places []telemetry.Place) ([]Event, error) {
	found := make([]Event, len(places))
	for i := range found {
		found[i].Place = places[i]
	}
	err := x.recorder.At(places, func(i int, line []byte) bool {
		var e telemetry.Event
		if json.Unmarshal(line, &e) == nil {
			found[i].Event = e
		}
		return true
	})
	return found, err
}
