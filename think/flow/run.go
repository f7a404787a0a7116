package flow

import (
	"strconv"
	"strings"

	"savant/fault"
	"savant/internal/jsonvalue"
)

// Status is where a step or a run stands.
type Status string

// The statuses of a step; a run is running, waiting, blocked, done, failed or cancelled.
const (
	Pending     Status = "pending"
	Conditional Status = "conditional"
	Ready       Status = "ready"
	Issued      Status = "issued"
	Done        Status = "done"
	Skipped     Status = "skipped"
	Failed      Status = "failed"

	Running   Status = "running"
	Waiting   Status = "waiting"
	Blocked   Status = "blocked"
	Cancelled Status = "cancelled"
)

func (s Status) settled() bool { return s == Done || s == Skipped || s == Failed }

// Terms stay the same from a run's plan to its end, whichever version of Savant
// continues it. The zero value has the terms of the first versions.
type Terms struct {
	// Window bounds, in bytes, what one event issues after the first instruction; 0 is
	// no bound.
	Window int `json:"window,omitempty"`
	// PlainFailures reports that a result with isError counts as a failure even if its
	// reason is not in MCP's form. Without it, such a result is a value.
	PlainFailures bool `json:"plain_failures,omitempty"`
	// HoldUnknown reports that a step with effect: write waits for a statement after a
	// call with an unknown outcome. Without it, the step is issued again.
	HoldUnknown bool `json:"hold_unknown,omitempty"`
	// BareFaults reports that the error of a tool in Savant's own form is a failed call,
	// also where it was sent without the isError of its reply. Without it, it is a value.
	BareFaults bool `json:"bare_faults,omitempty"`
	// ExtraMembers reports that a result with isError is a failed call also beside members
	// that MCP does not name. Without it, such a result is a value.
	ExtraMembers bool `json:"extra_members,omitempty"`
	// SpareStatements reports that a statement after a call with an unknown outcome uses no
	// attempt up if its result does not fit. Without it, the last attempt fails the step.
	SpareStatements bool `json:"spare_statements,omitempty"`
	// BoundValues reports that the values that the engine makes in one event are bounded, or
	// the run is blocked. Without it, they have no bound.
	BoundValues bool `json:"bound_values,omitempty"`
	// ResourceTexts reports that the text of a result is also that of the resources in it.
	// Without it, only its blocks of text count.
	ResourceTexts bool `json:"resource_texts,omitempty"`
}

// CurrentTerms returns the terms of a run that is planned now.
func CurrentTerms() Terms {
	return Terms{PlainFailures: true, HoldUnknown: true, BareFaults: true, ExtraMembers: true, SpareStatements: true, BoundValues: true, ResourceTexts: true}
}

// Run is one run of a graph: a state machine without I/O. Each Start or Settle
// is one version. A Run is not safe for concurrent use. After an error of the
// caller's (INVALID_TRANSITION, STATE_CONFLICT, …) it is unchanged.
type Run struct {
	graph   *Graph
	id      string
	version int
	root    *frame
	blocked *fault.Error
	final   *Final
	// cancelled says who cancelled the run; final is then also set.
	cancelled *Cancellation
	ready     []*unit // by position
	issued    []*unit // by position
	queue     []task
	units     int // created so far, against limits.steps
	ran       int
	params    map[string]any
	// held are the units whose long capture is in memory, values the decoded long captures
	// that expressions have read; heldSize is their total size in bytes of JSON.
	held        []*unit
	values      map[*nodeState]any
	cachedBytes int
	// What the event under way did: touched holds each unit once, in the order
	// met, answered is the unit that it answers.
	touched  []*unit
	settled  []*nodeState
	answered *unit
	rejected *fault.Error
	// fresh are the units that the event issued; computed is the size of the values that the
	// engine made in it.
	fresh    []*unit
	computed int
	terms    Terms
	// resuming is set while a recorded answer is replayed; its instructions need not be
	// rendered.
	resuming bool
	// unhashed is set for a run whose outcomes have no hash.
	unhashed bool
}

// task is work that follows from an event; exactly one field is set.
type task struct {
	accept   *Answer
	activate *nodeState
	begin    *unit
	close    *frame
}

// missing returns the captures that a task reads and that are not in memory.
func (t task) missing(r *Run) []Ref {
	var m missing
	switch {
	case t.accept != nil:
		if r.answered.readsToAccept() {
			m.node(r.answered.node)
		}
	case t.activate != nil:
		if t.activate.step().When != nil || t.activate.loop() || t.activate.lacks() {
			m.node(t.activate)
		}
	case t.begin != nil:
		if t.begin.step().Internal() {
			m.node(t.begin.node)
		}
	default:
		m.end(t.close)
	}
	return m.refs
}

func (t task) apply(r *Run) {
	switch {
	case t.accept != nil:
		r.answered.take(*t.accept)
	case t.activate != nil:
		t.activate.activate()
	case t.begin != nil:
		t.begin.begin()
	default:
		t.close.close()
	}
}

// Start begins a run: params must come from Bind. The run is at version 1, and
// nothing is missing.
func (g *Graph) Start(id string, params map[string]any, terms Terms) (*Run, Outcome) {
	r := &Run{graph: g, id: id, version: 1, params: params, terms: terms, values: map[*nodeState]any{}}
	r.root = r.startFrame(g, "", params, nil)
	return r, r.Proceed()
}

// startFrame starts a frame: what only its parameters decide is decided now.
func (r *Run) startFrame(g *Graph, prefix string, params map[string]any, owner *unit) *frame {
	f := &frame{run: r, graph: g, prefix: prefix, params: params, owner: owner, nodes: make([]nodeState, len(g.nodes)), open: len(g.nodes), early: g.early}
	f.tree.leaves = len(g.nodes)
	f.paramsSum, _ = jsonvalue.Digest(params)
	if owner != nil {
		f.round = len(owner.rounds())
		owner.more().rounds = append(owner.rounds(), f)
	}
	for i := range f.nodes {
		n := &f.nodes[i]
		*n = nodeState{frame: f, index: i, status: Pending, waiting: g.nodes[i].waits()}
		if g.nodes[i].handler && g.early > 0 {
			n.waiting++
		}
		if g.nodes[i].conditional() {
			n.status = Conditional
		}
	}
	for i := range f.nodes {
		n := &f.nodes[i]
		if !n.decideStatic() {
			return f
		}
	}
	for i := range f.nodes {
		if n := &f.nodes[i]; n.waiting == 0 && !n.status.settled() {
			r.queue = append(r.queue, task{activate: n})
		}
	}
	return f
}

// decideStatic decides a when and a foreach over parameters; false means that
// the run is blocked.
func (n *nodeState) decideStatic() bool {
	if n.status.settled() {
		return true // a step above it was skipped
	}
	if n.node().staticWhen && !n.decideWhen(nil) {
		return false
	}
	return n.status.settled() || !n.node().staticForeach || n.decideList()
}

// work applies all consequences of the last event, then issues the ready units. If it
// needs captures that are not in memory, it stops and returns them.
func (r *Run) work() []Ref {
	for len(r.queue) > 0 && r.blocked == nil {
		next := r.queue[0]
		if refs := next.missing(r); len(refs) > 0 {
			return refs
		}
		r.queue = r.queue[1:]
		next.apply(r)
	}
	r.queue = nil
	return r.issue()
}

// block stops the run permanently, because a required expression failed.
func (r *Run) block(err error) {
	if r.blocked == nil {
		r.blocked = fault.From(err)
	}
}

// status says where the run stands.
func (r *Run) status() Status {
	switch {
	case r.blocked != nil:
		return Blocked
	case r.final != nil:
		return Status(r.final.Outcome)
	}
	for _, u := range r.issued {
		if person := u.step().Person() || u.rare().unknown && u.step().Witness == "required"; !person {
			return Running
		}
	}
	if len(r.issued) > 0 {
		return Waiting
	}
	return Running
}

// SkipTo sets the version: records that do not answer a step, such as a reset,
// count too.
func (r *Run) SkipTo(version int) { r.version = version }

// View reads a run. What it returns is valid until the run's next change.
type View struct{ run *Run }

// View returns what reads the run.
func (r *Run) View() View { return View{r} }

// Graph returns what the run follows.
func (v View) Graph() *Graph { return v.run.graph }

// Params returns the parameters the run was started with; do not change them.
func (v View) Params() map[string]any { return v.run.params }

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

// Call returns what the step calls.
func (h Handle) Call() string { return h.node.step().Call }

// Tool returns the outside tool that the step calls, or "".
func (h Handle) Tool() string { return h.node.step().Tool() }

// Person reports whether only a person may settle the step.
func (h Handle) Person() bool { return h.node.step().Person() }

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

// Expect refuses an answer to a step that is not issued.
func (r *Run) Expect(h Handle) error {
	if r.cancelled != nil {
		return r.Cancelled()
	}
	u := h.unit
	if u != nil && u.status == Issued && !u.step().Internal() {
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
	failure := fault.New(fault.InvalidTransition, "step %q is %s%s; expected %s", h.ID(), status, why, fault.Cut(expected, 1000)).Attach("expected", r.issuedIDs())
	if u != nil && u.status == Failed && !u.step().Person() {
		return failure.Hinted(u.reopening())
	}
	return failure
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
	base, number, _ := cutLast(head)
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
	base, number, _ := cutLast(id)
	if item, err := strconv.Atoi(number); err == nil && item >= 0 {
		if n, u := f.part(base, item); u != nil && n.step().Rounds > 0 {
			return u
		}
	}
	return nil
}
