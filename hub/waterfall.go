package hub

import (
	"cmp"
	"net/url"
	"slices"
	"time"

	"savant/telemetry"
	"savant/think"
	"savant/think/flow"
)

// waterfallRows is how many steps a waterfall shows.
const waterfallRows = 60

// axisLength is the length of the axis of time in the drawing.
const axisLength = 1000

// waterfall shows when the steps of a run were at work: a row for each step, failures
// first, on one axis of time. A loop is one row.
type waterfall struct {
	Rows     []waterfallRow
	Took     string
	Squeezed bool // waits for persons alone are drawn shorter than they were
	Left     int  // steps that began but have no row
}

// waterfallRow is a step, with a bar for each attempt.
type waterfallRow struct {
	ID, Label, Status, Word string
	Inside                  bool // the step is one of a workflow that another step runs
	Selected                bool
	Href                    url.Values
	Bars                    []waterfallBar
}

// waterfallBar is an attempt: its place on the axis, and its CSS class.
type waterfallBar struct {
	X, Width int
	Kind     string
}

// attempt is when a step was tried once.
type attempt struct {
	began, ended time.Time
	waits        bool // for a person
	kind         string
}

// attempts are those of the rows of a waterfall, in their order.
type attempts [][]attempt

// waterfall lays out the steps of a scene that have begun. now ends the bars of steps
// that are still at work.
func (a *artist) waterfall(s *scene, now time.Time) *waterfall {
	out := &waterfall{}
	var tried attempts
	a.addRows(out, &tried, s, now)
	if len(out.Rows) == 0 {
		return nil
	}
	out.layOut(tried)
	return out
}

// addRows adds a row for each step of a scene that has begun, each followed by those of
// the workflows that are open in it.
func (a *artist) addRows(out *waterfall, tried *attempts, s *scene, now time.Time) {
	for _, at := range s.begun() {
		step := s.Nodes[at]
		row := waterfallRow{ID: step.Now.ID, Label: step.ID, Status: string(step.Now.Status), Word: a.word(step), Inside: s.Unit != "",
			Selected: a.asked == step.Now.ID, Href: with(a.r, "step", step.Now.ID)}
		if a.stuck != "" && a.stuck == step.Now.ID {
			row.Status, row.Word = string(flow.Blocked), string(flow.Blocked)
		}
		switch made := a.attempts(step, s.Tries[at], now); {
		case len(made) == 0: // its records were not read
		case len(out.Rows) == waterfallRows:
			out.Left++
		default:
			out.Rows, *tried = append(out.Rows, row), append(*tried, made)
		}
		for _, inside := range s.Inside[at] {
			a.addRows(out, tried, inside, now)
		}
	}
}

// begun returns the steps of a scene that have begun: those that failed or are at work
// first, then by their beginning.
func (s *scene) begun() (steps []int) {
	for i, node := range s.Nodes {
		if node.Issued > 0 || node.Answered > 0 {
			steps = append(steps, i)
		}
	}
	urgent := func(i int) int {
		at := slices.Index([]flow.Status{flow.Failed, flow.Issued}, s.Nodes[i].Now.Status)
		return map[int]int{0: -2, 1: -1}[at]
	}
	slices.SortStableFunc(steps, func(i, j int) int {
		return cmp.Or(cmp.Compare(urgent(i), urgent(j)), cmp.Compare(s.Nodes[i].Issued, s.Nodes[j].Issued))
	})
	return steps
}

// attempts returns when a step was tried; tries are the versions of its answers, if there
// is more than one.
func (a *artist) attempts(step flow.StepPicture, tries []int, now time.Time) (made []attempt) {
	versions := append([]int{step.Issued}, tries...)
	if open := step.Now.Status == flow.Issued; len(tries) == 0 && step.Answered > step.Issued && !open {
		versions = append(versions, step.Answered)
	} else if open || len(versions) == 1 {
		versions = append(versions, 0) // it goes on
	}
	waits := kindOf(step.Call) == "person"
	for i, ended := range versions[1:] {
		each := attempt{began: timeOf(a.events, versions[i]), ended: now, waits: waits, kind: markStep(step.Now.Status)}
		switch {
		case ended > 0:
			each.ended = timeOf(a.events, ended)
			if i < len(versions)-2 {
				each.kind = "refused"
			}
		case step.Now.Status != flow.Issued:
			each.ended = each.began // it was decided at once
		}
		if waits && each.kind != "bad" {
			each.kind = "waits"
		}
		if !each.began.IsZero() && !each.ended.Before(each.began) {
			made = append(made, each)
		}
	}
	return made
}

// layOut gives each bar its place on the axis. Where persons alone are waited for, time
// is drawn as at most half as long as the rest: a night would hide everything else.
func (w *waterfall) layOut(tried attempts) {
	var edges []time.Time
	for _, row := range tried {
		for _, each := range row {
			edges = append(edges, each.began, each.ended)
		}
	}
	slices.SortFunc(edges, time.Time.Compare)
	edges = slices.CompactFunc(edges, time.Time.Equal)
	w.Took = telemetry.Elapsed(float64(edges[len(edges)-1].Sub(edges[0])) / float64(time.Millisecond))
	var worked, waited time.Duration
	idle := make([]bool, len(edges))
	for i := 1; i < len(edges); i++ {
		if idle[i] = !tried.atWork(edges[i-1], edges[i]); idle[i] {
			waited += edges[i].Sub(edges[i-1])
		} else {
			worked += edges[i].Sub(edges[i-1])
		}
	}
	shorter := 1.0
	if w.Squeezed = worked > 0 && waited > worked/2; w.Squeezed {
		shorter = float64(worked) / 2 / float64(waited)
	}
	places, at := make([]float64, len(edges)), 0.0
	for i := 1; i < len(edges); i++ {
		length := float64(edges[i].Sub(edges[i-1]))
		if idle[i] {
			length *= shorter
		}
		at += length
		places[i] = at
	}
	place := func(t time.Time) int {
		i, _ := slices.BinarySearchFunc(edges, t, time.Time.Compare)
		return int(places[i] / max(at, 1) * axisLength)
	}
	for i, row := range tried {
		for _, each := range row {
			x := min(place(each.began), axisLength-leastBar)
			w.Rows[i].Bars = append(w.Rows[i].Bars, waterfallBar{x, max(place(each.ended)-x, leastBar), each.kind})
		}
	}
}

// leastBar is the least width of a bar on the axis.
const leastBar = 4

// atWork reports whether a step that waits for no person is at work between two
// neighbouring edges.
func (t attempts) atWork(from, to time.Time) bool {
	for _, row := range t {
		for _, each := range row {
			if !each.waits && !each.began.After(from) && !each.ended.Before(to) {
				return true
			}
		}
	}
	return false
}

// timeOf is when a record was written; zero if it was not read.
func timeOf(events map[int]think.Event, version int) time.Time {
	at, _ := time.Parse(time.RFC3339Nano, events[version].Time) // zero
	return at
}
