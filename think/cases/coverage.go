package cases

import (
	"cmp"
	"slices"
	"strings"

	"savant/fault"
	"savant/think/flow"
)

// The kinds of points.
const (
	Done      = "done"             // the step is done
	WhenTrue  = "when_true"        // its condition held
	WhenFalse = "when_false"       // its condition did not hold
	Joined    = "join_ran"         // its join let it run
	NotJoined = "join_skipped"     // its join skipped it
	Failure   = "failure"          // it failed, and its on_failure passed over that
	Items     = "loop_items"       // its loop had items
	NoItems   = "loop_empty"       // its loop had none
	Retried   = "retry"            // an attempt was repeated
	Reached   = "repeat_reached"   // a round fulfilled its until
	Exhausted = "repeat_exhausted" // no round did
	Approved  = "approved"         // the person agreed
	Declined  = "declined"         // the person did not
	Holds     = "assert_holds"     // the assertion holds
	Fails     = "assert_fails"     // the assertion fails
)

var kinds = []string{Done, WhenTrue, WhenFalse, Joined, NotJoined, Failure, Items, NoItems, Retried, Reached, Exhausted, Approved, Declined, Holds, Fails}

// Point is one thing that a run of a workflow can come to.
type Point struct {
	// Step is the id of the step without the numbers of items and rounds.
	Step string `json:"step"`
	Kind string `json:"kind"`
}

// Points is a set of points.
type Points map[Point]bool

// PointsOf returns the points of a workflow and of those that it runs, in their order.
func PointsOf(graph *flow.Graph) []Point { return pointsBelow(graph, "") }

// kindsOf returns the kinds of the points of one step.
func kindsOf(graph *flow.Graph, step string) (all []string) {
	for _, point := range PointsOf(graph) {
		if point.Step == step {
			all = append(all, point.Kind)
		}
	}
	return all
}

func pointsBelow(graph *flow.Graph, prefix string) (all []Point) {
	retries := stepsWithKey(graph, ".retry")
	for _, step := range graph.Workflow.Steps {
		add := func(kinds ...string) {
			for _, kind := range kinds {
				all = append(all, Point{prefix + step.ID, kind})
			}
		}
		switch {
		case step.Answering() == flow.Decides:
			add(Approved, Declined)
		case step.Call == flow.CallAssert:
			add(Holds, Fails)
		default:
			add(Done)
		}
		if step.When != nil {
			add(WhenTrue, WhenFalse)
		}
		if step.JoinWritten && (step.Join == flow.JoinAny || step.Join == flow.JoinSuccess) {
			add(Joined, NotJoined)
		}
		if step.OnFailure != flow.Fail && step.Answering() != flow.Decides && step.Call != flow.CallAssert {
			add(Failure)
		}
		if step.Foreach != nil {
			add(Items, NoItems)
		}
		if step.Retry.Max > 0 && retries[step.ID] {
			add(Retried)
		}
		if step.Rounds > 0 {
			add(Reached, Exhausted)
		}
		if child := graph.Child(step.ID); child != nil {
			all = append(all, pointsBelow(child, prefix+step.ID+"/")...)
		}
	}
	return all
}

// stepsWithKey returns the ids of the steps whose file has a key of theirs.
func stepsWithKey(graph *flow.Graph, key string) map[string]bool {
	found := map[string]bool{}
	parsed, _ := graph.Workflow.Parsed().(map[string]any)
	list, _ := parsed["steps"].([]any)
	for i, each := range list {
		if step, is := each.(map[string]any); is && i < len(graph.Workflow.Steps) {
			_, found[graph.Workflow.Steps[i].ID] = step[strings.TrimPrefix(key, ".")]
		}
	}
	return found
}

// reached returns the points that a run came to.
func (t *trial) reached() Points {
	points := make(Points, 8*len(t.issued))
	workflows := map[string]bool{"": true}
	for each := range t.run.View().Steps() {
		if at := strings.LastIndexByte(each.ID, '/'); at >= 0 {
			workflows[each.ID[:at]] = true
		}
		if each.Attempt > 1 {
			at, _ := siteOf(t.graph, each.ID) // a step of the run
			points[Point{at.step, Retried}] = true
		}
	}
	for unit := range workflows {
		above, ok := workflowOf(t.graph, unit)
		if !ok {
			continue
		}
		prefix := ""
		if above.step != "" {
			prefix = above.step + "/"
		}
		for _, each := range t.run.View().Nodes(unit) {
			at := slices.IndexFunc(above.graph.Workflow.Steps, func(s *flow.Step) bool { return s.ID == each.ID })
			reach(points, prefix+each.ID, above.graph.Workflow.Steps[at], each)
		}
	}
	return points
}

// reach adds the points of one step of one workflow of a run.
func reach(points Points, id string, step *flow.Step, now flow.StepPicture) {
	status := now.Now.Status
	count := func(of flow.Status) bool { return status == of || now.Items[of] > 0 }
	add := func(kind string, is bool) {
		if is {
			points[Point{id, kind}] = true
		}
	}
	items := 0
	for _, n := range now.Items {
		items += n
	}
	ended := status == flow.Done || status == flow.Failed
	add(Done, status == flow.Done && (step.Foreach == nil || now.Items[flow.Done] > 0))
	add(WhenTrue, now.Held != nil && *now.Held || now.Held == nil && (ended && step.Foreach == nil || now.Items[flow.Done]+now.Items[flow.Failed] > 0))
	add(WhenFalse, now.Held != nil && !*now.Held || now.Held == nil && now.Items[flow.Skipped] > 0)
	add(Joined, ended)
	add(NotJoined, status == flow.Skipped && strings.HasPrefix(now.Now.Cause, notDone) || status == flow.Skipped && step.Join == flow.JoinAny && now.Held == nil && now.Now.Cause != runFailed && now.Now.Cause != skipRest)
	add(Failure, count(flow.Failed))
	add(Items, items > 0)
	add(NoItems, status == flow.Done && items == 0)
	add(Reached, status == flow.Done)
	add(Exhausted, count(flow.Failed))
	add(Approved, count(flow.Done))
	add(Declined, count(flow.Failed))
	add(Holds, count(flow.Done))
	add(Fails, count(flow.Failed))
}

// The causes of steps that a join skips, or that something else does.
const (
	notDone   = "dependency_not_done:"
	runFailed = "run_failed"
	skipRest  = "skip_rest"
)

// Coverage says which points of a workflow the cases reach.
type Coverage struct {
	// Points counts the points that are not excused.
	Points  int
	Missing []Uncovered
}

// Percent is how much of the points is reached.
func (c Coverage) Percent() int {
	if c.Points == 0 {
		return 100
	}
	return (c.Points - len(c.Missing)) * 100 / c.Points
}

// Uncovered is a point that no case reaches, and where its step stands.
type Uncovered struct {
	Point
	File string `json:"file"`
	Line int    `json:"line"`
}

// Cover compares the points that cases reach with those of their workflow.
func Cover(graph *flow.Graph, reached Points, excuses []Excuse) Coverage {
	excused := Points{}
	for _, each := range excuses {
		excused[Point{each.Step, each.Kind}] = true
	}
	c := Coverage{Missing: []Uncovered{}}
	layouts := map[*flow.Workflow]*flow.Layout{}
	for _, point := range PointsOf(graph) {
		if excused[point] {
			continue
		}
		c.Points++
		if reached[point] {
			continue
		}
		missing := Uncovered{Point: point}
		if at, ok := siteOf(graph, point.Step); ok {
			workflow := at.graph.Workflow
			if layouts[workflow] == nil {
				layouts[workflow] = workflow.Layout()
			}
			where := layouts[workflow].Key(fault.InvalidParams, at.written.Path(), "")
			missing.File, missing.Line = where.File, where.Line
		}
		c.Missing = append(c.Missing, missing)
	}
	slices.SortStableFunc(c.Missing, func(a, b Uncovered) int { return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line)) })
	return c
}
