package hub

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"savant/hub/graph"
	"savant/think"
	"savant/think/flow"
)

// How many steps of a workflow are drawn: of a larger one only those around a step,
// unless the user asks for all that a page has room for. Of more than drawnFully each shows
// its name and status alone; the tooltip has the rest.
const (
	drawnPart  = 100
	drawnFully = 200
)

// How many bytes of a page all its drawings take, and about how many a step does beside the
// address, which it may have twice, and its name, which it has three times.
const (
	drawnRoom = 120 << 10
	briefStep = 270
	fullStep  = 400
	mostTitle = 400 // letters of its tooltip
)

// drawing is the graph of a workflow with coordinates, for the template.
type drawing struct {
	Workflow      string
	Width, Height int
	Nodes         []drawnNode
	Edges         []drawnEdge
	Drawn, Steps  int    // how many of the steps are drawn
	Around        string // the step around which they are, unless all are drawn
	Whole         url.Values
}

// drawnNode is a step with its place; X and Y are its upper left corner.
type drawnNode struct {
	graph.Box
	ID, Label, Call, Condition string
	Target                     string // the line of the workflow's file, if there is no run
	Status                     string
	Word                       string // the status with details
	Covered                    string // the CSS class of what cases reach of it
	Title                      string // the tooltip
	Kind                       string // person, model, engine, tool
	Loop, Selected             bool
	Href                       url.Values
	Toggle                     url.Values // opens or closes the step's workflow
	Open                       bool
	Inside                     []drawnWorkflow
}

// drawnWorkflow is a workflow drawn inside a step.
type drawnWorkflow struct {
	X, Y           int
	Drawing        *drawing
	Unit, Rounds   string
	EarlierX       int // where the ways to other rounds stand, after the label
	Earlier, Later url.Values
}

// drawnEdge is an edge; Status is the status of its target. A barrier's leads to a step
// that the check at its other end holds.
type drawnEdge struct {
	Points  []graph.Point
	Status  string
	Barrier bool
}

// Sizes in the drawing, in pixels. Letters have one width.
const (
	letter, smallLetter   = 8, 7
	leastWidth, mostWidth = 150, 300
	lineHeight            = 16
	roundWidth            = 64 // of the way to another round
	inset                 = 12
)

type artist struct {
	hub    *Hub
	r      *http.Request
	events map[int]think.Event
	opened []string
	asked  string // the selected step
	stuck  string // the step at which the run is blocked
	whole  bool
	rows   int // how many steps the waterfall shows
	room   int // what is left of drawnRoom
	// uncovered counts, for a workflow with cases, what of a step no case reaches.
	uncovered map[string]int
}

// artist returns who draws a scene for a request; a run's needs events, too.
func (h *Hub) artist(r *http.Request, s *scene, blocked string) *artist {
	return &artist{hub: h, r: r, stuck: blocked, opened: s.Opened, asked: r.URL.Query().Get("step"), whole: r.URL.Query().Get("graph") == "whole",
		rows: roomFor(r, waterfallRows), room: drawnRoom}
}

// drawing lays out a scene.
func (a *artist) drawing(s *scene) *drawing {
	out := &drawing{Workflow: s.Workflow, Steps: len(s.Nodes)}
	chosen := a.stepsToDraw(s, out)
	a.room -= len(chosen) * a.sizeOfStep(s)
	var sizes []graph.Size
	number := map[string]int{}
	for i, at := range chosen {
		node := a.node(s, at, len(chosen) > drawnFully)
		number[s.Nodes[at].ID] = i
		out.Nodes = append(out.Nodes, node)
		sizes = append(sizes, graph.Size{Width: node.Width, Height: node.Height})
	}
	var edges []graph.Edge
	for _, edge := range s.Edges {
		from, known := number[edge.From]
		if to, also := number[edge.To]; known && also {
			edges = append(edges, graph.Edge{From: from, To: to, Barrier: edge.Barrier})
		}
	}
	edges = graph.Reduce(len(sizes), edges)
	laid := graph.Layout(sizes, edges)
	out.Width, out.Height, out.Drawn = laid.Width, laid.Height, len(chosen)
	for i := range out.Nodes {
		out.Nodes[i].Box = laid.Nodes[i]
	}
	for i, points := range laid.Edges {
		out.Edges = append(out.Edges, drawnEdge{points, out.Nodes[edges[i].To].Status, edges[i].Barrier})
	}
	return out
}

// stepsToDraw returns the steps to draw: all, or those nearest to the selected or the
// current step.
func (a *artist) stepsToDraw(s *scene, out *drawing) []int {
	most := max(1, a.room/a.sizeOfStep(s))
	if !a.whole {
		most = min(most, drawnPart)
	}
	all := make([]int, len(s.Nodes))
	for i := range all {
		all[i] = i
	}
	if len(all) <= most {
		return all
	}
	around := s.focus(a.asked)
	out.Around = s.Nodes[around].Now.ID
	if !a.whole && most == drawnPart {
		out.Whole = with(a.r, "graph", "whole")
	}
	return s.nearestSteps(around, most)
}

// sizeOfStep is about how many bytes a step takes in the page.
func (a *artist) sizeOfStep(s *scene) int {
	size, names := fullStep, 0
	if a.whole && len(s.Nodes) > drawnFully {
		size = briefStep
	}
	for _, node := range s.Nodes {
		names += 3 * len(node.Now.ID)
	}
	return size + 2*addressSize(a.r.URL.Query()) + names/max(1, len(s.Nodes))
}

// focus is the step around which a part of a large workflow is drawn.
func (s *scene) focus(asked string) int {
	at := slices.IndexFunc(s.Nodes, func(n flow.StepPicture) bool { return asked != "" && isUnitOf(asked, n.Now.ID) })
	for _, status := range []flow.Status{flow.Failed, flow.Issued, flow.Ready} {
		if at < 0 {
			at = slices.IndexFunc(s.Nodes, func(n flow.StepPicture) bool { return n.Now.Status == status })
		}
	}
	return max(at, 0)
}

// nearestSteps returns the steps with the shortest distance to one, in their order.
func (s *scene) nearestSteps(from, most int) []int {
	number, beside := map[string]int{}, make([][]int, len(s.Nodes))
	for i, node := range s.Nodes {
		number[node.ID] = i
	}
	for _, edge := range s.Edges {
		a, b := number[edge.From], number[edge.To]
		beside[a], beside[b] = append(beside[a], b), append(beside[b], a)
	}
	found, seen := []int{from}, map[int]bool{from: true}
	for at := 0; at < len(found) && len(found) < most; at++ {
		for _, next := range beside[found[at]] {
			if !seen[next] && len(found) < most {
				seen[next] = true
				found = append(found, next)
			}
		}
	}
	slices.Sort(found)
	return found
}

func (a *artist) node(s *scene, at int, brief bool) drawnNode {
	step := s.Nodes[at]
	n := drawnNode{ID: step.Now.ID, Label: truncate(step.ID, 28), Call: truncate(callOf(step), 36), Status: string(step.Now.Status), Kind: kindOf(step.Call),
		Loop: step.Foreach != "", Selected: a.asked == step.Now.ID, Href: with(a.r, "step", step.Now.ID)}
	if s.NoRun && s.Why[at] != nil {
		line := s.Why[at].Line
		n.Target = string(lineHref(a.r.URL.Query(), line))
		if s.Unit != "" {
			n.Target = "/workflows/" + url.PathEscape(s.Workflow) + string(lineHref(nil, line))
		}
	}
	n.Word = a.word(step)
	if a.uncovered != nil {
		n.Word, n.Covered = "✓ reached by cases", "good"
		if missing := a.uncovered[n.ID]; missing > 0 {
			n.Word, n.Covered = "○ "+count(missing, "point")+" not reached", "bare"
		}
	}
	if a.stuck != "" && a.stuck == step.Now.ID {
		n.Status, n.Word = "blocked", "blocked: see above"
	}
	n.Condition = truncate(conditionOf(step), 36)
	n.Title = truncate(a.title(step, s.Why[at]), mostTitle)
	if brief {
		n.Call, n.Word, n.Condition = "", "", ""
	}
	lines := 1
	for _, each := range []string{n.Call, n.Word, n.Condition} {
		if each != "" {
			lines++
		}
	}
	n.Width = min(max(leastWidth, 34+inset+max(letter*len([]rune(n.Label))+24, smallLetter*max(len([]rune(n.Call)), len([]rune(n.Word)), len([]rune(n.Condition))))), mostWidth)
	n.Height = lines*lineHeight + lineHeight
	a.toggle(&n, s, step)
	a.inside(&n, s.Inside[at])
	return n
}

// toggle links to the page with a step's workflow opened or closed.
func (a *artist) toggle(n *drawnNode, s *scene, step flow.StepPicture) {
	if step.Workflow == "" || step.Foreach != "" && !s.NoRun {
		return // the panel of a loop lists its items
	}
	if step.Rounds == 0 && !s.NoRun {
		return // it has not started
	}
	n.Open = slices.ContainsFunc(a.opened, func(id string) bool { return isUnitOf(id, n.ID) })
	n.Toggle = a.withOpened(n.ID, n.ID, !n.Open)
}

// withOpened returns the query with a unit opened or closed, replacing the other units
// of its step.
func (a *artist) withOpened(step, unit string, open bool) url.Values {
	query := a.r.URL.Query()
	query["open"] = slices.DeleteFunc(slices.Clone(a.opened), func(id string) bool { return isUnitOf(id, step) })
	if open {
		query.Add("open", unit)
	}
	for len(query["open"]) > 1 && addressSize(url.Values{"open": query["open"]}) > maxAddress/2 {
		query["open"] = query["open"][1:]
	}
	if len(query["open"]) == 0 {
		query.Set("open", "") // an explicit nothing overrides the default
	}
	return query
}

// inside draws the opened workflows of a step in it, side by side.
func (a *artist) inside(n *drawnNode, opened []*scene) {
	x, below := inset, n.Height
	for _, each := range opened {
		d := a.drawing(each)
		w := drawnWorkflow{X: x, Y: below + lineHeight, Drawing: d, Unit: each.Unit}
		if each.Rounds > 1 {
			w.Rounds = fmt.Sprintf("round %d of %d", each.Round, each.Rounds)
			if each.Round > 1 {
				w.Earlier = a.withOpened(n.ID, each.Unit+"_"+strconv.Itoa(each.Round-2), true)
			}
			if each.Round < each.Rounds {
				w.Later = a.withOpened(n.ID, each.Unit+"_"+strconv.Itoa(each.Round), true)
			}
			w.EarlierX = smallLetter * (len([]rune(w.Unit+", "+w.Rounds)) + 2)
		}
		n.Inside = append(n.Inside, w)
		n.Height = max(n.Height, below+lineHeight+d.Height+inset)
		x += max(d.Width, mostWidth*2/3, w.EarlierX+2*roundWidth) + inset
		n.Width = max(n.Width, x)
	}
}

// word is a step's status with the loop's counts, the attempt, the witness and the
// duration.
func (a *artist) word(step flow.StepPicture) string {
	if step.Now.Status == "" {
		return ""
	}
	parts := []string{string(step.Now.Status)}
	if step.Foreach != "" && len(step.Items) > 0 {
		total := 0
		for _, count := range step.Items {
			total += count
		}
		parts = append(parts, fmt.Sprintf("%d of %d", step.Items[flow.Done]+step.Items[flow.Skipped]+step.Items[flow.Failed], total))
		if failed := step.Items[flow.Failed]; failed > 0 {
			parts = append(parts, fmt.Sprintf("%d failed", failed))
		}
	}
	if step.Now.Attempt > 1 {
		parts = append(parts, fmt.Sprintf("attempt %d", step.Now.Attempt))
	}
	if step.Rounds > 1 {
		parts = append(parts, fmt.Sprintf("%d rounds", step.Rounds))
	}
	if step.Now.Status == flow.Issued && flowWaits(step.Call) != "" {
		parts = append(parts, "waits for "+flowWaits(step.Call))
	}
	if step.Now.Witness != "" && step.Now.Witness != flow.WitnessSelf {
		parts = append(parts, step.Now.Witness)
	}
	if took := a.took(step); took != "" {
		parts = append(parts, took)
	}
	return strings.Join(parts, " · ")
}

// took is the duration of an ended step.
func (a *artist) took(step flow.StepPicture) string {
	if step.Now.Status != flow.Done && step.Now.Status != flow.Failed || step.Answered <= step.Issued {
		return ""
	}
	return between(a.events, step.Issued, step.Answered)
}

// flowWaits is for whom a call waits; "" for one that is carried out at once.
func flowWaits(call string) string {
	return map[string]string{"person": "a person", "model": "a model", "tool": "a tool"}[kindOf(call)]
}

// kindOf is who executes a call.
func kindOf(call string) string {
	switch {
	case flow.AnsweringOf(call) != flow.NoPerson:
		return "person"
	case call == flow.CallGenerate:
		return "model"
	case call == flow.CallRun, call == flow.CallAssert, call == flow.CallSet:
		return "engine"
	}
	return "tool"
}

func callOf(step flow.StepPicture) string {
	if step.Workflow != "" {
		return step.Call + " " + step.Workflow
	}
	return step.Call
}

// conditionOf is the condition of a step, and its value.
func conditionOf(step flow.StepPicture) string {
	switch {
	case step.When != "" && step.Held != nil:
		return fmt.Sprintf("%t: if %s", *step.Held, step.When)
	case step.When != "":
		return "if " + step.When
	case step.Foreach != "":
		return "for each of " + step.Foreach
	}
	return ""
}

// title is the tooltip of a step, in lines.
func (a *artist) title(step flow.StepPicture, why *flow.Explanation) string {
	lines := []string{step.Now.ID + ": " + callOf(step)}
	if step.Now.Status != "" {
		lines = append(lines, strings.TrimSpace(string(step.Now.Status)+" "+step.Now.Cause))
	}
	if step.Barrier {
		lines = append(lines, "a check: it holds the steps below it in the file")
	}
	if step.HeldBy != "" {
		lines = append(lines, "held by the check "+step.HeldBy)
	}
	if step.Now.Code != "" {
		lines = append(lines, step.Now.Code+": "+truncate(step.Now.Details, 300))
	}
	if step.Now.Witness != "" {
		lines = append(lines, "seen by "+step.Now.Witness)
	}
	if took := a.took(step); took != "" {
		lines = append(lines, "took "+took)
	}
	if why == nil {
		for _, each := range []struct{ word, expression string }{{"if ", step.When}, {"for each of ", step.Foreach}} {
			if each.expression != "" {
				lines = append(lines, each.word+each.expression)
			}
		}
		return strings.Join(lines, "\n")
	}
	for _, each := range why.Why {
		if each.Expression != "" {
			lines = append(lines, a.hub.reason(each).String())
		}
	}
	return strings.Join(lines, "\n")
}

// String formats a condition with its operands and value.
func (c reason) String() string {
	text := c.Kind + " " + c.Expression
	if c.Value != "" {
		text += " = " + c.Value
	}
	for _, each := range c.Operands {
		text += "\n  " + each.Name + " = " + each.Value
	}
	return text
}

// truncate truncates a text to a number of letters.
func truncate(text string, most int) string {
	letters := []rune(text)
	if len(letters) <= most {
		return text
	}
	return string(letters[:most-1]) + "…"
}
