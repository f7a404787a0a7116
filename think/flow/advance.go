package flow

import (
	"cmp"
	"slices"
	"strconv"

	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/think/flow/expression"
)

// activate decides a node whose dependencies are settled.
func (n *nodeState) activate() {
	if n.status.settled() || n.units != nil {
		return
	}
	if n.frame.haltCause != "" && n.step().Join != JoinDone {
		n.settleNode(Skipped, n.frame.haltCause)
		return
	}
	if cause, bad := n.blockedBy(); cause != "" {
		n.bad = bad
		n.settleNode(Skipped, cause)
		return
	}
	if n.step().When != nil && !n.node().staticWhen && !n.node().perItem && !n.decideWhen(nil) {
		return
	}
	if n.status.settled() {
		return
	}
	if !n.loop() {
		if !n.skipsUnread() {
			n.expand(1)
		}
		return
	}
	if n.list == nil && !n.decideList() {
		return
	}
	if n.skipsUnread() || n.step().Parallel != nil && len(n.list.items) > 0 && !n.decideParallel() {
		return
	}
	n.expand(len(n.list.items))
}

// decideParallel computes how many items of a loop are under way at once; false means
// that the run is blocked.
func (n *nodeState) decideParallel() bool {
	where := n.step().parallelAt
	value, err := n.step().Parallel.Eval(n.env(-1))
	count, ok := value.(int)
	switch {
	case err != nil:
		n.frame.run.block(where.failure(err))
	case !ok || count < 1 || count > MaxParallel:
		n.frame.run.block(where.mismatch(fault.ExpressionError, "parallel must give an integer from 1 to "+strconv.Itoa(MaxParallel), "integer", kind(value)))
	default:
		n.list.parallel = count
		return true
	}
	return false
}

// lacks reports whether the step spells out the hard read of a capture that is not there.
// Whether it is reached is then for the evaluation to say.
func (n *nodeState) lacks() bool {
	return n.frame.graph.readsAsEvaluated() && slices.ContainsFunc(n.node().reads, func(r captureRead) bool { return r.hard && !n.frame.nodes[r.node].has })
}

// skipsUnread settles a node of which nothing can run, because its input reads a
// capture that is not there: for a loop, the input of every item.
func (n *nodeState) skipsUnread() bool {
	if !n.lacks() {
		return false
	}
	if !n.loop() {
		return n.skipFor(n.absent(-1))
	}
	first := ""
	for item := range n.list.items {
		name := n.absentOf(item)
		if name == "" {
			return false
		}
		first = cmp.Or(first, name)
	}
	return n.skipFor(first)
}

// absentOf is absent for an item whose own `when` may pass it by.
func (n *nodeState) absentOf(item int) string {
	if n.node().perItem {
		yes, err := n.step().When.Eval(n.env(item))
		if name := expression.AbsentOf(err); name != "" || yes != true {
			return name
		}
	}
	return n.absent(item)
}

// skipFor skips the node for a capture that is not there; "" is none.
func (n *nodeState) skipFor(capture string) bool {
	if capture != "" {
		n.settleNode(Skipped, missingData+capture)
	}
	return capture != ""
}

// absentIn returns the capture that an expression reads and that is not there, or "".
func (n *nodeState) absentIn(program *expression.Program, item int) string {
	if !n.lacks() {
		return ""
	}
	return program.Absent(n.env(item))
}

// absent returns a capture that the step, or one item of it, needs and that is not
// there, or "". What depends on the result is not decided yet.
func (n *nodeState) absent(item int) string {
	s, env := n.step(), n.env(item)
	input := s.input
	if s.Call == CallAssert {
		input = input.field("that") // the message is read where it does not hold
	}
	if name := input.absent(env); name != "" {
		return name
	}
	env.Result = expression.Undecided
	for _, program := range []*expression.Program{s.Extract, s.Until, s.Parallel} {
		if program != nil {
			if name := program.Absent(env); name != "" {
				return name
			}
		}
	}
	return ""
}

// blockedBy returns the cause for which the step is skipped because of earlier steps,
// and the failed step behind it, if any.
func (n *nodeState) blockedBy() (cause, bad string) {
	join, deps := n.step().Join, n.node().deps
	if join != JoinDone {
		if cause, bad = n.upstream(); bad != "" {
			return cause, bad
		}
	}
	isDone := func(dep int) bool { return n.frame.nodes[dep].status == Done }
	notDone := func(dep int) bool { return !isDone(dep) }
	if at := slices.IndexFunc(deps, notDone); join == JoinSuccess && at >= 0 {
		return "dependency_not_done:" + n.frame.nodes[deps[at]].id(), ""
	}
	if join == JoinAny && len(deps) > 0 && !slices.ContainsFunc(deps, isDone) {
		return "no_dependency_done", ""
	}
	for _, r := range n.node().reads {
		d := &n.frame.nodes[r.node]
		counts := r.certain || r.hard && !n.frame.graph.readsAsEvaluated()
		if counts && (d.status == Skipped && !d.has || d.bad != "") {
			return missingData + r.capture, ""
		}
	}
	return "", ""
}

// missingData begins the cause of a step that reads a capture which is not there.
const missingData = "missing_data:"

// decideWhen evaluates the condition of the node, or of one item; false means that the
// run is blocked.
func (n *nodeState) decideWhen(u *unit) bool {
	item := -1
	if u != nil {
		item = u.item
	}
	if capture := n.absentIn(n.step().When, item); capture != "" {
		if u == nil {
			n.skipFor(capture)
		} else {
			u.settle(Skipped, missingData+capture, nil, nil)
		}
		return true
	}
	yes, err := n.step().whenAt.decide("when", n.step().When, n.env(item))
	if err != nil {
		n.frame.run.block(err)
		return false
	}
	if u == nil {
		n.when = &yes
		if !yes {
			n.settleNode(Skipped, "when")
		}
		return true
	}
	if !yes {
		u.settle(Skipped, "when", nil, nil)
	}
	return true
}

// decideList computes a loop's list, once; false means that the run is blocked, or the
// loop skipped because the list reads what is not there.
func (n *nodeState) decideList() bool {
	if n.skipFor(n.absentIn(n.step().Foreach, -1)) {
		return false
	}
	where, limit := n.step().foreachAt, n.frame.graph.Workflow.Limits.Items
	value, err := n.step().Foreach.Eval(n.env(-1))
	list, ok := value.([]any)
	switch {
	case err != nil:
		n.frame.run.block(where.failure(err))
	case !ok:
		n.frame.run.block(where.mismatch(fault.ForeachNotArray, "foreach must give a list, not "+kind(value), "array", kind(value)))
	case len(list) > limit:
		n.frame.run.block(where.mismatch(fault.LimitExceeded, "the loop has "+strconv.Itoa(len(list))+" items; limits.items is "+strconv.Itoa(limit),
			"at most "+strconv.Itoa(limit), strconv.Itoa(len(list))))
	default:
		n.list = &loopList{items: list}
		n.list.sum, _ = jsonvalue.Digest(list)
		return true
	}
	return false
}

// decide evaluates a boolean expression; name is its key.
func (s *source) decide(name string, program *expression.Program, env expression.Env) (bool, error) {
	value, err := program.Eval(env)
	if err != nil {
		return false, s.failure(err)
	}
	yes, ok := value.(bool)
	if !ok {
		return false, s.mismatch(fault.ExpressionError, name+" must give true or false, not "+kind(value), "boolean", kind(value))
	}
	return yes, nil
}

// mismatch is the error of an expression whose value cannot be used.
func (s *source) mismatch(code fault.Code, message, expected, actual string) *fault.Error {
	at := s.positionAt(0)
	return fault.New(code, "%s:%d:%d: %s", s.file, at.line, at.column, message).With(fault.Diagnostic{
		File: s.file, Path: s.path, Line: at.line, Column: at.column, Message: message, Expected: expected, Actual: actual})
}

// expand creates the node's units and begins them.
func (n *nodeState) expand(count int) {
	r := n.frame.run
	if r.units += count; r.units > r.graph.Workflow.Limits.Steps {
		at := n.step().at
		r.block(fault.New(fault.LimitExceeded, "%s:%d:%d: the run has more than limits.steps = %d steps", n.frame.graph.Workflow.File,
			at.line, at.column, r.graph.Workflow.Limits.Steps).With(fault.Diagnostic{File: n.frame.graph.Workflow.File,
			Path: n.step().path, Line: at.line, Column: at.column, Message: "too many steps"}))
		return
	}
	n.units = make([]unit, count)
	n.open = count
	for i := range n.units {
		u := &n.units[i]
		*u = unit{node: n, item: -1, id: n.id(), status: Pending}
		if n.loop() {
			u.item, u.id = i, u.id+"_"+strconv.Itoa(i)
		}
	}
	if count == 0 {
		n.has = true
		n.settleNode(Done, "")
		return
	}
	n.status = Ready
	lacks := n.lacks()
	for i := range n.units {
		u := &n.units[i]
		if n.node().perItem && !n.decideWhen(u) {
			return
		}
		if !u.status.settled() && lacks {
			if capture := n.absent(u.item); capture != "" {
				u.settle(Skipped, missingData+capture, nil, nil)
			}
		}
		if !u.status.settled() {
			r.queue = append(r.queue, task{begin: u})
		}
	}
}

// begin makes a unit ready to be issued, or settles it if its call is the engine's.
func (u *unit) begin() {
	if u.status.settled() {
		return
	}
	switch u.step().Call {
	case CallSet:
		u.set()
	case CallAssert:
		u.assert()
	case CallRun:
		u.status = Issued
		u.attempt = 1
		u.touch()
		u.round()
	default:
		u.status = Ready
		u.run().ready = insert(u.run().ready, u)
	}
}

func (u *unit) set() {
	u.attempt = 1
	value, err := u.step().input.field("value").render(u.node.env(u.item))
	if err != nil {
		u.run().block(err)
		return
	}
	u.succeed(value)
}

// succeed checks a value that the engine computed and settles the unit with it; there
// is no second attempt.
func (u *unit) succeed(value any) {
	if schema := u.step().Schema; schema != nil {
		if err := schema.Check(value); err != nil {
			u.fail(fault.From(err))
			return
		}
	}
	data, err := jsonvalue.Encode(value)
	if err != nil {
		u.run().block(fault.New(fault.Internal, "%s: encoding a value: %w", u.id, err))
		return
	}
	if u.run().computed += len(data); u.run().terms.BoundValues && u.run().computed > maxComputed {
		u.run().block(fault.New(fault.LimitExceeded, "%s: at step %s, the values that steps of flow.* made since the last answer have more than %d MB", u.file(), u.id, maxComputed>>20))
		return
	}
	u.settle(Done, "", data, nil)
}

// maxComputed bounds the values that the engine makes in one event, in bytes of JSON.
const maxComputed = 128 << 20

func (u *unit) assert() {
	u.attempt = 1
	env := u.node.env(u.item)
	that := u.step().input.field("that")
	value, err := that.condition(env)
	if err != nil {
		u.run().block(err)
		return
	}
	yes, ok := value.(bool)
	if !ok {
		u.run().block(u.mismatch(that, "flow.assert: that must give true or false, not "+kind(value)))
		return
	}
	if yes {
		u.settle(Done, "", []byte("true"), nil)
		return
	}
	message := "the assertion does not hold"
	if text := u.step().input.field("message"); text != nil {
		said, err := text.render(env)
		if err != nil && text.absent(env) == "" { // what the message lacks does not hide the failure
			u.run().block(err)
			return
		}
		if text, ok := said.(string); ok {
			message = text
		}
	}
	u.fail(fault.New(fault.ValidationFailed, "%s", message).With(fault.Diagnostic{File: u.file(), Path: u.step().path + ".input_template.that",
		Line: u.step().at.line, Column: u.step().at.column, Message: message, Expected: "true", Actual: "false"}))
}

func (u *unit) file() string { return u.frame().graph.Workflow.File }

// mismatch is an EXPRESSION_ERROR at a template.
func (u *unit) mismatch(t *template, message string) *fault.Error {
	at := u.step().at
	path := u.step().path
	if t.where != nil {
		at, path = t.where.positionAt(0), t.where.path
	}
	return fault.New(fault.ExpressionError, "%s:%d:%d: %s", u.file(), at.line, at.column, message).With(
		fault.Diagnostic{File: u.file(), Path: path, Line: at.line, Column: at.column, Message: message})
}
