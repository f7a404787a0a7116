package graph

import (
	"slices"
	"time"
)

// Span is when something was at work, or with Waits, when it waited for a person.
type Span struct {
	Began, Ended time.Time
	Waits        bool
}

// Bar is the place of a span on an axis of AxisLength.
type Bar struct{ X, Width int }

// AxisLength is the length of an axis of time, leastBar the least width of a bar on it.
const (
	AxisLength = 1000
	leastBar   = 4
)

// Axis lays out rows of spans on one axis of time, and returns how long it is. Where persons
// alone are waited for, time is drawn as at most half as long as the rest, since a night
// would hide everything else: squeezed says so.
func Axis(rows [][]Span) (bars [][]Bar, took time.Duration, squeezed bool) {
	var edges []time.Time
	for _, each := range slices.Concat(rows...) {
		edges = append(edges, each.Began, each.Ended)
	}
	if len(edges) == 0 {
		return make([][]Bar, len(rows)), 0, false
	}
	slices.SortFunc(edges, time.Time.Compare)
	edges = slices.CompactFunc(edges, time.Time.Equal)
	places, squeezed := places(edges, rows)
	place := func(t time.Time) int {
		i, _ := slices.BinarySearchFunc(edges, t, time.Time.Compare)
		return int(places[i] / max(places[len(places)-1], 1) * AxisLength)
	}
	for _, row := range rows {
		var laid []Bar
		for _, each := range row {
			x := min(place(each.Began), AxisLength-leastBar)
			laid = append(laid, Bar{x, max(place(each.Ended)-x, leastBar)})
		}
		bars = append(bars, laid)
	}
	return bars, edges[len(edges)-1].Sub(edges[0]), squeezed
}

// places returns how far each of the edges is from the first one.
func places(edges []time.Time, rows [][]Span) (places []float64, squeezed bool) {
	var worked, waited float64
	idle, lengths := make([]bool, len(edges)), make([]float64, len(edges))
	for i := 1; i < len(edges); i++ {
		lengths[i] = float64(edges[i].Sub(edges[i-1]))
		if idle[i] = !atWork(rows, edges[i-1], edges[i]); idle[i] {
			waited += lengths[i]
		} else {
			worked += lengths[i]
		}
	}
	squeezed = worked > 0 && waited > worked/2
	places = make([]float64, len(edges))
	for i := 1; i < len(edges); i++ {
		if squeezed && idle[i] {
			lengths[i] *= worked / 2 / waited
		}
		places[i] = places[i-1] + lengths[i]
	}
	return places, squeezed
}

// atWork reports whether anything but a person is at work between two neighbouring edges.
func atWork(rows [][]Span, from, to time.Time) bool {
	for _, row := range rows {
		for _, each := range row {
			if !each.Waits && !each.Began.After(from) && !each.Ended.Before(to) {
				return true
			}
		}
	}
	return false
}
