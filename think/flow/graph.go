package flow

import (
	"container/heap"
	"maps"
	"slices"
	"strconv"
	"strings"

	"savant/fault"
	"savant/think/flow/expression"
)

// Child is a workflow named by flow.run, or the error of finding it.
type Child struct {
	Workflow *Workflow
	Err      error
}

// Graph is a workflow whose steps know what they depend on and whose children
// are pinned. It is immutable and may be shared by runs.
type Graph struct {
	Workflow  *Workflow
	nodes     []node
	index     map[string]int // step id to node
	captures  map[string]int // capture to node
	order     []int          // dependencies first, else as declared
	endReads  []int          // nodes whose captures the outputs, artifacts and summary read
	height    int            // levels of workflows, this one among them
	early     int            // nodes that are not late, for which the handlers wait
	handlers  []int
	ends      []int // the first nodes that are not late and before no other such node, to be drawn
	barriers  []int // nodes that hold those below them, in the order in which they pass
	edition   Edition
	enforced  bool     // see Enforced
	scoped    []string // see Scoped
	ruled     bool     // see Ruled
	throttled bool     // a step, here or in a workflow below, has `parallel` or a group
}

// node is a step in its graph.
type node struct {
	step       *Step
	deps       []int // ascending, without repeats
	dependents []int
	holder     int   // the barrier that holds the step, -1 for none
	holds      []int // of a barrier: the steps that it releases
	reads      []captureRead
	child      *Graph
	// Decided by think.plan: they name only params and run.
	staticWhen, staticForeach bool
	// perItem says that `when` uses the loop's variables.
	perItem bool
	// handler says that the step reads how the steps before it ended, so that it waits for
	// all that are not late; late steps are handlers and what comes after one.
	handler, late bool
	// skippable says that the step may be skipped although nothing failed.
	skippable bool
}

// captureRead is one capture that a step takes in.
type captureRead struct {
	node    int
	capture string
	hard    bool
	// certain says that whenever the step runs it reads the capture, a hard read.
	certain bool
}

// conditional reports whether the run decides later if or how often the step runs.
func (n *node) conditional() bool {
	return (n.step.When != nil && !n.staticWhen) || (n.step.Foreach != nil && !n.staticForeach)
}

// Children returns the references of the workflows that this one runs.
func (w *Workflow) Children() []string {
	var references []string
	for _, step := range w.Steps {
		if step.Call == CallRun && step.Child != "" {
			references = append(references, Reference(step.Child, step.ChildVersion))
		}
	}
	return references
}

// Compile links a workflow with those it runs and orders its steps. children
// holds by reference what the root runs and what those run. Errors:
// UNKNOWN_STEP, CYCLIC_DEPENDENCY, INVALID_PARAMS, LIMIT_EXCEEDED, and the code
// of a child's error; each with the place.
func Compile(root *Workflow, children map[string]Child, edition Edition) (*Graph, error) {
	c := &compiler{children: children, graphs: map[string]*Graph{}, edition: edition}
	return c.graph(root, nil)
}

type compiler struct {
	children map[string]Child
	graphs   map[string]*Graph // by digest
	edition  Edition
}

func (c *compiler) graph(w *Workflow, above []*Workflow) (*Graph, error) {
	if g, ok := c.graphs[w.Digest]; ok {
		return g, nil
	}
	r := &report{file: w.File}
	g := &Graph{Workflow: w, nodes: make([]node, len(w.Steps)), index: make(map[string]int, len(w.Steps)), captures: map[string]int{}, height: 1,
		edition: c.edition, enforced: w.Enforce == EnforceRequired, ruled: w.Ruled}
	for i, step := range w.Steps {
		g.nodes[i].step, g.nodes[i].holder = step, -1
		g.throttled = g.throttled || step.Parallel != nil || step.Group != ""
		g.cover(step.covers()...)
		g.index[step.ID] = i
		if step.CaptureAs != "" {
			g.captures[step.CaptureAs] = i
		}
	}
	for i := range g.nodes {
		g.connect(r, i)
	}
	g.connectEnd()
	for i := range g.nodes {
		for _, dep := range g.nodes[i].deps {
			g.nodes[dep].dependents = append(g.nodes[dep].dependents, i)
		}
	}
	g.sort(r)
	if err := r.failure(w.File); err != nil {
		return nil, err
	}
	g.markSkippable()
	above = append(slices.Clone(above), w)
	for i := range g.nodes {
		if g.nodes[i].step.Call == CallRun {
			if err := c.child(r, &g.nodes[i], above); err != nil {
				return nil, err
			}
			if child := g.nodes[i].child; child != nil {
				g.height = max(g.height, 1+child.height)
				g.enforced = g.enforced || child.enforced
				g.throttled = g.throttled || child.throttled
				g.ruled = g.ruled || child.ruled
				g.cover(child.scoped...)
			}
		}
	}
	if err := r.failure(w.File); err != nil {
		return nil, err
	}
	if g.edition >= SecondEdition {
		if g.placeBarriers(); len(g.barriers) > 0 {
			g.sort(r)
		}
	}
	g.placeHandlers()
	c.graphs[w.Digest] = g
	return g, nil
}

// connect finds what a step depends on: deps, and every capture or status that
// its expressions name.
func (g *Graph) connect(r *report, i int) {
	n := &g.nodes[i]
	step := n.step
	for k, id := range step.Deps {
		at, known := g.index[id]
		if !known {
			r.addAt(fault.UnknownStep, step.path+".deps", step.depsAt[k], "no step %q%s", fault.Cut(id, 80), suggestion(id, slices.Sorted(maps.Keys(g.index)), ""))
			continue
		}
		n.deps = append(n.deps, at)
	}
	n.references(func(reference expression.Reference, where *source) { g.depend(r, i, reference, where) })
	for _, name := range step.certain() {
		for k := range n.reads {
			if n.reads[k].capture == name {
				n.reads[k].certain = true
			}
		}
	}
	n.staticWhen = step.When != nil && only(step.When, "params", "run") && !readsOutcome(step.When)
	n.staticForeach = step.Foreach != nil && only(step.Foreach, "params", "run") && !readsOutcome(step.Foreach)
	n.perItem = step.When != nil && !only(step.When, "params", "run", "state", "steps")
	slices.Sort(n.deps)
	n.deps = slices.Compact(n.deps)
}

// references visits what the step's expressions read.
func (n *node) references(visit func(expression.Reference, *source)) {
	step := n.step
	step.input.references(visit)
	for _, each := range []placed{{step.When, step.whenAt}, {step.Foreach, step.foreachAt}, {step.Extract, step.extractAt}, {step.Until, step.untilAt}, {step.Parallel, step.parallelAt}, step.scoped()} {
		if each.program != nil {
			for _, reference := range each.program.References() {
				visit(reference, each.where)
			}
		}
	}
}

// depend adds what a step depends on by one reference.
func (g *Graph) depend(r *report, i int, reference expression.Reference, where *source) {
	n := &g.nodes[i]
	var from int
	var own string
	switch reference.Root {
	case "state":
		from, own = g.captures[reference.Name], "capture "+strconv.Quote(reference.Name)
		if from == i && n.step.Rounds > 0 {
			return // a repeat reads its last round
		}
	case "steps":
		from, own = g.index[reference.Name], reference.Field
	default:
		n.handler = n.handler || isOutcome(reference)
		return
	}
	if from == i {
		r.addAt(fault.CyclicDependency, where.path, where.positionAt(reference.Offset), "step %q reads its own %s", n.step.ID, own)
		return
	}
	if reference.Field == expression.StepLast && g.nodes[from].step.Rounds == 0 {
		r.addAt(fault.UnresolvedVar, where.path, where.positionAt(reference.Offset), "step %q has no repeat, and so no last round", reference.Name)
	}
	n.deps = append(n.deps, from)
	if reference.Root == "state" {
		n.read(from, reference.Name, !reference.Soft)
	}
}

// only reports whether a program uses only some roots.
func only(p *expression.Program, roots ...string) bool {
	return !slices.ContainsFunc(p.References(), func(reference expression.Reference) bool { return !slices.Contains(roots, reference.Root) })
}

// connectEnd finds the captures that the end of the workflow reads.
func (g *Graph) connectEnd() {
	add := func(reference expression.Reference, _ *source) {
		if reference.Root == "state" {
			g.endReads = append(g.endReads, g.captures[reference.Name])
		}
	}
	for _, output := range g.Workflow.Outputs {
		output.value.references(add)
	}
	for _, artifact := range g.Workflow.Artifacts {
		if artifact.from == nil {
			continue // of a draft
		}
		for _, reference := range artifact.from.References() {
			add(reference, artifact.where)
		}
	}
	g.Workflow.summary.references(add)
	slices.Sort(g.endReads)
	g.endReads = slices.Compact(g.endReads)
}

func (n *node) read(from int, capture string, hard bool) {
	for i := range n.reads {
		if n.reads[i].node == from {
			n.reads[i].hard = n.reads[i].hard || hard
			return
		}
	}
	n.reads = append(n.reads, captureRead{node: from, capture: capture, hard: hard})
}

// sort orders the nodes with dependencies first, the earliest declared first
// among equals, and reports a cycle.
func (g *Graph) sort(r *report) {
	waiting := make([]int, len(g.nodes))
	ready := &intHeap{}
	for i := range g.nodes {
		if waiting[i] = g.nodes[i].waits(); waiting[i] == 0 {
			heap.Push(ready, i)
		}
	}
	g.order = make([]int, 0, len(g.nodes))
	for ready.Len() > 0 {
		i := heap.Pop(ready).(int)
		g.order = append(g.order, i)
		for _, dependent := range slices.Concat(g.nodes[i].dependents, g.nodes[i].holds) {
			if waiting[dependent]--; waiting[dependent] == 0 {
				heap.Push(ready, dependent)
			}
		}
	}
	if len(g.order) == len(g.nodes) {
		return
	}
	cycle := g.cycle(waiting)
	names := make([]string, 0, len(cycle)+1)
	for _, i := range cycle {
		names = append(names, g.nodes[i].step.ID)
	}
	first := g.nodes[cycle[0]].step
	r.addAt(fault.CyclicDependency, first.path, first.at, "steps wait for each other: %s", fault.Cut(strings.Join(append(names, first.ID), " → "), 300))
}

// cycle follows unsettled dependencies until it meets itself.
func (g *Graph) cycle(waiting []int) []int {
	at := slices.IndexFunc(waiting, func(n int) bool { return n > 0 })
	seen := map[int]int{}
	var walk []int
	for {
		if start, visited := seen[at]; visited {
			loop := walk[start:]
			smallest := slices.Index(loop, slices.Min(loop))
			return append(slices.Clone(loop[smallest:]), loop[:smallest]...)
		}
		seen[at] = len(walk)
		walk = append(walk, at)
		for _, dep := range g.nodes[at].deps {
			if waiting[dep] > 0 {
				at = dep
				break
			}
		}
	}
}

type intHeap []int

func (h intHeap) Len() int           { return len(h) }
func (h intHeap) Less(i, j int) bool { return h[i] < h[j] }
func (h intHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *intHeap) Push(x any)        { *h = append(*h, x.(int)) }
func (h *intHeap) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

// child links the workflow that a flow.run step names.
func (c *compiler) child(r *report, n *node, above []*Workflow) error {
	step, at := n.step, n.step.path+".input_template.workflow"
	names := make([]string, 0, len(above)+1)
	for _, w := range above {
		names = append(names, w.Name)
	}
	reference := Reference(step.Child, step.ChildVersion)
	found, known := c.children[reference]
	first := slices.Index(names, step.Child)
	if again := slices.Index(above, found.Workflow); first < 0 && known { // by a name with folders
		first = again
	}
	if first >= 0 {
		r.addAt(fault.CyclicDependency, at, step.childAt, "workflows run each other: %s", strings.Join(append(names[first:], step.Child), " → "))
		return nil
	}
	tooDeep := func(depth int) bool {
		if depth > MaxWorkflowDepth {
			r.addAt(fault.LimitExceeded, at, step.childAt, "workflows run each other %d deep; at most %d", depth, MaxWorkflowDepth)
		}
		return depth > MaxWorkflowDepth
	}
	if tooDeep(len(above) + 1) {
		return nil
	}
	if !known {
		found.Err = fault.New(fault.UnknownWorkflow, "no workflow %q", reference)
	}
	if found.Err != nil {
		problem := fault.From(found.Err)
		r.addAt(problem.Code, at, step.childAt, "%s", problem.Message())
		return nil
	}
	w := found.Workflow
	var err error
	if n.child, err = c.graph(w, above); err != nil {
		return err
	}
	if tooDeep(len(above) + n.child.height) { // linked before, below fewer
		return nil
	}
	c.childParams(r, step, w)
	return nil
}

// childParams checks the names of the parameters given; their values are
// checked when the step runs.
func (c *compiler) childParams(r *report, step *Step, w *Workflow) {
	given := step.input.field("params")
	if given != nil && given.text != nil {
		return
	}
	known := make([]string, 0, len(w.Params))
	for _, param := range w.Params {
		known = append(known, param.Name)
		if param.Required && given.field(param.Name) == nil {
			r.addAt(fault.InvalidParams, step.path+".input_template.params", step.childAt, "workflow %q needs the parameter %q", w.Name, param.Name)
		}
	}
	if given == nil {
		return
	}
	for _, f := range given.fields {
		if !slices.Contains(known, f.key) && !w.OpenParams {
			r.addAt(fault.InvalidParams, step.path+".input_template.params."+f.key, step.childAt, "workflow %q has no parameter %q%s", w.Name, f.key, suggestion(f.key, known, ""))
		}
	}
}

// Reference returns how a workflow is named: name, or name@version.
func Reference(name, version string) string {
	if version == "" {
		return name
	}
	return name + "@" + version
}

// Child returns the graph of the workflow that a flow.run step runs, nil for any
// other step.
func (g *Graph) Child(step string) *Graph {
	at, known := g.index[step]
	if !known {
		return nil
	}
	return g.nodes[at].child
}

// Edition returns the reading of the language that the graph has.
func (g *Graph) Edition() Edition { return g.edition }

// readsAsEvaluated reports whether an expression reads only what its evaluation reaches.
// In the first edition every read counted that the expression spells out.
func (g *Graph) readsAsEvaluated() bool { return g.edition >= SecondEdition }

// Parallel reports whether several instructions may be outstanding at once.
func (g *Graph) Parallel() bool { return g.throttled || g.Workflow.Limits.Parallel > 1 }

// Enforced reports whether the workflow, or one that it runs, has enforce: required.
func (g *Graph) Enforced() bool { return g.enforced }

// Workflows returns every workflow of the graph by the reference that names
// it, the root by its name.
func (g *Graph) Workflows() map[string]*Workflow {
	found := map[string]*Workflow{g.Workflow.Name: g.Workflow}
	var visit func(*Graph)
	visit = func(g *Graph) {
		for i := range g.nodes {
			n := &g.nodes[i]
			if n.child == nil {
				continue
			}
			reference := Reference(n.step.Child, n.step.ChildVersion)
			if _, visited := found[reference]; !visited {
				found[reference] = n.child.Workflow
				visit(n.child)
			}
		}
	}
	visit(g)
	return found
}
