package flow

import (
	"container/heap"
	"slices"
	"strings"

	"savant/think/flow/expression"
)

// What comes before a step besides its dependencies, and what a dependency means that
// was skipped.

// barrier reports whether the step is a check that holds the steps below it in the file.
func (n *node) barrier() bool {
	switch {
	case n.step.NoBarrier:
		return false
	case n.child != nil:
		return len(n.child.barriers) > 0
	}
	return n.step.Answering() == Decides || n.step.Call == CallAssert
}

// placeBarriers finds which barrier holds each step: the last to pass of those above it
// in the file, but for those that depend on the step, directly or through another
// barrier. A barrier passes when it, and all that pass before it, have settled, so one
// holder stands for all barriers above.
func (g *Graph) placeBarriers() {
	var above []int // barriers that passed, in their order; also ascending
	for _, i := range g.barriersFirst() {
		n := &g.nodes[i]
		at, _ := slices.BinarySearch(above, i)
		if at > 0 {
			n.holder = above[at-1]
			g.nodes[n.holder].holds = append(g.nodes[n.holder].holds, i)
		}
		if n.barrier() {
			g.barriers = append(g.barriers, i)
			above = append(above[:at], i)
		}
	}
}

// barriersFirst orders the nodes with dependencies first, each barrier as early as
// those above it in the file allow, and any other node as late as possible.
func (g *Graph) barriersFirst() []int {
	last := &intHeap{} // the node that comes last has the least key
	count := len(g.nodes)
	push := func(i int) {
		key := -i
		if !g.nodes[i].barrier() {
			key -= count
		}
		heap.Push(last, key)
	}
	waiting := make([]int, count)
	for i := range g.nodes {
		if waiting[i] = len(g.nodes[i].dependents); waiting[i] == 0 {
			push(i)
		}
	}
	order := make([]int, 0, count)
	for last.Len() > 0 {
		i := -heap.Pop(last).(int)
		if i >= count {
			i -= count
		}
		order = append(order, i)
		for _, dep := range g.nodes[i].deps {
			if waiting[dep]--; waiting[dep] == 0 {
				push(dep)
			}
		}
	}
	slices.Reverse(order)
	return order
}

// waits counts what has to come before the node: its dependencies, and its holder.
func (n *node) waits() int {
	if n.holder < 0 {
		return len(n.deps)
	}
	return len(n.deps) + 1
}

// isOutcome reports whether a reference reads how the steps before ended.
func isOutcome(reference expression.Reference) bool {
	return reference.Root == "run" && (reference.Name == expression.RunStatus || reference.Name == expression.RunFailed)
}

func readsOutcome(program *expression.Program) bool {
	return slices.ContainsFunc(program.References(), isOutcome)
}

// maxEnds bounds the edges that are drawn to a handler.
const maxEnds = 50

// placeHandlers finds the steps for which the handlers wait: all but the handlers, and
// what comes after one.
func (g *Graph) placeHandlers() {
	for _, i := range g.order {
		n := &g.nodes[i]
		if n.handler {
			g.handlers = append(g.handlers, i)
		}
		n.late = n.handler || slices.ContainsFunc(n.after(), func(before int) bool { return g.nodes[before].late })
		if !n.late {
			g.early++
		}
	}
	if len(g.handlers) == 0 {
		return
	}
	early := func(i int) bool { return !g.nodes[i].late }
	for i := range g.nodes {
		if n := &g.nodes[i]; len(g.ends) < maxEnds && early(i) && !slices.ContainsFunc(n.dependents, early) && !slices.ContainsFunc(n.holds, early) {
			g.ends = append(g.ends, i)
		}
	}
}

// endEarly counts a step for which the handlers wait, and releases them after the last.
func (f *frame) endEarly() {
	if f.early--; f.early == 0 {
		for _, i := range f.graph.handlers {
			f.nodes[i].release()
		}
	}
}

// outcome adds to a handler's run.status and run.failed: how the steps before the
// handlers ended.
func (f *frame) outcome(about map[string]any) map[string]any {
	status, failed := "ok", []any{}
	for _, u := range slices.SortedFunc(slices.Values(f.failed), before) {
		if u.node.node().late {
			continue
		}
		if failed = append(failed, strings.TrimPrefix(u.id, f.prefix)); u.step().OnFailure == Fail {
			status = "failing"
		}
	}
	about[expression.RunStatus], about[expression.RunFailed] = status, failed
	return about
}

// passBarriers releases the steps that are held by barriers which have passed.
func (f *frame) passBarriers() {
	for f.passed < len(f.graph.barriers) && f.nodes[f.graph.barriers[f.passed]].status.settled() {
		held := f.graph.nodes[f.graph.barriers[f.passed]].holds
		f.passed++
		for _, i := range held {
			f.nodes[i].release()
		}
	}
}

// release counts a step that the node has waited for.
func (n *nodeState) release() {
	if n.waiting--; n.waiting == 0 && !n.status.settled() {
		n.frame.run.queue = append(n.frame.run.queue, task{activate: n})
	}
}

// after returns the nodes before this one: its dependencies, and the barrier that holds
// it, if that is none of them.
func (n *node) after() []int {
	if n.holder < 0 || slices.Contains(n.deps, n.holder) {
		return n.deps
	}
	at, _ := slices.BinarySearch(n.deps, n.holder)
	return slices.Insert(slices.Clone(n.deps), at, n.holder)
}

// Skip is a reason for which a step may be skipped although nothing stopped the
// workflow: the condition of By or, if Failed, its failure.
type Skip struct {
	By     *Step
	Failed bool
}

// maxFollowed bounds the steps that Skips and SkippedWith look through.
const maxFollowed = 200

// Skips returns why a step may be skipped, which may be because of steps before it;
// none for a step that always runs.
func (g *Graph) Skips(step string) (reasons []Skip) {
	at, known := g.index[step]
	if !known || !g.nodes[at].skippable {
		return nil
	}
	for _, i := range g.behind(at, true) {
		n := &g.nodes[i]
		if n.mayNotRun() {
			reasons = append(reasons, Skip{By: n.step})
		}
		if n.step.Join != JoinAny && n.step.Join != JoinSuccess {
			continue
		}
		for _, dep := range n.deps {
			if g.nodes[dep].mayFail() {
				reasons = append(reasons, Skip{g.nodes[dep].step, true})
			}
		}
	}
	return reasons
}

// SkippedWith reports whether a step takes account of the skip of another, which it
// depends on: its expressions name that one, or it is skipped too, because it needs
// what the other one, or a step below that, gives.
func (g *Graph) SkippedWith(step, other string) bool {
	from, known := g.index[step]
	to, also := g.index[other]
	return known && also && (g.nodes[from].names(g, to) || slices.Contains(g.behind(from, false), to))
}

// behind returns a node and those that it needs to run, directly or not. With anyJoin
// it also follows the dependencies of join: any, of which one is enough.
func (g *Graph) behind(from int, anyJoin bool) []int {
	found, seen := []int{from}, map[int]bool{from: true}
	for at := 0; at < len(found) && len(found) < maxFollowed; at++ {
		n := &g.nodes[found[at]]
		next := n.needs()
		if anyJoin && n.step.Join == JoinAny {
			next = append(next, n.deps...)
		}
		for _, i := range next {
			if !seen[i] {
				seen[i] = true
				found = append(found, i)
			}
		}
	}
	return found
}

// needs returns the nodes that are never skipped when this one runs.
func (n *node) needs() []int {
	var needed []int
	for _, r := range n.reads {
		if r.certain {
			needed = append(needed, r.node)
		}
	}
	if n.step.Join == JoinSuccess {
		needed = append(needed, n.deps...)
	}
	return needed
}

// markSkippable notes which steps may be skipped although nothing stopped the workflow.
func (g *Graph) markSkippable() {
	for _, i := range g.order {
		n := &g.nodes[i]
		skippable := func(dep int) bool { return g.nodes[dep].skippable }
		unsuccessful := func(dep int) bool { return g.nodes[dep].skippable || g.nodes[dep].mayFail() }
		n.skippable = n.mayNotRun() || slices.ContainsFunc(n.needs(), skippable) ||
			n.step.Join == JoinSuccess && slices.ContainsFunc(n.deps, unsuccessful) ||
			n.step.Join == JoinAny && len(n.deps) > 0 && !slices.ContainsFunc(n.deps, func(dep int) bool { return !unsuccessful(dep) })
	}
}

// mayNotRun reports whether the step's own condition may skip it as a whole. One that
// names the loop's variable skips items alone.
func (n *node) mayNotRun() bool {
	return n.step.When != nil && !n.perItem && n.step.When.Source() != "true"
}

// mayFail reports whether the workflow goes on after the step failed. A loop is then
// done.
func (n *node) mayFail() bool { return n.step.OnFailure == Continue && n.step.Foreach == nil }

// names reports whether an expression of the step names another's capture or status.
func (n *node) names(g *Graph, other int) bool {
	found := false
	n.references(func(reference expression.Reference, _ *source) {
		switch reference.Root {
		case "state":
			found = found || g.captures[reference.Name] == other
		case "steps":
			found = found || g.index[reference.Name] == other
		}
	})
	return found
}
