package cases

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"savant/internal/jsonvalue"
	"savant/think/flow"
	"savant/think/flow/expression"
)

// compare holds the end of the run against what the case expects.
func (t *trial) compare() {
	m := &matcher{trial: t}
	for _, key := range ids(t.test.Expect) {
		t.compareKey(m, key)
	}
}

// compareKey compares what one key of expect says.
func (t *trial) compareKey(m *matcher, key string) {
	want, at := t.test.Expect[key], t.test.path+".expect."+key
	switch key {
	case "outcome":
		before := len(t.result.Differences)
		if m.value(at, want, t.outcome()); len(t.result.Differences) > before {
			t.result.Differences[before].Message = t.reason()
		}
	case "ran":
		t.sameSteps(at, want, t.ran(wantedIDs(want)))
	case "skipped":
		t.skipped(m, at, want)
	case "failed":
		t.failures(m, at, want)
	case "issued":
		t.instructions(m, at, want, anyStep)
	case "asked":
		t.instructions(m, at, want, (*flow.Step).Person)
	case "outputs":
		t.outputs(m, at, want)
	case "captures":
		m.subset(at, want, t.captures())
	case "rounds":
		m.subset(at, want, t.rounds())
	case "summary":
		m.value(at, want, t.summary())
	}
}

// reason says why the run is blocked or failed, "" if it did not.
func (t *trial) reason() string {
	switch {
	case t.out.Blocked != nil:
		return t.out.Blocked.Message()
	case t.out.Final != nil && len(t.out.Final.Failed) > 0:
		first := t.out.Final.Failed[0]
		return "step " + first.Step + " failed: " + string(first.Code) + ": " + first.Details
	}
	return ""
}

func anyStep(*flow.Step) bool { return true }

func (t *trial) summary() string {
	if t.out.Final == nil {
		return ""
	}
	return t.out.Final.Summary
}

func (t *trial) outcome() string {
	switch {
	case t.out.Blocked != nil:
		return "blocked"
	case t.out.Final != nil:
		return t.out.Final.Outcome
	}
	return string(t.out.Status)
}

// wantedIDs returns the ids that a case names: one, a list, or the keys of a map.
func wantedIDs(want any) []string {
	switch value := want.(type) {
	case string:
		return []string{value}
	case map[string]any:
		return ids(value)
	case []any:
		var names []string
		for _, each := range value {
			names = append(names, fmt.Sprint(each))
		}
		return names
	}
	return nil
}

// ran returns the steps that are done and were answered from outside, and of the others
// those that the case names.
func (t *trial) ran(names []string) (done []string) {
	for _, each := range t.statuses() {
		step, loop := t.callOf(each.ID)
		if each.Status == flow.Done && step != nil && (!step.Internal() && !loop || slices.Contains(names, each.ID)) {
			done = append(done, each.ID)
		}
	}
	return done
}

// sameSteps compares ids in any order.
func (t *trial) sameSteps(path string, want any, seen []string) {
	expected := slices.Sorted(slices.Values(wantedIDs(want)))
	seen = slices.Sorted(slices.Values(seen))
	if !slices.Equal(expected, seen) {
		t.differs(path, Difference{Expected: expected, Seen: append([]string{}, seen...)})
	}
}

// causes returns why steps were skipped, and which, in their order.
func (t *trial) causes() (causes map[string]any, names []string) {
	causes = map[string]any{}
	for _, each := range t.statuses() {
		if each.Status == flow.Skipped {
			causes[each.ID], names = each.Cause, append(names, each.ID)
		}
	}
	return causes, names
}

func (t *trial) skipped(m *matcher, path string, want any) {
	causes, names := t.causes()
	t.sameSteps(path, want, names)
	if byID, is := want.(map[string]any); is {
		for _, id := range ids(byID) {
			if _, seen := causes[id]; seen {
				m.value(path+"."+id, byID[id], causes[id])
			}
		}
	}
}

// codes returns the codes of the steps that failed, and which count, in their order: a loop,
// or a step that runs a workflow, counts only if the case names it.
func (t *trial) codes(want any) (codes map[string]any, names []string) {
	codes = map[string]any{}
	for _, each := range t.statuses() {
		if each.Status != flow.Failed {
			continue
		}
		codes[each.ID] = t.code(each)
		step, loop := t.callOf(each.ID)
		if step != nil && step.Call != flow.CallRun && !loop || slices.Contains(wantedIDs(want), each.ID) {
			names = append(names, each.ID)
		}
	}
	return codes, names
}

func (t *trial) failures(m *matcher, path string, want any) {
	codes, names := t.codes(want)
	byID, is := want.(map[string]any)
	if !is {
		t.sameSteps(path, want, names)
		return
	}
	m.subset(path, byID, codes)
}

// issuedTo returns the steps that were issued, of those that count.
func (t *trial) issuedTo(counts func(*flow.Step) bool) (seen []string) {
	for _, id := range t.issued {
		if step, _ := t.callOf(id); step != nil && counts(step) {
			seen = append(seen, id)
		}
	}
	return seen
}

// instructions compares the steps that were issued, or their inputs.
func (t *trial) instructions(m *matcher, path string, want any, counts func(*flow.Step) bool) {
	seen := t.issuedTo(counts)
	byID, is := want.(map[string]any)
	if !is {
		t.sameSteps(path, want, seen)
		return
	}
	for _, id := range ids(byID) {
		if !slices.Contains(seen, id) {
			t.differs(path+"."+id, Difference{Message: "was not issued", Seen: append([]string{}, seen...)})
			continue
		}
		if input, is := t.inputs[id].(map[string]any); is {
			m.subset(path+"."+id, byID[id], input)
		} else {
			m.value(path+"."+id, byID[id], t.inputs[id])
		}
	}
}

func (t *trial) outputs(m *matcher, path string, want any) {
	var outputs map[string]any
	if t.out.Final != nil {
		outputs = t.out.Final.Outputs
	}
	if want != "none" {
		m.subset(path, want, outputs)
	} else if slices.ContainsFunc(ids(outputs), func(name string) bool { return outputs[name] != nil }) {
		t.differs(path, Difference{Expected: "none", Seen: outputs})
	}
}

// matcher compares values for one trial.
type matcher struct {
	trial *trial
	state map[string]any // the captures, once an expression needs them
}

// subset compares the members that a case names.
func (m *matcher) subset(path string, want any, seen map[string]any) {
	expected, is := want.(map[string]any)
	if !is {
		m.value(path, want, seen)
		return
	}
	for _, name := range ids(expected) {
		value, there := seen[name]
		if !there {
			m.trial.differs(path+"."+name, Difference{Expected: expected[name], Message: "is not there"})
			continue
		}
		m.value(path+"."+name, expected[name], value)
	}
}

// value compares one value: whole, or part by part where a part is a matcher.
func (m *matcher) value(path string, want, seen any) {
	if !matches(want) {
		if !equal(want, seen) {
			m.trial.differs(path, Difference{Expected: want, Seen: seen})
		}
		return
	}
	switch expected := want.(type) {
	case string:
		m.text(path, expected, seen)
	case map[string]any:
		object, is := seen.(map[string]any)
		if !is || !slices.Equal(ids(expected), ids(object)) {
			m.trial.differs(path, Difference{Expected: want, Seen: seen})
			return
		}
		for _, name := range ids(expected) {
			m.value(path+"."+name, expected[name], object[name])
		}
	case []any:
		list, is := seen.([]any)
		if !is || len(list) != len(expected) {
			m.trial.differs(path, Difference{Expected: want, Seen: seen})
			return
		}
		for i := range expected {
			m.value(path+"["+strconv.Itoa(i)+"]", expected[i], list[i])
		}
	}
}

// equal compares JSON values; numbers by what they are.
func equal(a, b any) bool {
	if reflect.DeepEqual(a, b) {
		return true
	}
	one, err := jsonvalue.Digest(a)
	two, failed := jsonvalue.Digest(b)
	return err == nil && failed == nil && one == two
}

// matches reports whether a value is or holds a matcher.
func matches(value any) bool {
	switch value := value.(type) {
	case string:
		return isPattern(value) || isExpression(value)
	case map[string]any:
		for _, each := range value {
			if matches(each) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(value, matches)
	}
	return false
}

func isPattern(text string) bool {
	return len(text) > 2 && strings.HasPrefix(text, "/") && strings.HasSuffix(text, "/")
}

func isExpression(text string) bool {
	text = strings.TrimSpace(text)
	return strings.HasPrefix(text, "{{") && strings.HasSuffix(text, "}}")
}

func (m *matcher) text(path, want string, seen any) {
	if isPattern(want) {
		pattern, err := regexp.Compile(want[1 : len(want)-1])
		if err != nil {
			m.trial.differs(path, Difference{Expected: want, Message: "the pattern is not valid: " + err.Error()})
			return
		}
		text, is := seen.(string)
		if !is {
			encoded, _ := jsonvalue.Encode(seen) // what a run gave encodes
			text = string(encoded)
		}
		if !pattern.MatchString(text) {
			m.trial.differs(path, Difference{Expected: want, Seen: seen})
		}
		return
	}
	held, err := m.evaluate(want, seen)
	switch {
	case err != nil:
		m.trial.differs(path, Difference{Expected: want, Seen: seen, Message: err.Error()})
	case held != true:
		m.trial.differs(path, Difference{Expected: want, Seen: seen, Message: fmt.Sprintf("the expression gives %v", held)})
	}
}

// evaluate evaluates an expression over value, params and state.
func (m *matcher) evaluate(source string, value any) (any, error) {
	if m.state == nil {
		m.state = m.trial.captures()
	}
	names := expression.Names{}
	for name := range m.state {
		names[name] = true
	}
	program, err := compiled(source, m.trial.graph.Workflow, names)
	if err != nil {
		return nil, err
	}
	return program.Eval(expression.Env{Params: m.trial.params, Item: value, Steps: captures(m.state)})
}

// captures are those of the steps that were done.
type captures map[string]any

// Capture implements expression.Steps.
func (c captures) Capture(name string) any {
	if found, there := c[name]; there {
		return found
	}
	return expression.NoCapture
}

// Field implements expression.Steps: an expression of a case reads none.
func (captures) Field(string, string) any { return nil }

// compiled reads an expression over value, params and state.
func compiled(source string, workflow *flow.Workflow, captures expression.Names) (*expression.Program, error) {
	params := expression.Names{}
	for _, param := range workflow.Params {
		params[param.Name] = true
	}
	inner, _ := expression.Unwrap(source)
	return expression.Compile(inner, expression.Scope{Params: params, AnyParam: workflow.OpenParams, Captures: captures, Item: "value"})
}
