package flow

import (
	"cmp"
	"slices"

	"savant/fault"
	"savant/think/flow/expression"
)

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
	passed    int // barriers of the graph that have passed
	early     int // nodes not settled for which the handlers wait
	// haltCause is the cause of the steps skipped by halt: "run_failed" or "skip_rest";
	// haltedAbove says that an outer frame halted.
	haltCause   string
	haltedAbove bool
	closed      bool
	failed      []*unit
	tree        tree
	stale       []*nodeState // whose hashes the tree does not have yet
}

// nodeState is a step of a frame.
type nodeState struct {
	frame   *frame
	index   int
	status  Status
	cause   string
	bad     string // the failed step because of which later steps are skipped
	waiting int    // unsettled dependencies, and the barrier that has not passed
	when    *bool
	list    *loopList // of a loop, once decided
	units   []unit    // never moved: they are pointed to
	open    int       // units not settled
	away    int       // units whose capture is not in memory
	has     bool      // a capture, once settled
	noted   bool      // in the frame's stale
}

// loopList is the list of a loop.
type loopList struct {
	items []any
	// parallel is how many of them are under way at once; 0 where the step does not say.
	parallel int
	sum      string // digest of items
	tree     tree   // over the units
	stale    []*unit
}

// unit is issued and settled as a whole: a step, or one item of a loop.
type unit struct {
	node     *nodeState
	item     int // index in the loop, -1 outside
	id       string
	status   Status
	cause    string
	attempt  int // the attempt under way or last made, from 1
	attempts []attempt
	issuedAt int    // version
	value    []byte // canonical JSON of the capture; nil while it is away
	away     bool   // the capture is not in memory
	sum      string // hex SHA-256 of the value, empty for none
	size     int    // of the value in bytes
	witness  string
	late     bool
	stated   bool // the value is from a statement about an unknown outcome
	seen     bool // in touched
	stale    bool // in the loop's stale
	// extra has rarely used fields, apart to save memory: a run may have ten thousand
	// units.
	extra *extra
}

// extra has the fields of a unit that is issued, had a failed attempt, or runs a
// workflow.
type extra struct {
	input    any  // rendered, while issued
	rendered bool // input is
	shown    *fault.Error
	failure  *fault.Error
	agreed   []string // of a human.approve with count: who agreed so far
	unknown  bool     // the last call may have had an effect: the unit waits for a statement
	spared   int      // answers that count against no retry
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

// env is the environment of a step's expressions; item is the index in a loop, -1 outside
// its items.
func (n *nodeState) env(item int) expression.Env {
	f := n.frame
	env := f.env()
	if n.node().handler {
		env.Run = f.outcome(env.Run)
	}
	if own := n.step().CaptureAs; n.step().Rounds > 0 && own != "" {
		env.Steps = ownRounds{f, n, item}
	}
	if n.loop() && item >= 0 {
		items := n.list.items
		env.Item = items[item]
		env.Loop = map[string]any{"index": item, "first": item == 0, "last": item == len(items)-1, "length": len(items)}
	}
	return env
}

// ownRounds are the steps as one sees them that repeats itself: its own capture is what its
// last round left.
type ownRounds struct {
	*frame
	node *nodeState
	item int
}

// Capture implements expression.Steps.
func (o ownRounds) Capture(name string) any {
	switch n, at := o.node, max(o.item, 0); {
	case name != n.step().CaptureAs:
		return o.frame.Capture(name)
	case at < len(n.units) && (o.item >= 0 || !n.loop()):
		return decoded(n.units[at].rare().outputs)
	}
	return nil // before the first round
}

// field returns what an expression reads of a step: see expression.StepStatus.
func (f *frame) Field(id, name string) any {
	at, ok := f.graph.index[id]
	if !ok {
		return nil
	}
	n := &f.nodes[at]
	switch {
	case name == expression.StepStatus:
		return string(n.status)
	case name == expression.StepError && n.status == Failed:
		return n.failure()
	case name == expression.StepReason && n.status == Skipped:
		return n.cause
	case name == expression.StepLast:
		return n.last()
	}
	return nil
}

// failure describes why the step failed, of a loop its first failed item.
func (n *nodeState) failure() any {
	for i := range n.units {
		if u := &n.units[i]; u.status == Failed {
			failure := u.rare().failure
			return map[string]any{"code": string(failure.Code), "details": cmp.Or(failure.Details, failure.Message()), "attempts": u.attempt}
		}
	}
	return nil
}

// last returns the outputs of the last round of a repeat, of a loop those of each item;
// null before the first round has ended.
func (n *nodeState) last() any {
	if n.step().Rounds == 0 || len(n.units) == 0 {
		return nil
	}
	if !n.loop() {
		return decoded(n.units[0].rare().outputs)
	}
	rounds := make([]any, len(n.units))
	for i := range n.units {
		rounds[i] = decoded(n.units[i].rare().outputs)
	}
	return rounds
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
