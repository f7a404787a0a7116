package adopt

import (
	"slices"
	"strings"

	"savant/fault"
)

// The most of a chart that is read: no workflow has more steps, and groups of nodes make
// many arrows of few words.
const (
	maxNodes  = maxSteps
	maxArrows = 2 * maxSteps
)

// chart is a flowchart: nodes in the order of their first mention, and arrows.
type chart struct {
	nodes  []*node
	arrows []*arrow
	byID   map[string]*node
	// large says that there are more nodes or arrows than are read.
	large bool
}

// node is a node, with the arrows into it and out of it.
type node struct {
	id, label string
	line      int
	quote     string
	step      *Step
	in, out   []*arrow
	state     int  // unseen, under or done, while the nodes are ordered
	forked    bool // a question decides whether it is reached
}

// arrow leads from one node to another, with the words on it.
type arrow struct {
	from, to *node
	label    string
	line     int
	back     bool // it closes a circle
}

// node returns the node of an id, new or known.
func (c *chart) node(id, label string, line int, quote string) *node {
	found := c.byID[id]
	if found == nil {
		if c.large = c.large || len(c.nodes) == maxNodes; c.large {
			return &node{}
		}
		found = &node{id: id, label: id, line: line, quote: quote}
		if c.byID == nil {
			c.byID = map[string]*node{}
		}
		c.nodes, c.byID[id] = append(c.nodes, found), found
	}
	if label != "" {
		found.label, found.line, found.quote = label, line, quote
	}
	return found
}

// arrow adds an arrow, unless there are too many.
func (c *chart) arrow(from, to *node, label string, line int) *arrow {
	if c.large = c.large || len(c.arrows) == maxArrows; c.large {
		return nil
	}
	made := &arrow{from: from, to: to, label: label, line: line}
	c.arrows = append(c.arrows, made)
	from.out, to.in = append(from.out, made), append(to.in, made)
	return made
}

// The states of a node while the nodes are ordered.
const (
	unseen = iota
	under
	done
)

// order returns the nodes so that each comes after those that lead to it, and marks the
// arrows that go back.
func (c *chart) order() (sorted []*node) {
	var visit func(at *node)
	visit = func(at *node) {
		at.state = under
		for _, each := range slices.Backward(at.out) {
			switch each.to.state {
			case under:
				each.back = true
			case unseen:
				visit(each.to)
			}
		}
		at.state = done
		sorted = append(sorted, at)
	}
	for _, each := range slices.Backward(c.nodes) {
		if each.state == unseen && !slices.ContainsFunc(each.in, func(a *arrow) bool { return a.from != each }) {
			visit(each)
		}
	}
	for _, each := range c.nodes {
		if each.state == unseen { // in a circle that nothing leads to
			visit(each)
		}
	}
	slices.Reverse(sorted)
	return sorted
}

// decides reports whether what follows a node depends on an answer.
func (n *node) decides() bool {
	return slices.ContainsFunc(n.out, func(each *arrow) bool { return each.label != "" })
}

// readChart makes the steps of a flowchart: a step for each node, and a dependency for each
// arrow. Nodes that no arrow leads to follow the step above, if there is one. It returns these
// first steps, and those that lead nowhere.
func (d *Draft) readChart(c *chart, above string) (outer []*Step, err error) {
	switch {
	case len(c.nodes) == 0:
		return nil, fault.New(fault.YAMLSchemaViolation, "the flowchart has no node")
	case c.large:
		return nil, fault.New(fault.LimitExceeded, "the flowchart has more than %d nodes or %d arrows; adopt its parts one by one", maxNodes, maxArrows)
	}
	for _, each := range c.order() {
		if c.aside(each) {
			continue
		}
		each.step = d.task(each.id, taskOf(each.label), each.line, each.quote)
		if each.decides() {
			var answers []string
			for _, arrow := range each.out {
				answers = append(answers, arrow.answer())
			}
			each.step.Schema, each.step.Capture = answerOf(compact(answers)...), each.step.ID
		}
		d.enter(each, above)
		goesOn := func(a *arrow) bool { return !a.back }
		if !slices.ContainsFunc(each.in, goesOn) || !slices.ContainsFunc(each.out, goesOn) {
			outer = append(outer, each.step)
		}
	}
	d.noteChart(c)
	return outer, nil
}

// closeChart returns the step behind a chart in a page, which waits for all of its ways; it is
// skipped where the chart is. outer are the first steps of the chart and the last ones.
func (d *Draft) closeChart(outer []*Step) *Step {
	var ids []string
	for _, each := range outer {
		ids = append(ids, each.ID)
	}
	return d.add(&Step{ID: "after the chart", Call: callSet, Input: map[string]any{"value": "the chart is done"}, Deps: ids, Join: "any", Line: outer[0].Line, Quote: outer[0].Quote})
}

// noteChart says what became of each node and arrow.
func (d *Draft) noteChart(c *chart) {
	for _, each := range c.nodes {
		switch {
		case each.step == nil:
			d.note(each.line, each.label, LeftOut, "", "no arrow leads to it or from it, as of a legend or a note")
		case each.decides():
			d.note(each.line, each.label, Enforced, each.step.ID, "a question with the words of its arrows decides the branch")
		default:
			d.note(each.line, each.label, Asked, each.step.ID, "its words are the task")
		}
	}
	for _, each := range c.arrows {
		words := each.from.id + " → " + each.to.id
		if each.label != "" {
			words += ": " + each.label
		}
		if each.back {
			d.note(each.line, words, LeftOut, each.from.step.ID, "goes back: make a child workflow with repeat of the steps in between")
			continue
		}
		d.note(each.line, words, Enforced, each.to.step.ID, "a dependency")
	}
}

// aside reports whether a node is no part of the ways through a chart that has some.
func (c *chart) aside(each *node) bool {
	return len(c.arrows) > 0 && len(each.in)+len(each.out) == 0
}

// taskOf is the task of a node's words.
func taskOf(label string) string { return strings.Join(strings.Fields(label), " ") }

// answer is the answer that leads along an arrow.
func (a *arrow) answer() string {
	if a.label == "" {
		return "otherwise"
	}
	return taskOf(a.label)
}

// enter sets what a node depends on, and when it is entered; the nodes before it are.
func (d *Draft) enter(at *node, above string) {
	step := at.step
	var conditions []string
	conditional, forked := false, false
	for _, each := range at.in {
		if each.back {
			continue
		}
		from := each.from.step
		forked = forked || each.from.forked || each.from.decides()
		step.Deps = append(step.Deps, from.ID)
		condition := "steps." + from.ID + ".status == 'done'"
		if from.Capture != "" {
			conditional = true
			condition = from.Capture + "?.answer == " + quoted(each.answer())
		}
		conditions = append(conditions, condition)
	}
	at.forked = forked
	switch step.Deps = compact(step.Deps); {
	case conditional:
		step.When, step.Join = strings.Join(compact(conditions), " || "), "any"
	case len(step.Deps) > 1 && forked: // its ways come from answers, so that not all are gone
		step.Join = "any"
	case len(step.Deps) > 0:
		step.Join = "success"
	case above != "":
		step.Deps = []string{above}
	}
}

// quoted writes a text as an expression.
func quoted(text string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(text) + "'"
}
