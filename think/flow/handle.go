package flow

import (
	"strconv"
	"strings"

	"savant/fault"
)

// Handle is a step of a run, or one item of a loop. View.Step makes it from an id: no
// other way leads from a text of a caller to a step. It is valid as long as its run.
type Handle struct {
	node *nodeState
	unit *unit // nil for a loop, and for a step that has not begun
}

// Step returns the step with an id, in the one spelling that the run itself uses:
// UNKNOWN_STEP.
func (v View) Step(id string) (Handle, error) {
	step, err := v.RecordedStep(id)
	switch {
	case err != nil:
		return Handle{}, err
	case step.ID() != id:
		return Handle{}, fault.New(fault.UnknownStep, "the run has no step %q", fault.Cut(id, 120)).Attach("expected", v.run.issuedIDs()).
			Hinted(fault.DidYouMean(strconv.Quote(step.ID())))
	}
	return step, nil
}

// RecordedStep is Step for an id in a record of the run: earlier versions accepted, and
// recorded, an item's number in other spellings ("read_00"). UNKNOWN_STEP.
func (v View) RecordedStep(id string) (Handle, error) {
	n, u := v.run.find(id)
	if n == nil {
		return Handle{}, v.run.unknown(id)
	}
	return Handle{n, u}, nil
}

// ID returns the step's id.
func (h Handle) ID() string {
	if h.unit != nil {
		return h.unit.id
	}
	return h.node.id()
}

// Writes reports whether the author says that the step's call has an effect.
func (h Handle) Writes() bool { return h.node.step().Effect == "write" }

// status returns the status and cause of the step.
func (h Handle) status() (Status, string) {
	if h.unit != nil {
		return h.unit.status, h.unit.cause
	}
	return h.node.status, h.node.cause
}

func (r *Run) unknown(step string) error {
	what := "the run"
	if r.final != nil {
		what = "the run, which is over,"
	}
	return r.graph.unknown(what, step).Attach("expected", r.issuedIDs())
}

func (g *Graph) unknown(what, step string) *fault.Error {
	names := make([]string, len(g.nodes))
	for i := range g.nodes {
		names[i] = g.nodes[i].step.ID
	}
	return fault.New(fault.UnknownStep, "%s has no step %q%s", what, fault.Cut(step, 120), suggestion(step, names, ""))
}

// expect refuses an answer to a step that is not issued.
func (r *Run) expect(h Handle) error {
	if r.cancelled != nil {
		return r.Cancelled()
	}
	u := h.unit
	if u != nil && u.status == Issued && !u.step().engine() {
		return nil
	}
	if r.blocked != nil {
		return r.blocked
	}
	status, why := h.status()
	if why != "" {
		why = " (" + why + ")"
	}
	expected := "nothing: the run is " + string(r.status())
	if ids := r.issuedIDs(); len(ids) > 0 {
		expected = strings.Join(ids, ", ")
	}
	refused := fault.New(fault.InvalidTransition, "step %q is %s%s; expected %s", h.ID(), status, why, fault.Cut(expected, 1000)).Attach("expected", r.issuedIDs())
	if u != nil && u.status == Failed && !u.step().Person() {
		return refused.Hinted(u.reopening())
	}
	return refused
}

// Awaited returns the issued steps that a step waits for, in their order.
func (v View) Awaited(h Handle) (ids []string) {
	n := h.node
	above := map[int]bool{}
	for queue := []int{n.index}; len(queue) > 0; queue = queue[1:] {
		for _, dep := range n.frame.graph.nodes[queue[0]].after() {
			if !above[dep] {
				above[dep] = true
				queue = append(queue, dep)
			}
		}
	}
	for _, u := range v.run.issued {
		at := u.node
		for at.frame != n.frame && at.frame.owner != nil { // a step of a workflow that one above runs
			at = at.frame.owner.node
		}
		if at.frame == n.frame && (above[at.index] || n.node().handler && !at.node().late) {
			ids = append(ids, u.id)
		}
	}
	return ids
}

// Answers returns the versions that answered the step.
func (h Handle) Answers() []int {
	if h.unit == nil {
		return nil
	}
	var versions []int
	for _, each := range h.unit.attempts {
		versions = append(versions, each.version)
	}
	return versions
}

// IssuedAt returns the version that last issued the step; 0 if none.
func (h Handle) IssuedAt() int {
	if h.unit == nil {
		return 0
	}
	return h.unit.issuedAt
}

// Capture returns the name of the capture that the step makes, "" where it makes none:
// an item of a loop is only a part of one.
func (h Handle) Capture() string {
	if h.unit != nil && h.node.loop() || h.node.step().CaptureAs == "" {
		return ""
	}
	return h.node.frame.prefix + h.node.step().CaptureAs
}

// List returns the list of a loop, or nil.
func (h Handle) List() []any {
	if h.unit != nil || h.node.list == nil {
		return nil
	}
	return h.node.list.items
}

// find returns the node, and the unit if there is one, that an id names. It is the one
// parser of step ids.
func (r *Run) find(id string) (*nodeState, *unit) { return r.root.find(id) }

func (f *frame) find(id string) (*nodeState, *unit) {
	head, rest, nested := strings.Cut(id, "/")
	if at, ok := f.graph.index[head]; ok {
		n := &f.nodes[at]
		if !nested {
			if len(n.units) == 1 && !n.loop() {
				return n, &n.units[0]
			}
			return n, nil
		}
		if n.step().Rounds == 0 && !n.loop() && len(n.units) == 1 && len(n.units[0].rounds()) == 1 {
			return n.units[0].rounds()[0].find(rest)
		}
		return nil, nil
	}
	base, number, _ := cutLast(head, "_")
	k, err := strconv.Atoi(number)
	if err != nil || k < 0 {
		return nil, nil
	}
	n, u := f.part(base, k)
	switch {
	case !nested && u != nil && n.loop():
		return n, u
	case nested && u != nil && n.step().Rounds == 0 && len(u.rounds()) == 1:
		return u.rounds()[0].find(rest)
	case nested:
		if u := f.repeated(base); u != nil && k < len(u.rounds()) {
			return u.rounds()[k].find(rest)
		}
	}
	return nil, nil
}

// part returns an item of a loop, nil if there is none.
func (f *frame) part(loop string, item int) (*nodeState, *unit) {
	at, ok := f.graph.index[loop]
	if !ok || !f.nodes[at].loop() || item >= len(f.nodes[at].units) {
		return nil, nil
	}
	return &f.nodes[at], &f.nodes[at].units[item]
}

// repeated returns the unit whose rounds begin with an id: a step with a repeat, or an
// item of one.
func (f *frame) repeated(id string) *unit {
	if at, ok := f.graph.index[id]; ok {
		if n := &f.nodes[at]; n.step().Rounds > 0 && !n.loop() && len(n.units) == 1 {
			return &n.units[0]
		}
		return nil
	}
	base, number, _ := cutLast(id, "_")
	if item, err := strconv.Atoi(number); err == nil && item >= 0 {
		if n, u := f.part(base, item); u != nil && n.step().Rounds > 0 {
			return u
		}
	}
	return nil
}
