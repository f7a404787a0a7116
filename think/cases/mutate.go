package cases

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/think/flow"
	"savant/think/flow/expression"
)

// Mutant is a workflow with one change that its cases should notice.
type Mutant struct {
	// Step is the id of the changed step, "" for the outputs.
	Step string `json:"step"`
	// Kind is condition, assertion, loop, join, dependency, schema, reference or policy.
	Kind string `json:"kind"`
	File string `json:"file"`
	Line int    `json:"line"`
	// From and To are the value before and after; To is nil if it was removed.
	From any `json:"from"`
	To   any `json:"to"`
	// KilledBy is the first case that fails with the change; "" if none notices it.
	KilledBy string `json:"killed_by,omitempty"`

	path []any // of the value in the file: keys and indices
}

// Mutate changes a workflow in one place after the other, at most atMost of them (0: all),
// always in the same order, and runs the cases on each. Changes that make the file invalid
// are left out. compile makes the graph of a changed text.
func Mutate(graph *flow.Graph, files []*File, atMost int, compile func(src []byte) (*flow.Graph, error)) []Mutant {
	all := []Mutant{}
	layout := graph.Workflow.Layout()
	for _, each := range mutations(graph.Workflow.Parsed()) {
		if atMost > 0 && len(all) == atMost {
			break
		}
		changed := replaced(graph.Workflow.Parsed(), each.path, each.To)
		src, err := jsonvalue.Encode(changed)
		if err != nil {
			continue
		}
		mutant, err := compile(src)
		if err != nil {
			continue
		}
		where := layout.Key(fault.InvalidParams, pathText(each.path), "")
		each.File, each.Line = where.File, where.Line
		each.KilledBy = killer(mutant, files)
		all = append(all, each)
	}
	return all
}

// killer returns the name of the first case that fails on a graph.
func killer(graph *flow.Graph, files []*File) string {
	for _, file := range files {
		for _, c := range file.Cases {
			if len(Run(file, c, graph).Differences) > 0 {
				return c.Name
			}
		}
	}
	return ""
}

// mutations returns the changes of a workflow file, in the order of the file.
func mutations(parsed any) (all []Mutant) {
	top, _ := parsed.(map[string]any)
	steps, _ := top["steps"].([]any)
	for i, each := range steps {
		if step, is := each.(map[string]any); is {
			id, _ := step["id"].(string)
			m := &mutation{step: id, path: []any{"steps", i}}
			m.ofStep(step)
			all = append(all, m.found...)
		}
	}
	m := &mutation{}
	outputs, _ := top["outputs"].(map[string]any)
	m.references(outputs, "outputs")
	return append(all, m.found...)
}

// mutation collects the changes of one step.
type mutation struct {
	step  string
	path  []any
	found []Mutant
}

func (m *mutation) add(kind string, from, to any, path ...any) {
	m.found = append(m.found, Mutant{Step: m.step, Kind: kind, From: from, To: to, path: slices.Concat(m.path, path)})
}

func (m *mutation) ofStep(step map[string]any) {
	if when, is := step["when"].(string); is {
		m.add("condition", when, negated(when), "when")
	}
	input, _ := step["input_template"].(map[string]any)
	if that, is := input["that"].(string); is && step["call"] == flow.CallAssert {
		m.add("assertion", that, negated(that), "input_template", "that")
	} else {
		m.references(input, "input_template")
	}
	if foreach := step["foreach"]; foreach != nil {
		m.add("loop", foreach, "[]", "foreach")
	}
	if join, is := step["join"].(string); is {
		other := flow.JoinAll
		if join == string(flow.JoinAll) {
			other = flow.JoinAny
		}
		m.add("join", join, string(other), "join")
	}
	if deps := step["deps"]; deps != nil {
		m.add("dependency", deps, nil, "deps")
	}
	m.schema(step["success_schema"], "success_schema")
	m.policies(step)
}

// negated turns a condition around.
func negated(source string) string {
	inner, _ := expression.Unwrap(source)
	return "{{ not (" + strings.TrimSpace(inner) + ") }}"
}

// references takes the values that a map reads away, one at a time.
func (m *mutation) references(values map[string]any, at ...any) {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		switch value := values[name].(type) {
		case string:
			if strings.Contains(value, "{{") {
				m.add("reference", value, "", append(slices.Clone(at), name)...)
			}
		case map[string]any:
			m.references(value, append(slices.Clone(at), name)...)
		}
	}
}

// The keywords of a schema that refuse values.
var refusing = []string{"required", "enum", "const", "pattern", "minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems", "uniqueItems", "additionalProperties", "type"}

// schema takes the keywords of a schema away, one at a time; a named schema as a whole.
func (m *mutation) schema(schema any, at ...any) {
	switch value := schema.(type) {
	case string:
		m.add("schema", value, nil, at...)
	case map[string]any:
		for _, keyword := range refusing {
			if held, there := value[keyword]; there {
				m.add("schema", held, nil, append(slices.Clone(at), keyword)...)
			}
		}
		properties, _ := value["properties"].(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(properties)) {
			if below, is := properties[name].(map[string]any); is {
				m.schema(below, append(slices.Clone(at), "properties", name)...)
			}
		}
		if items, is := value["items"].(map[string]any); is {
			m.schema(items, append(slices.Clone(at), "items")...)
		}
	}
}

func (m *mutation) policies(step map[string]any) {
	if policy, is := step["on_failure"].(string); is {
		other := flow.Continue
		if policy == string(flow.Continue) {
			other = flow.Fail
		}
		m.add("policy", policy, string(other), "on_failure")
	}
	if retry, is := step["retry"].(map[string]any); is && retry["max"] != nil && !equal(retry["max"], 0) {
		m.add("policy", retry["max"], 0, "retry", "max")
	}
	if repeat, is := step["repeat"].(map[string]any); is {
		if until, is := repeat["until"].(string); is {
			m.add("policy", until, negated(until), "repeat", "until")
		}
	}
	if barrier := step["barrier"]; barrier != nil {
		m.add("policy", barrier, barrier != true, "barrier")
	}
}

// replaced returns a copy of a value in which the part at a path is another one, or nil for
// none.
func replaced(value any, path []any, to any) any {
	if len(path) == 0 {
		return to
	}
	switch at := path[0].(type) {
	case string:
		object, _ := value.(map[string]any)
		changed := maps.Clone(object)
		if len(path) == 1 && to == nil {
			delete(changed, at)
		} else {
			changed[at] = replaced(object[at], path[1:], to)
		}
		return changed
	case int:
		list, _ := value.([]any)
		changed := slices.Clone(list)
		changed[at] = replaced(list[at], path[1:], to)
		return changed
	}
	return value
}

// pathText is a path as diagnostics have it.
func pathText(path []any) (text string) {
	for _, each := range path {
		switch each := each.(type) {
		case string:
			text = strings.TrimPrefix(text+"."+each, ".")
		case int:
			text += "[" + strconv.Itoa(each) + "]"
		}
	}
	return text
}
