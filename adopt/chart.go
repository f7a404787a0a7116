package adopt

import (
	"slices"
	"strings"
)

// chart is a flowchart: nodes in the order of their first mention, and arrows.
type chart struct {
	nodes  []*node
	arrows []arrow
}

type node struct {
	id, label string
	line      int
	quote     string
	step      *Step
}

// arrow leads from one node to another, with the words on it.
type arrow struct {
	from, to int
	label    string
	line     int
	back     bool // it closes a circle
}

// node returns the index of a node, new or known.
func (c *chart) node(id, label string, line int, quote string) int {
	at := slices.IndexFunc(c.nodes, func(each *node) bool { return each.id == id })
	if at < 0 {
		c.nodes = append(c.nodes, &node{id: id, label: id, line: line, quote: quote})
		at = len(c.nodes) - 1
	}
	if label != "" {
		c.nodes[at].label, c.nodes[at].quote = label, quote
	}
	return at
}

// order returns the nodes so that each comes after those that lead to it, and marks the
// arrows that go back.
func (c *chart) order() []int {
	const under, done = 1, 2
	state := make([]int, len(c.nodes))
	var sorted []int
	var visit func(at int)
	visit = func(at int) {
		state[at] = under
		for i := len(c.arrows) - 1; i >= 0; i-- {
			if each := &c.arrows[i]; each.from == at {
				switch state[each.to] {
				case under:
					each.back = true
				case 0:
					visit(each.to)
				}
			}
		}
		state[at] = done
		sorted = append(sorted, at)
	}
	for at := len(c.nodes) - 1; at >= 0; at-- {
		if state[at] == 0 && !c.reached(at) {
			visit(at)
		}
	}
	for at := range c.nodes {
		if state[at] == 0 { // in a circle that nothing leads to
			visit(at)
		}
	}
	slices.Reverse(sorted)
	return sorted
}

func (c *chart) reached(at int) bool {
	return slices.ContainsFunc(c.arrows, func(each arrow) bool { return each.to == at && each.from != at })
}

// in returns the arrows into a node that do not go back.
func (c *chart) in(at int) (found []arrow) {
	for _, each := range c.arrows {
		if each.to == at && !each.back {
			found = append(found, each)
		}
	}
	return found
}

// decides reports whether what follows a node depends on an answer.
func (c *chart) decides(at int) bool {
	return slices.ContainsFunc(c.arrows, func(each arrow) bool { return each.from == at && each.label != "" })
}

// readChart makes the steps of a flowchart: a step for each node, and a dependency for each
// arrow.
func (d *Draft) readChart(c *chart) {
	for _, at := range c.order() {
		each := c.nodes[at]
		if c.aside(each) {
			continue
		}
		each.step = d.task(each.id, taskOf(each.label), each.line, each.quote)
		if c.decides(at) {
			var answers []any
			for _, arrow := range c.arrows {
				if arrow.from == at && !slices.Contains(answers, any(arrow.answer())) {
					answers = append(answers, arrow.answer())
				}
			}
			each.step.Schema, each.step.Capture = answerOf(answers...), each.step.ID
		}
	}
	for at, each := range c.nodes {
		if c.aside(each) {
			d.note(each.line, each.label, LeftOut, "", "no arrow leads to it or from it, as of a legend or a note")
			continue
		}
		d.enter(c, at)
		verdict, why := Asked, "its words are the task"
		if c.decides(at) {
			verdict, why = Enforced, "a question with the words of its arrows decides the branch"
		}
		d.note(each.line, each.label, verdict, each.step.ID, why)
	}
	for _, each := range c.arrows {
		words := c.nodes[each.from].id + " → " + c.nodes[each.to].id
		if each.label != "" {
			words += ": " + each.label
		}
		if each.back {
			d.note(each.line, words, LeftOut, c.nodes[each.from].step.ID, "goes back: make a child workflow with repeat of the steps in between")
			continue
		}
		d.note(each.line, words, Enforced, c.nodes[each.to].step.ID, "a dependency")
	}
}

// aside reports whether a node is no part of the ways through a chart that has some.
func (c *chart) aside(each *node) bool {
	return len(c.arrows) > 0 && !slices.ContainsFunc(c.arrows, func(a arrow) bool { return c.nodes[a.from] == each || c.nodes[a.to] == each })
}

// taskOf is the task of a node's words.
func taskOf(label string) string { return strings.Join(strings.Fields(label), " ") }

// answer is the answer that leads along an arrow.
func (a arrow) answer() string {
	if a.label == "" {
		return "otherwise"
	}
	return taskOf(a.label)
}

// enter sets what a node depends on, and when it is entered.
func (d *Draft) enter(c *chart, at int) {
	step, in := c.nodes[at].step, c.in(at)
	var conditions []string
	conditional := false
	for _, each := range in {
		from := c.nodes[each.from].step
		step.Deps = compact(append(step.Deps, from.ID))
		condition := "steps." + from.ID + ".status == 'done'"
		if from.Capture != "" {
			conditional = true
			condition = from.Capture + "?.answer == " + quoted(each.answer())
		}
		if !slices.Contains(conditions, condition) {
			conditions = append(conditions, condition)
		}
	}
	switch {
	case conditional:
		step.When, step.Join = strings.Join(conditions, " || "), "any"
	case len(step.Deps) > 1 && c.alternatives(at):
		step.Join = "any"
	case len(step.Deps) > 0:
		step.Join = "success"
	}
}

// quoted writes a text as an expression.
func quoted(text string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(text) + "'"
}

// alternatives reports whether the ways into a node come from different answers of one
// question, so that not all of them are gone.
func (c *chart) alternatives(at int) bool {
	for _, each := range c.in(at) {
		above := map[int]bool{}
		c.above(each.from, above)
		for question := range above {
			if c.decides(question) {
				return true
			}
		}
	}
	return false
}

func (c *chart) above(at int, into map[int]bool) {
	if into[at] {
		return
	}
	into[at] = true
	for _, each := range c.in(at) {
		c.above(each.from, into)
	}
}
