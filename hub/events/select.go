package events

import (
	"encoding/json"
	"slices"
	"strings"

	"savant/telemetry"
)

// Filter says which events of a run are wanted.
type Filter struct {
	Types []string // none: all
	Query string   // a text that the line has, whatever its case
	Step  int      // 0: all
}

// Selection are the events of a run that a filter lets through, by where they are.
type Selection struct {
	// Epoch changes when events have other numbers, since old ones are gone.
	Epoch string
	// Total is how many events the run has, without the filter.
	Total  int
	Places []telemetry.Place
	Steps  []int // of each place
}

// Select returns the events of a run that a filter lets through. Only a query reads the
// trace for it.
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

// inMemory selects by what the index holds: types and steps.
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

// Read returns the events at places. One that is gone, or is no event, has no type.
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
