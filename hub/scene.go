package hub

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"savant/hub/graph"
	"savant/telemetry"
	"savant/think"
	"savant/think/flow"
	"savant/think/state"
)

// A scene is the content of a drawing, before the layout: the steps of a workflow,
// those of the workflows opened in it, and why each condition held or not.
type scene struct {
	*flow.RunPicture
	// Inside are the workflows opened in a step, by the step's index.
	Inside map[int][]*scene
	// Why are the explanations of steps with conditions, by the step's index.
	Why map[int]*flow.Explanation
	// Tries are the versions of the answers to steps with more than one, by the step's
	// index.
	Tries  map[int][]int
	Opened []string // the units opened in it and below, in their order
	NoRun  bool     // it shows a workflow, not a run
}

// maxOpened is the maximum number of opened workflows in a drawing, maxExplained that
// of explained conditions.
const (
	maxOpened    = 30
	maxExplained = 200
)

// sceneOf reads the scene of a run. It opens the workflows named in the query, or by
// default those in which the run stands or has failed.
func sceneOf(r *http.Request, v *think.View) (*scene, error) {
	b := &sceneBuilder{ctx: r.Context(), view: v}
	b.open, b.chosen = openedIn(r), r.URL.Query().Has("open")
	return b.scene("")
}

// openedIn returns the units that an address opens.
func openedIn(r *http.Request) []string {
	open := r.URL.Query()["open"]
	return open[:min(len(open), maxOpened)]
}

type sceneBuilder struct {
	ctx       context.Context
	view      *think.View
	open      []string
	chosen    bool
	opened    int
	explained int
}

func (b *sceneBuilder) scene(unit string) (*scene, error) {
	picture, err := b.view.Picture(unit)
	if err != nil {
		return nil, err
	}
	s := &scene{RunPicture: picture, Inside: map[int][]*scene{}, Why: map[int]*flow.Explanation{}, Tries: map[int][]int{}}
	for i, node := range picture.Nodes {
		step, err := b.view.Step(node.Now.ID)
		if err != nil {
			return nil, err
		}
		if (node.When != "" || node.Foreach != "") && b.explained < maxExplained {
			b.explained++
			if s.Why[i], err = b.view.Explain(b.ctx, step); err != nil {
				return nil, err
			}
		}
		if node.Now.Attempt > 1 {
			s.Tries[i] = step.Answers()
		}
		for _, id := range b.unitsOf(node) {
			if b.opened++; b.opened > maxOpened {
				break
			}
			inside, err := b.scene(id)
			if err != nil {
				return nil, err
			}
			s.Inside[i] = append(s.Inside[i], inside)
			s.Opened = append(append(s.Opened, id), inside.Opened...)
		}
	}
	return s, nil
}

// unitsOf returns the opened units of a step.
func (b *sceneBuilder) unitsOf(node flow.StepPicture) []string {
	if node.Workflow == "" {
		return nil
	}
	if !b.chosen {
		if node.Rounds > 0 && (node.Now.Status == flow.Issued || node.Now.Status == flow.Failed || node.Now.Status == flow.Ready) {
			return []string{node.Now.ID}
		}
		return nil
	}
	var out []string
	for _, id := range b.open {
		if isUnitOf(id, node.Now.ID) && !slices.Contains(out, id) {
			if _, err := b.view.Picture(id); err == nil { // at this version it may not have started
				out = append(out, id)
			}
		}
	}
	return out
}

// isUnitOf reports whether an id is that of a step, or of an item or a round of it.
func isUnitOf(id, step string) bool {
	rest, is := strings.CutPrefix(id, step)
	if !is || rest == "" {
		return is
	}
	number, is := strings.CutPrefix(rest, "_")
	_, err := strconv.Atoi(number)
	return is && err == nil
}

// sceneOfWorkflow is the scene of a workflow without a run, whose ids begin with a prefix.
func sceneOfWorkflow(graph *flow.Graph, prefix string, open []string) *scene {
	shape := graph.Picture()
	s := &scene{RunPicture: &flow.RunPicture{Workflow: graph.Workflow.Name, Unit: strings.TrimSuffix(prefix, "/"), Edges: shape.Edges}, Inside: map[int][]*scene{}, Why: map[int]*flow.Explanation{}, NoRun: true}
	for i, info := range shape.Nodes {
		id := prefix + info.ID
		s.Nodes = append(s.Nodes, flow.StepPicture{NodeInfo: info, Now: flow.StepStatus{ID: id}})
		s.Why[i], _ = graph.Explain(info.ID) // a step of the picture is in the graph
		if child := graph.Child(info.ID); child != nil && slices.Contains(open, id) {
			inside := sceneOfWorkflow(child, id+"/", open)
			s.Inside[i] = []*scene{inside}
			s.Opened = append(append(s.Opened, id), inside.Opened...)
		}
	}
	return s
}

// versions returns the versions whose records the page shows: its own, and those of the
// drawing and the panel.
func (a *artist) versions(s *scene, own int, p *panel) []int {
	wanted := map[int]bool{own: true}
	a.addVersions(s, wanted)
	if p != nil {
		for _, each := range p.Answers {
			wanted[each.Version], wanted[each.After] = true, true
		}
		wanted[p.Issued] = true
	}
	delete(wanted, 0)
	return slices.Sorted(maps.Keys(wanted))
}

// addVersions adds the versions of the steps that are drawn or in the waterfall.
func (a *artist) addVersions(s *scene, wanted map[int]bool) {
	begun := s.begun(a.stuck)
	for _, at := range append(begun[:min(len(begun), a.rows)], a.stepsToDraw(s, new(drawing))...) {
		wanted[s.Nodes[at].Issued], wanted[s.Nodes[at].Answered] = true, true
		for _, each := range s.Tries[at] {
			wanted[each] = true
		}
		for _, inside := range s.Inside[at] {
			a.addVersions(inside, wanted)
		}
	}
}

// maxNear is the maximum distance between versions that are read together.
const maxNear = 4

// eventsAt describes the records of some versions of a run, given in order.
func (h *Hub) eventsAt(ctx context.Context, key state.Key, versions []int) (map[int]think.Event, error) {
	found := map[int]think.Event{}
	for from := 0; from < len(versions); {
		to := from + 1
		for to < len(versions) && versions[to]-versions[to-1] <= maxNear {
			to++
		}
		events, err := h.events(ctx, key, versions[from]-1, versions[to-1]-versions[from]+1)
		if err != nil {
			return nil, err
		}
		for _, event := range events {
			found[event.Version] = event
		}
		from = to
	}
	return found, nil
}

// between returns the time between two records, or "".
func between(events map[int]think.Event, from, to int) string {
	began, ended := timeOf(events, from), timeOf(events, to)
	if began.IsZero() || ended.Before(began) {
		return ""
	}
	return telemetry.Elapsed(float64(ended.Sub(began)) / float64(time.Millisecond))
}

// waterfallRows is how many steps a waterfall shows.
const waterfallRows = 60

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
	graph.Bar
	Kind string
}

// waterfall lays out the steps of a scene that have begun. now ends the bars of steps
// that are still at work.
func (a *artist) waterfall(s *scene, now time.Time) *waterfall {
	out := &waterfall{}
	var spans [][]graph.Span
	a.addRows(out, &spans, s, now)
	if len(out.Rows) == 0 {
		return nil
	}
	laid, took, squeezed := graph.Axis(spans)
	for i, row := range laid {
		for k, bar := range row {
			out.Rows[i].Bars[k].Bar = bar
		}
	}
	out.Took, out.Squeezed = telemetry.Elapsed(float64(took)/float64(time.Millisecond)), squeezed
	return out
}

// addRows adds a row for each step of a scene that has begun, each followed by those of
// the workflows that are open in it.
func (a *artist) addRows(out *waterfall, spans *[][]graph.Span, s *scene, now time.Time) {
	for _, at := range s.begun(a.stuck) {
		if len(out.Rows) == a.rows {
			out.Left++
			continue
		}
		step := s.Nodes[at]
		row := waterfallRow{ID: step.Now.ID, Label: step.ID, Status: string(step.Now.Status), Word: a.word(step), Inside: s.Unit != "",
			Selected: a.asked == step.Now.ID, Href: with(a.r, "step", step.Now.ID)}
		if a.stuck != "" && a.stuck == step.Now.ID {
			row.Status, row.Word = string(flow.Blocked), string(flow.Blocked)
		}
		var made []graph.Span
		made, row.Bars = a.attempts(step, s.Tries[at], now)
		if row.Status == string(flow.Blocked) && len(made) == 0 { // it has not begun
			made, row.Bars = []graph.Span{{Began: now, Ended: now}}, []waterfallBar{{Kind: "bad"}}
		}
		if len(made) > 0 { // else its time is not known
			out.Rows, *spans = append(out.Rows, row), append(*spans, made)
		}
		for _, inside := range s.Inside[at] {
			a.addRows(out, spans, inside, now)
		}
	}
}

// begun returns the steps of a scene that have begun, and the one at which the run is
// blocked: that, and those that failed or are at work first, then by their beginning.
func (s *scene) begun(stuck string) (steps []int) {
	isStuck := func(i int) bool { return stuck != "" && s.Nodes[i].Now.ID == stuck }
	for i, node := range s.Nodes {
		if node.Issued > 0 || node.Answered > 0 || isStuck(i) {
			steps = append(steps, i)
		}
	}
	urgent := func(i int) int {
		if isStuck(i) {
			return -3
		}
		return map[flow.Status]int{flow.Failed: -2, flow.Issued: -1}[s.Nodes[i].Now.Status]
	}
	slices.SortStableFunc(steps, func(i, j int) int {
		return cmp.Or(cmp.Compare(urgent(i), urgent(j)), cmp.Compare(s.Nodes[i].Issued, s.Nodes[j].Issued))
	})
	return steps
}

// attempts returns when a step was tried, and a bar for each try; tries are the versions
// of its answers, if there is more than one.
func (a *artist) attempts(step flow.StepPicture, tries []int, now time.Time) (made []graph.Span, bars []waterfallBar) {
	versions := append([]int{step.Issued}, tries...)
	if open := step.Now.Status == flow.Issued; len(tries) == 0 && step.Answered > step.Issued && !open {
		versions = append(versions, step.Answered)
	} else if open || len(versions) == 1 {
		versions = append(versions, 0) // it goes on
	}
	waits := kindOf(step.Call) == "person"
	for i, ended := range versions[1:] {
		each, kind := graph.Span{Began: timeOf(a.events, versions[i]), Ended: now, Waits: waits}, markStep(step.Now.Status)
		switch {
		case ended > 0:
			each.Ended = timeOf(a.events, ended)
			if i < len(versions)-2 {
				kind = "refused"
			}
		case step.Now.Status != flow.Issued:
			each.Ended = each.Began // it was decided at once
		}
		if waits && kind != "bad" {
			kind = "waits"
		}
		if !each.Began.IsZero() && !each.Ended.Before(each.Began) {
			made, bars = append(made, each), append(bars, waterfallBar{Kind: kind})
		}
	}
	return made, bars
}

// timeOf is when a record was written; zero if it was not read.
func timeOf(events map[int]think.Event, version int) time.Time {
	return instant(events[version].Time)
}
