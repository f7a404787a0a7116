package cases

import (
	"reflect"
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

	path []string // of the value in the file: keys and indices
}

// Key names what is changed below the step, or of the workflow: "success_schema.type".
func (m Mutant) Key() string {
	path := m.path
	if m.Step != "" {
		path = path[2:] // steps, and which
	}
	return fault.PathOf("/" + strings.Join(path, "/"))
}

// Mutate changes a workflow in one place after the other, at most atMost of them (0: all),
// always in the same order, and runs the cases on each. Changes that make the file invalid
// are left out. compile makes the graph of a changed text.
func Mutate(graph *flow.Graph, files []*File, atMost int, compile func(src []byte) (*flow.Graph, error)) []Mutant {
	all := []Mutant{}
	layout := graph.Workflow.Layout()
	parsed, err := jsonvalue.Recode(graph.Workflow.Parsed()) // a copy, which is changed in place
	if err != nil {
		return all
	}
	for _, each := range mutations(parsed) {
		if atMost > 0 && len(all) == atMost {
			break
		}
		each.put(parsed, each.To)
		mutant, err := compile(jsonvalue.Encoded(parsed))
		each.put(parsed, each.From)
		if err != nil || each.Kind == dependency && reflect.DeepEqual(mutant.Picture(), graph.Picture()) { // the step reads it
			continue
		}
		where := layout.Key(fault.InvalidParams, fault.PathOf("/"+strings.Join(each.path, "/")), "")
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
			m := &mutation{step: id, path: []string{"steps", strconv.Itoa(i)}}
			m.ofStep(step)
			all = append(all, m.found...)
		}
	}
	m := &mutation{}
	m.references(top["outputs"], "outputs")
	return append(all, m.found...)
}

// dependency is the kind of a change of deps.
const dependency = "dependency"

// mutation collects the changes of one step.
type mutation struct {
	step  string
	path  []string
	found []Mutant
}

// add adds a change, unless it changes nothing.
func (m *mutation) add(kind string, from, to any, path ...string) {
	if equal(from, to) {
		return
	}
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
		m.references(step["input_template"], "input_template")
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
		m.add(dependency, deps, nil, "deps")
	}
	m.schema(step["success_schema"], "success_schema")
	m.policies(step)
}

// negated turns a condition around.
func negated(source string) string {
	inner, _ := expression.Unwrap(source)
	return "{{ not (" + strings.TrimSpace(inner) + ") }}"
}

// references takes the texts that read something away, one at a time.
func (m *mutation) references(value any, at ...string) {
	switch value := value.(type) {
	case string:
		if strings.Contains(value, "{{") {
			m.add("reference", value, "", at...)
		}
	case map[string]any:
		for _, name := range ids(value) {
			m.references(value[name], append(slices.Clone(at), name)...)
		}
	case []any:
		for i, each := range value {
			m.references(each, append(slices.Clone(at), strconv.Itoa(i))...)
		}
	}
}

// refusing are the keywords of a schema that refuse values, and what refuses none.
var refusing = []struct {
	keyword string
	none    any
}{{"required", []any{}}, {"enum", nil}, {"const", nil}, {"pattern", ""}, {"minimum", nil}, {"maximum", nil}, {"minLength", 0}, {"maxLength", nil},
	{"minItems", 0}, {"maxItems", nil}, {"uniqueItems", false}, {"additionalProperties", true}, {"type", nil}}

// schema takes the keywords of a schema away, one at a time; a named schema as a whole.
func (m *mutation) schema(schema any, at ...string) {
	object, is := schema.(map[string]any)
	if !is {
		if schema != nil {
			m.add("schema", schema, nil, at...)
		}
		return
	}
	for _, each := range refusing {
		held, there := object[each.keyword]
		implied := each.keyword == "type" && (object["enum"] != nil || object["const"] != nil)
		if there && !implied && !equal(held, each.none) {
			m.add("schema", held, nil, append(slices.Clone(at), each.keyword)...)
		}
	}
	properties, _ := object["properties"].(map[string]any)
	for _, name := range ids(properties) {
		m.schema(properties[name], append(slices.Clone(at), "properties", name)...)
	}
	if items, is := object["items"].(map[string]any); is {
		m.schema(items, append(slices.Clone(at), "items")...)
	}
	for _, keyword := range []string{"anyOf", "oneOf", "allOf"} {
		parts, _ := object[keyword].([]any)
		for i, each := range parts {
			m.schema(each, append(slices.Clone(at), keyword, strconv.Itoa(i))...)
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

// put gives the value at the path of the change, below the file's value, another one, or takes
// it away if that is nil.
func (m Mutant) put(at, value any) {
	for i, key := range m.path {
		last := i == len(m.path)-1
		switch holder := at.(type) {
		case map[string]any:
			if at = holder[key]; last && value == nil {
				delete(holder, key)
			} else if last {
				holder[key] = value
			}
		case []any:
			number, _ := strconv.Atoi(key) // the path is one of this value
			if at = holder[number]; last {
				holder[number] = value
			}
		}
	}
}
