package cases

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"savant/fault"
	"savant/think/flow"
	"savant/think/flow/expression"
)

// answers are those of one run: each value is given once.
type answers struct {
	graph *flow.Graph
	// given has the keys of a case by the step that they answer, those with most numbers
	// first.
	given map[string][]answerEntry
	used  map[string]bool // by path, of the values that were given
	calls map[string]int  // how often each step was issued so far, by its id
}

// answerEntry is one key of answers.
type answerEntry struct {
	numbers []int
	value   any
	path    string
}

func newAnswers(graph *flow.Graph, c Case) *answers {
	a := &answers{graph: graph, given: map[string][]answerEntry{}, used: map[string]bool{}, calls: map[string]int{}}
	for key, value := range c.Answers {
		if at, ok := siteOf(graph, key); ok {
			a.given[at.step] = append(a.given[at.step], answerEntry{at.numbers, value, c.path + ".answers." + key})
		}
	}
	for _, each := range a.given {
		slices.SortFunc(each, func(x, y answerEntry) int { return open(x.numbers) - open(y.numbers) })
	}
	return a
}

// open counts the numbers that a key leaves out: its value has a list for each.
func open(numbers []int) (count int) {
	for _, n := range numbers {
		if n < 0 {
			count++
		}
	}
	return count
}

// next returns the answer to an instruction. why says what is missing.
func (a *answers) next(id string) (value any, why string) {
	at, ok := siteOf(a.graph, id)
	if !ok {
		return nil, "no step has this id"
	}
	call := a.calls[id]
	a.calls[id]++
	why = "no answer is given"
	for _, each := range a.given[at.step] {
		found, path, there := each.pick(at.numbers)
		if !there {
			continue
		}
		value, path, why = attempt(found, path, call)
		if why != "" {
			return nil, why
		}
		a.used[path] = true
		return value, ""
	}
	return nil, why
}

// alone reports whether the answer that a step got last is not one of several attempts.
func (a *answers) alone(id string) bool {
	at, ok := siteOf(a.graph, id)
	for _, each := range a.given[at.step] {
		if found, _, there := each.pick(at.numbers); ok && there {
			_, several := attemptsOf(found)
			return !several
		}
	}
	return false
}

// pick returns the value for the numbers of an instruction.
func (g answerEntry) pick(numbers []int) (value any, path string, there bool) {
	value, path = g.value, g.path
	for i, number := range numbers {
		if g.numbers[i] >= 0 {
			if g.numbers[i] != number {
				return nil, "", false
			}
			continue
		}
		list, is := value.([]any)
		if !is || number >= len(list) {
			return nil, "", false
		}
		value, path = list[number], path+"["+strconv.Itoa(number)+"]"
	}
	return value, path, true
}

// attempt returns the value of one attempt, counted from 0.
func attempt(value any, path string, call int) (any, string, string) {
	if list, is := attemptsOf(value); is {
		if call >= len(list) {
			return nil, "", fmt.Sprintf("attempt %d has no answer", call+1)
		}
		return literal(list[call]), path + ".attempts[" + strconv.Itoa(call) + "]", ""
	}
	if call > 0 {
		return nil, "", fmt.Sprintf("attempt %d has no answer: write {attempts: [first, second]}", call+1)
	}
	return literal(value), path, ""
}

func attemptsOf(value any) (list []any, is bool) {
	object, _ := value.(map[string]any)
	if list, is = object["attempts"].([]any); len(object) != 1 {
		return nil, false
	}
	return list, is
}

// literal takes a value out of {value: …}.
func literal(value any) any {
	object, _ := value.(map[string]any)
	if inner, is := object["value"]; is && len(object) == 1 {
		return inner
	}
	return value
}

// unused returns the paths of the values that no instruction took, sorted.
func (a *answers) unused() []string {
	var left []string
	for _, keys := range a.given {
		for _, each := range keys {
			for _, path := range leaves(each.value, each.path, open(each.numbers)) {
				if !a.used[path] {
					left = append(left, path)
				}
			}
		}
	}
	slices.Sort(left)
	return left
}

// leaves returns the paths of the single answers of a key.
func leaves(value any, path string, lists int) (paths []string) {
	if list, is := value.([]any); is && lists > 0 {
		for i, each := range list {
			paths = append(paths, leaves(each, path+"["+strconv.Itoa(i)+"]", lists-1)...)
		}
		return paths
	}
	if list, is := attemptsOf(value); is {
		for i := range list {
			paths = append(paths, path+".attempts["+strconv.Itoa(i)+"]")
		}
		return paths
	}
	return []string{path}
}

// Check holds a file against the workflow that it tests. The error lists the steps,
// parameters and captures that are not there, with the nearest names, and the answers that
// cannot be meant.
func Check(f *File, graph *flow.Graph) error {
	r := newReader(f.Name, f.places)
	params := []string{}
	for _, param := range graph.Workflow.Params {
		params = append(params, param.Name)
	}
	if name := graph.Workflow.Name; f.Workflow != name {
		r.wrong("workflow", "it tests "+strconv.Quote(fault.Cut(f.Workflow, 100))+", and this is the file of "+name, "")
	}
	ids := steps(graph)
	for _, c := range f.Cases {
		for _, name := range slices.Sorted(maps.Keys(c.Params)) {
			if !graph.Workflow.OpenParams && !slices.Contains(params, name) {
				r.unknown(c.path+".params."+name, "parameter", name, params)
			}
		}
		for _, id := range slices.Sorted(maps.Keys(c.Answers)) {
			r.answer(graph, ids, c, id)
		}
		for _, id := range slices.Sorted(maps.Keys(c.Calls)) {
			r.answered(graph, ids, c.path+".calls."+id, id)
		}
		r.expectation(graph, ids, c)
	}
	for i, each := range f.Excuses {
		path := "coverage.ignore[" + strconv.Itoa(i) + "]"
		if at, ok := siteOf(graph, each.Step); !ok || at.step != each.Step {
			r.unknown(path+".step", "step", each.Step, ids)
		}
		reachable := kindsOf(graph, each.Step)
		switch {
		case !slices.Contains(kinds, each.Kind):
			r.unknown(path+".kind", "kind", each.Kind, kinds)
		case len(reachable) > 0 && !slices.Contains(reachable, each.Kind):
			r.wrong(path+".kind", "no case can reach this point of "+each.Step, "one of "+strings.Join(reachable, ", "))
		}
	}
	return r.Failure()
}

func (r *reader) answer(graph *flow.Graph, ids []string, c Case, id string) {
	path := strings.TrimPrefix(c.path+".answers."+id, ".")
	if at, ok := r.answered(graph, ids, path, id); ok {
		r.checkLists(c.Answers[id], path, at, open(at.numbers))
	}
}

// answered refuses the id of a step that takes no answer.
func (r *reader) answered(graph *flow.Graph, ids []string, path, id string) (at stepSite, ok bool) {
	at, ok = siteOf(graph, id)
	switch {
	case !ok:
		r.unknown(path, "step", id, ids)
	case at.written.Internal():
		r.wrong(path, "Savant answers a step of "+at.written.Call+" by itself", "")
	}
	return at, ok && !at.written.Internal()
}

// checkLists refuses an answer that has fewer or more lists than the step has loops.
func (r *reader) checkLists(value any, path string, at stepSite, lists int) {
	list, is := value.([]any)
	switch {
	case lists > 0 && !is:
		r.wrong(path, "expected a list by index: "+at.step+" is answered once for each item or round; one alone is answered by its own id", "")
	case lists == 0 && is:
		r.wrong(path, "write {value: […]} for a result that is a list", "")
	case lists > 0:
		for i, each := range list {
			r.checkLists(each, path+"["+strconv.Itoa(i)+"]", at, lists-1)
		}
	default:
		if object, _ := value.(map[string]any); len(object) == 1 && object["attempts"] != nil {
			if _, are := attemptsOf(value); !are {
				r.wrong(path+".attempts", "is not a list of answers; write {value: {attempts: …}} for a result that has such a field", "")
			}
		}
	}
}

// checkID refuses the id of a step that is not there.
func (r *reader) checkID(graph *flow.Graph, ids []string, path, id string) {
	if _, ok := siteOf(graph, id); !ok {
		r.unknown(path, "step", id, ids)
	}
}

// codes are those that a step can fail with, and causes those for which one is skipped;
// behind the colon of a cause stands what it is about.
var (
	codes = []string{string(fault.ValidationFailed), string(fault.ToolFailed), string(fault.ApprovalRequired), string(fault.RuleRefused), string(fault.RepeatExhausted), string(fault.ExpressionError),
		string(fault.TemplateRenderError), string(fault.UnresolvedVar), string(fault.InvalidParams), string(fault.ForeachNotArray), string(fault.LimitExceeded), string(fault.NotWitnessed), string(fault.RunCancelled)}
	causes = []string{"when", "no_dependency_done", runFailed, skipRest, "upstream_failed:", missingData, notDone}
)

const missingData = "missing_data:"

// checkReason refuses a code or a cause that no step has.
func (r *reader) checkReason(graph *flow.Graph, ids []string, key, path string, value any) {
	text, is := value.(string)
	cause, about, _ := strings.Cut(text, ":")
	if about != "" {
		cause += ":"
	}
	switch {
	case key != "failed" && key != "skipped" || matches(value):
	case !is:
		r.wrong(path, "is not a text", "")
	case key == "failed" && !slices.Contains(codes, text):
		r.unknown(path, "code", text, codes)
	case key == "skipped" && !slices.Contains(causes, cause):
		r.unknown(path, "cause", cause, causes)
	case about != "" && cause != missingData:
		r.checkID(graph, ids, path, about)
	}
}

// expectation checks the names in what a case expects.
func (r *reader) expectation(graph *flow.Graph, ids []string, c Case) {
	for _, key := range []string{"ran", "skipped", "failed", "issued", "asked", "rounds"} {
		path := c.path + ".expect." + key
		switch value := c.Expect[key].(type) {
		case map[string]any:
			if key == "ran" {
				r.wrong(path, "names no steps", "a list of ids")
			}
			for _, id := range slices.Sorted(maps.Keys(value)) {
				r.checkID(graph, ids, path+"."+id, id)
				r.checkReason(graph, ids, key, path+"."+id, value[id])
			}
		case []any:
			for i, each := range value {
				id, is := each.(string)
				if !is {
					r.wrong(path+"["+strconv.Itoa(i)+"]", "is not the id of a step", "")
					continue
				}
				r.checkID(graph, ids, path+"["+strconv.Itoa(i)+"]", id)
			}
		case string:
			r.checkID(graph, ids, path, value)
		case nil:
		default:
			r.wrong(path, "names no steps", "a list of ids, or a map by id")
		}
	}
	for _, key := range slices.Sorted(maps.Keys(c.Expect)) {
		value := c.Expect[key]
		if _, isMap := value.(map[string]any); isMap || key == "summary" {
			r.matchers(graph, c.path+".expect."+key, value)
		}
	}
	for key, kind := range map[string]string{"captures": "a map by name", "rounds": "a map by step"} {
		if value, given := c.Expect[key]; given {
			if _, is := value.(map[string]any); !is {
				r.wrong(c.path+".expect."+key, "is not a map", kind)
			}
		}
	}
	if summary, given := c.Expect["summary"]; given {
		if _, is := summary.(string); !is {
			r.wrong(c.path+".expect.summary", "is not a text", "")
		}
	}
	if outcome, given := c.Expect["outcome"]; given && !slices.Contains(outcomes, fmt.Sprint(outcome)) {
		r.unknown(c.path+".expect.outcome", "outcome", fmt.Sprint(outcome), outcomes)
	}
	if outputs, given := c.Expect["outputs"]; given && outputs != "none" {
		object, is := outputs.(map[string]any)
		if !is {
			r.wrong(c.path+".expect.outputs", "is not a map, and not none", "")
		}
		declared := []string{}
		for _, each := range graph.Workflow.Outputs {
			declared = append(declared, each.Name)
		}
		for _, name := range slices.Sorted(maps.Keys(object)) {
			if !slices.Contains(declared, name) {
				r.unknown(c.path+".expect.outputs."+name, "output", name, declared)
			}
		}
	}
	if captures, _ := c.Expect["captures"].(map[string]any); captures != nil {
		all := capturesOf(graph)
		for _, name := range slices.Sorted(maps.Keys(captures)) {
			if base := withoutNumbers(graph, name); !slices.Contains(all, base) {
				r.unknown(c.path+".expect.captures."+name, "capture", name, all)
			}
		}
	}
}

// matchers refuses patterns and expressions that cannot be read.
func (r *reader) matchers(graph *flow.Graph, path string, value any) {
	switch value := value.(type) {
	case map[string]any:
		for _, name := range ids(value) {
			r.matchers(graph, path+"."+name, value[name])
		}
	case []any:
		for i, each := range value {
			r.matchers(graph, path+"["+strconv.Itoa(i)+"]", each)
		}
	case string:
		if isPattern(value) {
			if _, err := regexp.Compile(value[1 : len(value)-1]); err != nil {
				r.wrong(path, "the pattern is not valid: "+err.Error(), "")
			}
		} else if isExpression(value) {
			captures := expression.Names{}
			for _, name := range capturesOf(graph) {
				captures[name] = true
			}
			if _, err := compiled(value, graph.Workflow, captures); err != nil {
				r.wrong(path, err.Error(), "")
			}
		}
	}
}

// capturesOf returns the names of the captures of a graph: those of a child behind the id
// of its step.
func capturesOf(graph *flow.Graph) []string {
	return namesOf(graph, func(step *flow.Step) string { return step.CaptureAs })
}

// withoutNumbers returns the name of a capture without those of items and rounds.
func withoutNumbers(graph *flow.Graph, name string) string {
	at := strings.LastIndexByte(name, '/')
	if at < 0 {
		return name
	}
	p, _ := workflowOf(graph, name[:at])
	return p.step + name[at:]
}

var outcomes = []string{"done", "failed", "blocked"}
