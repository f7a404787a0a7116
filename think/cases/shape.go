package cases

import (
	"slices"
	"strconv"
	"strings"

	"savant/think/flow"
)

// stepSite is where the id of a step leads: the step as it is written, and the numbers of
// the items and rounds on the way to it.
type stepSite struct {
	// step is the id without numbers: "fix/patch" of "fix_0/patch".
	step string
	// numbers has one number for each loop and repeat on the way, -1 where the id leaves
	// it out.
	numbers []int
	written *flow.Step
	graph   *flow.Graph // the workflow that the step stands in
}

// siteOf finds the step of an id in a graph; an id may leave out numbers.
func siteOf(graph *flow.Graph, id string) (stepSite, bool) {
	above, last := "", id
	if at := strings.LastIndexByte(id, '/'); at >= 0 {
		above, last = id[:at], id[at+1:]
	}
	p, ok := workflowOf(graph, above)
	if !ok {
		return stepSite{}, false
	}
	step, numbers := stepOf(p.graph, last, true)
	if step == nil {
		return stepSite{}, false
	}
	p.step = strings.TrimPrefix(p.step+"/"+step.ID, "/")
	p.numbers, p.written = append(p.numbers, numbers...), step
	return p, true
}

// workflowOf finds the workflow that the step of an id runs; that of "" is the graph's own.
func workflowOf(graph *flow.Graph, id string) (stepSite, bool) {
	p := stepSite{graph: graph}
	if id == "" {
		return p, true
	}
	for segment := range strings.SplitSeq(id, "/") {
		step, numbers := stepOf(p.graph, segment, false)
		if step == nil {
			return stepSite{}, false
		}
		p.step = strings.TrimPrefix(p.step+"/"+step.ID, "/")
		p.numbers = append(p.numbers, numbers...)
		if p.graph = p.graph.Child(step.ID); p.graph == nil {
			return stepSite{}, false
		}
	}
	return p, true
}

// stepOf reads one segment of an id: the id of a step, and behind it the number of the
// item of its loop and of its round. Only a segment with others below it has a round.
func stepOf(graph *flow.Graph, segment string, last bool) (*flow.Step, []int) {
	for given := 0; given <= 2; given++ {
		base, numbers, ok := cutNumbers(segment, given)
		at := slices.IndexFunc(graph.Workflow.Steps, func(s *flow.Step) bool { return s.ID == base })
		if !ok || at < 0 {
			continue
		}
		step := graph.Workflow.Steps[at]
		room := 0
		if step.Foreach != nil {
			room++
		}
		if step.Rounds > 0 && !last {
			room++
		}
		if given > room {
			continue
		}
		for len(numbers) < room {
			numbers = append(numbers, -1)
		}
		return step, numbers
	}
	return nil, nil
}

// cutNumbers takes numbers off the end of an id: "look_3" is look and 3.
func cutNumbers(id string, count int) (base string, numbers []int, ok bool) {
	for range count {
		at := strings.LastIndexByte(id, '_')
		if at < 0 {
			return "", nil, false
		}
		number, err := strconv.Atoi(id[at+1:])
		if err != nil || number < 0 || strconv.Itoa(number) != id[at+1:] {
			return "", nil, false
		}
		id, numbers = id[:at], append([]int{number}, numbers...)
	}
	return id, numbers, true
}

// steps returns the ids, without numbers, of all steps of a graph and of those below it.
func steps(graph *flow.Graph) []string {
	return namesOf(graph, func(step *flow.Step) string { return step.ID })
}

// namesOf returns the names that steps of a graph have, not "", and those of the steps below
// behind the ids of the steps above them.
func namesOf(graph *flow.Graph, name func(*flow.Step) string) (names []string) {
	for _, step := range graph.Workflow.Steps {
		if own := name(step); own != "" {
			names = append(names, own)
		}
		if child := graph.Child(step.ID); child != nil {
			for _, below := range namesOf(child, name) {
				names = append(names, step.ID+"/"+below)
			}
		}
	}
	return names
}
