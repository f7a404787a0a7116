package flow

import (
	"encoding/json"
	"iter"
	"maps"
	"math"
	"slices"
	"strings"

	"savant/fault"
	"savant/internal/jsonvalue"
)

// Snapshot is the whole state of a run, readable.
type Snapshot struct {
	RunID    string         `json:"run_id"`
	Workflow string         `json:"workflow"`
	Release  string         `json:"workflow_version"`
	Digest   string         `json:"workflow_digest"`
	Version  int            `json:"version"`
	Status   Status         `json:"status"`
	Hash     string         `json:"hash"`
	Params   map[string]any `json:"params"`
	Vars     map[string]any `json:"vars"`
	Steps    Statuses       `json:"steps"`
	Lists    map[string]any `json:"lists,omitempty"`
	Error    *fault.Error   `json:"error,omitempty"`
	// Cancelled says who ended the run before its end.
	Cancelled *Cancellation `json:"cancelled,omitempty"`
}

// Whole is the longest value of a Snapshot that leaves none out.
const Whole = math.MaxInt

// Long replaces a capture that is too long for a snapshot.
type Long struct {
	// Size is the length of the value's JSON in bytes.
	Size int
	// SHA256 is empty for the list of a loop.
	SHA256 string
}

// Statuses are the statuses of steps in order; in JSON an object by id.
type Statuses []StepStatus

// MarshalJSON implements json.Marshaler.
func (s Statuses) MarshalJSON() ([]byte, error) {
	out := append(make([]byte, 0, 96*len(s)), '{')
	for i, status := range s {
		if i > 0 {
			out = append(out, ',')
		}
		id, err := jsonvalue.Encode(status.ID)
		if err != nil {
			return nil, err
		}
		data, err := jsonvalue.Encode(status)
		if err != nil {
			return nil, err
		}
		out = append(append(append(out, id...), ':'), data...)
	}
	return append(out, '}'), nil
}

// Snapshot returns the whole state of the run; captures of more than longest
// bytes are Long, all others json.RawMessage. It returns refs where some of those
// are missing.
func (v View) Snapshot(longest int) (Snapshot, []Ref) {
	var m missing
	for n, u := range v.run.root.members() {
		if u == nil && n.hasCapture() && n.size() <= longest {
			m.capture(n)
		}
	}
	if len(m.refs) > 0 {
		return Snapshot{}, m.refs
	}
	s := v.Head()
	maps.Insert(s.Vars, v.Vars(longest))
	maps.Insert(s.Lists, v.Lists())
	s.Steps = slices.AppendSeq(slices.Grow(s.Steps, len(v.run.root.nodes)+v.run.units), v.Steps())
	return s, nil
}

// Head returns the state of the run without captures, lists and steps.
func (v View) Head() Snapshot {
	return Snapshot{RunID: v.run.id, Workflow: v.run.graph.Workflow.Name, Release: v.run.graph.Workflow.Version, Digest: jsonvalue.SHA256(v.run.graph.Workflow.Digest),
		Version: v.run.version, Status: v.run.status(), Hash: jsonvalue.SHA256(v.run.hash()), Params: v.run.params, Vars: map[string]any{}, Steps: Statuses{}, Lists: map[string]any{}, Error: v.run.blocked, Cancelled: v.run.cancelled}
}

// Vars returns the captures by name, see Snapshot. No capture of at most longest
// bytes is missing where longest is at most Inline.
func (v View) Vars(longest int) iter.Seq2[string, any] {
	return func(yield func(string, any) bool) {
		for n, u := range v.run.root.members() {
			if u == nil && n.hasCapture() && !yield(n.frame.prefix+n.step().CaptureAs, n.captureExcerpt(longest)) {
				return
			}
		}
	}
}

// Lists returns the lists of the loops by the id of their step, each a []any.
func (v View) Lists() iter.Seq2[string, any] {
	return func(yield func(string, any) bool) {
		for n, u := range v.run.root.members() {
			if u == nil && n.list != nil && !yield(n.id(), n.list.items) {
				return
			}
		}
	}
}

// Steps returns the steps in their order, a loop before its items.
func (v View) Steps() iter.Seq[StepStatus] {
	return func(yield func(StepStatus) bool) {
		for n, u := range v.run.root.members() {
			switch {
			case u != nil:
				if !yield(u.describe()) {
					return
				}
			case n.loop() || len(n.units) == 0: // else its unit is the step
				if !yield(n.describe()) {
					return
				}
			}
		}
	}
}

// members returns the steps of a frame and of those below it in their order:
// each with a nil unit first, then with each of its units.
func (f *frame) members() iter.Seq2[*nodeState, *unit] {
	return func(yield func(*nodeState, *unit) bool) {
		for i := range f.nodes {
			n := &f.nodes[i]
			if !yield(n, nil) {
				return
			}
			for k := range n.units {
				u := &n.units[k]
				if !yield(n, u) {
					return
				}
				for _, round := range u.rounds() {
					for below, unit := range round.members() {
						if !yield(below, unit) {
							return
						}
					}
				}
			}
		}
	}
}

// hasCapture reports whether the node has a named capture.
func (n *nodeState) hasCapture() bool { return n.has && n.step().CaptureAs != "" }

// captureExcerpt returns a node's capture as a snapshot has it.
func (n *nodeState) captureExcerpt(longest int) any {
	if size := n.size(); size > longest {
		long := Long{Size: size}
		if !n.loop() {
			long.SHA256 = n.units[0].sum
		}
		return long
	}
	return json.RawMessage(n.bytes())
}

// Ruling is a workflow under way whose file has rules, with what they read.
type Ruling struct {
	Workflow *Workflow
	// Unit is where it runs: "" for the root, else the step and the round, as in "fix_0/".
	Unit string
	// Params and State have what the rules read, null for what is not there yet.
	Params, State map[string]any
}

// Ruled reports whether the workflow, or one below it, has rules.
func (g *Graph) Ruled() bool { return g.ruled }

// Rulings returns the workflows under way that have rules, outermost first. reads names
// what the rules of each read, by its digest: "params.limit", "state.plan". It returns refs
// where captures among it are missing.
func (v View) Rulings(reads map[string][]string) ([]Ruling, []Ref) {
	if !v.run.graph.ruled {
		return nil, nil
	}
	var m missing
	found := v.run.root.rulings(reads, &m, nil)
	return found, m.refs
}

func (f *frame) rulings(reads map[string][]string, m *missing, found []Ruling) []Ruling {
	if f.closed {
		return found
	}
	if w := f.graph.Workflow; w.Ruled {
		ruling := Ruling{Workflow: w, Unit: f.prefix, Params: map[string]any{}, State: map[string]any{}}
		for _, read := range reads[w.Digest] {
			root, name, _ := strings.Cut(read, ".")
			at, captured := f.graph.captures[name]
			switch {
			case root == "params":
				ruling.Params[name] = f.params[name]
				continue
			case captured:
				m.capture(&f.nodes[at])
			}
			if ruling.State[name] = nil; len(m.refs) == 0 {
				ruling.State[name] = f.capture(name)
			}
		}
		found = append(found, ruling)
	}
	for i := range f.nodes {
		n := &f.nodes[i]
		if n.node().child == nil || !n.node().child.ruled {
			continue
		}
		for k := range n.units {
			for _, round := range n.units[k].rounds() {
				found = round.rulings(reads, m, found)
			}
		}
	}
	return found
}
