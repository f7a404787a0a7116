package flow

import (
	"cmp"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/think/flow/expression"
)

// Status is where a step or a run stands.
type Status string

// The statuses of a step; a run is running, waiting, blocked, done or failed.
const (
	Pending     Status = "pending"
	Conditional Status = "conditional"
	Ready       Status = "ready"
	Issued      Status = "issued"
	Done        Status = "done"
	Skipped     Status = "skipped"
	Failed      Status = "failed"

	Running Status = "running"
	Waiting Status = "waiting"
	Blocked Status = "blocked"
)

func (s Status) settled() bool { return s == Done || s == Skipped || s == Failed }

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
	ready   []*unit // by position
	issued  []*unit // by position
	queue   []task
	units   int // created so far, against limits.steps
	ran     int
	params  map[string]any
	touched []*unit // by the event under way, each once, in the order met
	settled []*nodeState
	// resuming is set while a recorded answer is applied again: what was
	// handed out then need not be rendered.
	resuming bool
	lost     error // the first recorded value that could not be read back
}

// frame is one workflow under way: the root, a child, or a round of a repeat.
type frame struct {
	run    *Run
	graph  *Graph
	prefix string
	params map[string]any
	// paramsSum is the digest of params.
	paramsSum string
	owner     *unit // the flow.run unit, nil for the root
	round     int   // its place among the owner's rounds
	nodes     []nodeState
	open      int // nodes not settled
	// winding is the cause given to steps that will not be issued any more:
	// "run_failed" or "skip_rest"; stopped says that a frame above decided.
	winding string
	stopped bool
	closed  bool
	failed  []*unit
	tree    tree
	stale   []*nodeState // whose hashes the tree does not have yet
}

// nodeState is a step of a frame.
type nodeState struct {
	frame   *frame
	index   int
	status  Status
	cause   string
	bad     string // the failed step that what depends on this one is skipped for
	waiting int    // unsettled dependencies
	when    *bool
	list    *loopList // of a loop, once decided
	units   []unit    // never moved: they are pointed to
	open    int       // units not settled
	has     bool      // a capture, once settled
	noted   bool      // in the frame's stale
}

// loopList is what a loop goes over.
type loopList struct {
	items  []any
	sum    string // digest of items
	joined []byte // the list of what was captured
	tree   tree   // over the units
	stale  []*unit
}

// unit is what is handed out and settled: a step, or one item of a loop.
type unit struct {
	node     *nodeState
	item     int // index in the loop, -1 outside
	id       string
	status   Status
	cause    string
	attempt  int // the attempt under way or last made, from 1
	attempts []attempt
	issuedAt int    // version
	value    []byte // canonical JSON of the capture, unless it is to be loaded
	sum      string // hex SHA-256 of the value, empty for none
	size     int    // of the value in bytes
	load     func() ([]byte, error)
	witness  string
	late     bool
	seen     bool // in touched
	stale    bool // in the loop's stale
	// extra is what few units have, and those only for a time: a run may have
	// ten thousand.
	extra *extra
}

// extra is what a unit has while it is issued, once an attempt of it has
// failed, and where it runs a workflow.
type extra struct {
	input    any  // rendered, while issued
	rendered bool // input is
	shown    *fault.Error
	failure  *fault.Error
	rounds   []*frame
	outputs  []byte // of the last round
}

// more returns the unit's extra, to write to.
func (u *unit) more() *extra {
	if u.extra == nil {
		u.extra = &extra{}
	}
	return u.extra
}

// rare returns the unit's extra, to read.
func (u *unit) rare() extra {
	if u.extra == nil {
		return extra{}
	}
	return *u.extra
}

// rounds are the frames of the workflow that the unit runs, the last last.
func (u *unit) rounds() []*frame { return u.rare().rounds }

// attempt is one answer that was given to a unit.
type attempt struct {
	digest  string
	version int
}

func (u *unit) step() *Step   { return u.node.step() }
func (u *unit) frame() *frame { return u.node.frame }
func (u *unit) run() *Run     { return u.node.frame.run }

func (n *nodeState) node() *node { return &n.frame.graph.nodes[n.index] }
func (n *nodeState) step() *Step { return n.frame.graph.nodes[n.index].step }
func (n *nodeState) id() string  { return n.frame.prefix + n.step().ID }
func (n *nodeState) loop() bool  { return n.step().Foreach != nil }

// task is work that an event leads to; exactly one field is set.
type task struct {
	activate *nodeState
	begin    *unit
	close    *frame
}

// Start begins a run: params must come from Bind. The run is at version 1. A
// run that is blocked at once is returned all the same; Blocked tells why.
func (g *Graph) Start(id string, params map[string]any) *Run {
	r := &Run{graph: g, id: id, version: 1, params: params}
	r.root = r.open(g, "", params, nil)
	r.work()
	return r
}

// open starts a frame: what only its parameters decide is decided now.
func (r *Run) open(g *Graph, prefix string, params map[string]any, owner *unit) *frame {
	f := &frame{run: r, graph: g, prefix: prefix, params: params, owner: owner, nodes: make([]nodeState, len(g.nodes)), open: len(g.nodes)}
	f.tree.leaves = len(g.nodes)
	f.paramsSum, _ = jsonvalue.Digest(params)
	if owner != nil {
		f.round = len(owner.rounds())
		owner.more().rounds = append(owner.rounds(), f)
	}
	for i := range f.nodes {
		n := &f.nodes[i]
		*n = nodeState{frame: f, index: i, status: Pending, waiting: len(g.nodes[i].deps)}
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
	if n.status.settled() {
		return true
	}
	return !n.node().staticForeach || n.decideList()
}

// work does all that the last event made possible, then hands out what may be
// handed out.
func (r *Run) work() {
	for len(r.queue) > 0 && r.blocked == nil {
		next := r.queue[0]
		r.queue = r.queue[1:]
		switch {
		case next.activate != nil:
			next.activate.activate()
		case next.begin != nil:
			next.begin.begin()
		default:
			next.close.close()
		}
		if len(r.queue) == 0 {
			r.issue()
		}
	}
	if r.blocked == nil {
		r.issue()
	}
	r.queue = nil
}

// block stops the run for good: something that must be decided cannot be.
func (r *Run) block(err error) {
	if r.blocked == nil {
		r.blocked = fault.From(err)
	}
}

// touch notes a change of a unit and of the hashes above it.
func (u *unit) touch() {
	if !u.seen {
		u.seen = true
		u.run().touched = append(u.run().touched, u)
	}
	u.node.changed(u)
}

// changed notes that the hashes of a node and of all above it must be made
// anew, because of one of its units where one is given.
func (n *nodeState) changed(by *unit) {
	if by != nil && n.loop() && !by.stale {
		by.stale = true
		n.list.stale = append(n.list.stale, by)
	}
	f := n.frame
	if n.noted {
		return // and so are those above
	}
	n.noted = true
	f.stale = append(f.stale, n)
	if f.owner != nil {
		f.owner.node.changed(f.owner)
	}
}

func (n *nodeState) hash() sum {
	d := newDigest("node")
	d.text(n.id())
	if n.status.settled() {
		d.text(string(n.status))
		d.text(n.cause)
	}
	if n.when != nil {
		d.text(strconv.FormatBool(*n.when))
	}
	switch {
	case n.loop():
		root := sum{}
		if n.list != nil {
			d.number(len(n.list.items))
			d.text(n.list.sum)
			root = n.list.root(len(n.units))
		}
		d.Write(root[:])
	case len(n.units) == 1:
		only := n.units[0].hash()
		d.Write(only[:])
	}
	return d.done()
}

// root returns the hash of the loop's units.
func (l *loopList) root(units int) sum {
	for _, u := range l.stale {
		u.stale = false
		l.tree.leaves = units
		l.tree.set(u.item, u.hash())
	}
	l.stale = nil
	return l.tree.root()
}

func (u *unit) hash() sum {
	d := newDigest("unit")
	d.text(u.id)
	if u.status.settled() {
		d.text(string(u.status))
		d.text(u.cause)
		d.text(u.sum)
	}
	d.number(len(u.attempts))
	if failure := u.rare().failure; failure != nil {
		d.text(string(failure.Code))
	}
	for _, round := range u.rounds() {
		sum := round.hash()
		d.Write(sum[:])
	}
	return d.done()
}

func (f *frame) hash() sum {
	d := newDigest("frame")
	d.text(f.graph.Workflow.Digest)
	d.text(f.paramsSum)
	for _, n := range f.stale {
		n.noted = false
		f.tree.set(n.index, n.hash())
	}
	f.stale = nil
	root := f.tree.root()
	d.Write(root[:])
	return d.done()
}

// Hash returns the hex hash of all that was decided: it depends on the
// workflow, the parameters and the results, not on the run's id, on the order
// of parallel answers or on who gave them.
func (r *Run) Hash() string {
	d := newDigest("run")
	root := r.root.hash()
	d.Write(root[:])
	if r.blocked != nil {
		d.text(string(r.blocked.Code))
	}
	if r.final != nil {
		d.text(r.final.Outcome)
	}
	sum := d.done()
	return hex.EncodeToString(sum[:])
}

// env is what an expression of a step sees; u is nil where the step has no
// unit yet, or item stands for the loop's index.
func (n *nodeState) env(item int) expression.Env {
	f := n.frame
	env := expression.Env{Params: f.params, State: f.capture, Steps: f.statusOf, Run: f.run.about()}
	if own := n.step().CaptureAs; n.step().Rounds > 0 && own != "" {
		env.State = func(name string) any {
			if name == own && len(n.units) == 1 {
				return decoded(n.units[0].rare().outputs)
			}
			return f.capture(name)
		}
	}
	if n.loop() && item >= 0 {
		items := n.list.items
		env.Item = items[item]
		env.Loop = map[string]any{"index": item, "first": item == 0, "last": item == len(items)-1, "length": len(items)}
	}
	return env
}

func (r *Run) about() map[string]any {
	return map[string]any{"id": r.id, "workflow": r.graph.Workflow.Name, "version": r.graph.Workflow.Version}
}

func (f *frame) capture(name string) any {
	at, ok := f.graph.captures[name]
	if !ok {
		return nil
	}
	return decoded(f.nodes[at].bytes())
}

func (f *frame) statusOf(id string) any {
	at, ok := f.graph.index[id]
	if !ok {
		return nil
	}
	return string(f.nodes[at].status)
}

// decoded reads a stored value; what is stored was encoded by this package.
func decoded(value []byte) any {
	if len(value) == 0 {
		return nil
	}
	v, err := jsonvalue.Decode(value)
	if err != nil {
		return nil
	}
	return v
}

// before orders units as they were declared: by step, then item, then round,
// then the child's steps.
func before(a, b *unit) int {
	switch {
	case a.node == b.node:
		return cmp.Compare(a.item, b.item)
	case a.frame() == b.frame():
		return cmp.Compare(a.node.index, b.node.index)
	}
	return slices.Compare(a.position(), b.position())
}

// position is where the unit stands among all of the run.
func (u *unit) position() []int {
	above := []int(nil)
	if f := u.frame(); f.owner != nil {
		above = append(f.owner.position(), f.round)
	}
	if above = append(above, u.node.index); u.node.loop() {
		above = append(above, u.item)
	}
	return above
}

func insert(list []*unit, u *unit) []*unit {
	if len(list) == 0 || before(list[len(list)-1], u) < 0 {
		return append(list, u)
	}
	at, _ := slices.BinarySearchFunc(list, u, before)
	return slices.Insert(list, at, u)
}

func remove(list []*unit, u *unit) []*unit {
	at, found := slices.BinarySearchFunc(list, u, before)
	if !found {
		return list
	}
	if at == 0 {
		return list[1:]
	}
	return slices.Delete(list, at, at+1)
}

// find returns the node, and the unit if there is one, that an id names.
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
	at, ok := f.graph.index[base]
	k, err := strconv.Atoi(number)
	if !ok || err != nil || k < 0 {
		return nil, nil
	}
	n := &f.nodes[at]
	if n.loop() && k < len(n.units) {
		if u := &n.units[k]; !nested {
			return n, u
		} else if len(u.rounds()) == 1 {
			return u.rounds()[0].find(rest)
		}
	}
	if nested && n.step().Rounds > 0 && len(n.units) == 1 && k < len(n.units[0].rounds()) {
		return n.units[0].rounds()[k].find(rest)
	}
	return nil, nil
}

// Status says where the run stands.
func (r *Run) Status() Status {
	switch {
	case r.blocked != nil:
		return Blocked
	case r.final != nil:
		return Status(r.final.Outcome)
	}
	for _, u := range r.issued {
		if !u.step().Person() {
			return Running
		}
	}
	if len(r.issued) > 0 {
		return Waiting
	}
	return Running
}

// Blocked returns why the run cannot go on, or nil.
func (r *Run) Blocked() *fault.Error { return r.blocked }

// Version counts the events of the run from 1.
func (r *Run) Version() int { return r.version }

// Size returns the number of steps the run has so far, a loop's items one by
// one.
func (r *Run) Size() int { return len(r.root.nodes) + r.units }

// Ran counts the steps that ended done or failed so far.
func (r *Run) Ran() int { return r.ran }

// SkipTo sets the version: records that do not answer a step, such as a reset,
// count too.
func (r *Run) SkipTo(version int) { r.version = version }

// ID returns the run's id.
func (r *Run) ID() string { return r.id }

// Graph returns what the run follows.
func (r *Run) Graph() *Graph { return r.graph }

// Params returns the parameters the run was started with; do not change them.
func (r *Run) Params() map[string]any { return r.params }

// Change is what the last event did.
type Change struct {
	Steps []StepStatus
	Vars  []Var
}

// StepStatus is one line of a run's state.
type StepStatus struct {
	ID      string `json:"-"`
	Status  Status `json:"status"`
	Cause   string `json:"cause,omitempty"`
	Attempt int    `json:"attempt,omitempty"`
	Witness string `json:"witness,omitempty"`
	Late    bool   `json:"late,omitempty"`
	Code    string `json:"code,omitempty"`
	Details string `json:"details,omitempty"`
}

// Var is a capture and its value as canonical JSON. Of a long list that a loop
// made, Value is only the beginning; Size is the length of the whole.
type Var struct {
	Name  string
	Value json.RawMessage
	Size  int
}

// longList is the size in bytes from which a loop's list is not put together
// only to be shown.
const longList = 4 << 10

// Changed returns what the last Start or Settle changed, in declaration order.
func (r *Run) Changed() Change {
	var change Change
	touched := slices.Clone(r.touched)
	slices.SortFunc(touched, before)
	for _, u := range touched {
		change.Steps = append(change.Steps, u.describe())
	}
	settled := slices.Clone(r.settled)
	slices.SortStableFunc(settled, func(a, b *nodeState) int {
		return cmp.Or(cmp.Compare(a.frame.prefix, b.frame.prefix), cmp.Compare(a.index, b.index))
	})
	for _, n := range settled {
		if len(n.units) == 0 || n.loop() {
			change.Steps = append(change.Steps, n.describe())
		}
		if name := n.step().CaptureAs; name != "" && n.has {
			change.Vars = append(change.Vars, n.variable(n.frame.prefix+name))
		}
	}
	return change
}

func (u *unit) describe() StepStatus {
	s := StepStatus{ID: u.id, Status: u.status, Cause: u.cause, Attempt: u.attempt, Witness: u.witness, Late: u.late}
	if failure := u.rare().failure; failure != nil {
		s.Code, s.Details = string(failure.Code), failure.Details
	}
	return s
}

func (n *nodeState) describe() StepStatus {
	return StepStatus{ID: n.id(), Status: n.standing(), Cause: n.cause}
}

// standing is the status of a node as a reader means it: issued as long as a
// unit of it is.
func (n *nodeState) standing() Status {
	if n.status == Ready && slices.ContainsFunc(n.units, func(u unit) bool { return u.status == Issued }) {
		return Issued
	}
	return n.status
}

func (r *Run) newEvent() {
	for _, u := range r.touched {
		u.seen = false
	}
	r.touched, r.settled = nil, nil
}
