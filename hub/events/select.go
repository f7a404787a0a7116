package events

import (
	"encoding/json"
	"fmt"
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

// Selection are the events of a run that a filter selects, numbered from 0. It does not
// change when the index does.
type Selection struct {
	// Epoch changes when events are renumbered.
	Epoch string
	// Total is the number of the run's events, without the filter.
	Total int
	// Counts are the numbers of the run's events by type, without the filter.
	Counts  map[telemetry.Type]int
	entries []entry
	files   []string
}

// Len returns the number of selected events.
func (s Selection) Len() int { return len(s.entries) }

// Steps returns the steps of the events, each once, in their order.
func (s Selection) Steps() (steps []int) {
	for i, e := range s.entries {
		if i == 0 || e.step != s.entries[i-1].step {
			steps = append(steps, int(e.step))
		}
	}
	slices.Sort(steps)
	return slices.Compact(steps)
}

// InSteps returns the places of the events of some steps, given in order.
func (s Selection) InSteps(steps []int) (places []telemetry.Place) {
	for i, e := range s.entries {
		if _, wanted := slices.BinarySearch(steps, int(e.step)); wanted {
			places = append(places, s.Place(i))
		}
	}
	return places
}

// Before returns the place of the last event before a step; false if there is none.
func (s Selection) Before(step int) (place telemetry.Place, found bool) {
	for i := len(s.entries) - 1; i >= 0; i-- {
		if int(s.entries[i].step) < step {
			return s.Place(i), true
		}
	}
	return telemetry.Place{}, false
}

// Place returns the place of an event.
func (s Selection) Place(number int) telemetry.Place {
	e := s.entries[number]
	return telemetry.Place{File: s.files[e.file], At: e.at, Length: int(e.length)}
}

// Places returns the places of the events from a number to before another.
func (s Selection) Places(from, to int) []telemetry.Place {
	places := make([]telemetry.Place, 0, to-from)
	for number := from; number < to; number++ {
		places = append(places, s.Place(number))
	}
	return places
}

// Find returns the number of the event at a place, -1 if it is not selected.
func (s Selection) Find(place telemetry.Place) int {
	return slices.IndexFunc(s.entries, func(e entry) bool {
		return e.at == place.At && int(e.length) == place.Length && s.files[e.file] == place.File
	})
}

// search is the result of a query, and how many of the events were read for it.
type search struct {
	epoch string
	read  int
	found []entry
}

// maxSearches is the maximum number of remembered searches.
const maxSearches = 16

// Select returns the events of a run that a filter selects. It reads the trace only for
// a query, and if the query was asked before, only what is new since.
func (x *Index) Select(name string, f Filter) (Selection, error) {
	selected := x.inMemory(name, f)
	if f.Query == "" {
		return selected, nil
	}
	all, key := selected.entries, fmt.Sprintf("%q", []any{name, f})
	x.mu.Lock()
	done := x.searches[key]
	x.mu.Unlock()
	if done.epoch != selected.Epoch || done.read > len(all) {
		done = search{epoch: selected.Epoch}
	}
	query, unread := strings.ToLower(f.Query), all[done.read:]
	done.found = slices.Clip(done.found) // a Selection may have it
	err := x.recorder.ReadAt(selected.Places(done.read, len(all)), func(i int, line []byte) bool {
		if strings.Contains(strings.ToLower(string(line)), query) {
			done.found = append(done.found, unread[i])
		}
		return true
	})
	if err != nil {
		return selected, err
	}
	done.read, selected.entries = len(all), done.found
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.searches) >= maxSearches {
		x.searches = map[string]search{}
	}
	x.searches[key] = done
	return selected, nil
}

// inMemory selects by types and steps, which the index holds.
func (x *Index) inMemory(name string, f Filter) Selection {
	x.mu.Lock()
	defer x.mu.Unlock()
	selected := Selection{Epoch: x.epoch, files: x.files}
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
	counts := make([]int, len(telemetry.Types())+1)
	for _, e := range events.entries {
		counts[e.kind]++
	}
	selected.Counts = map[telemetry.Type]int{}
	for i, kind := range telemetry.Types() {
		if count := counts[i+1]; count > 0 {
			selected.Counts[kind] = count
		}
	}
	if len(f.Types) == 0 && f.Step == 0 {
		selected.entries = events.entries // they are only appended to
		return selected
	}
	for _, e := range events.entries {
		if (len(f.Types) == 0 || slices.Contains(kinds, e.kind)) && (f.Step == 0 || f.Step == int(e.step)) {
			selected.entries = append(selected.entries, e)
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
	err := x.recorder.ReadAt(places, func(i int, line []byte) bool {
		var e telemetry.Event
		if json.Unmarshal(line, &e) == nil {
			found[i].Event = e
		}
		return true
	})
	return found, err
}
