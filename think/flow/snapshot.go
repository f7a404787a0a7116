package flow

import (
	"encoding/json"
	"math"

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
}

// Whole is the longest value of a Snapshot that leaves none out.
const Whole = math.MaxInt

// Long stands for a capture that is longer than a snapshot shows.
type Long struct {
	// Size is the length of the value's JSON in bytes.
	Size int
	// SHA256 is empty for the list of a loop.
	SHA256 string
}

// Statuses are those of steps in their order; as JSON an object by id.
type Statuses []StepStatus

// MarshalJSON implements json.Marshaler.
func (s Statuses) MarshalJSON() ([]byte, error) {
	out := []byte{'{'}
	for i, status := range s {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(jsonvalue.AppendText(out, status.ID), ':')
		var err error
		if out, err = jsonvalue.Append(out, status); err != nil {
			return nil, err
		}
	}
	return append(out, '}'), nil
}

// Snapshot returns the whole state of the run; captures of more than longest
// bytes are Long, all others json.RawMessage. It returns refs where some of those
// are missing.
func (r *Run) Snapshot(longest int) (Snapshot, []Ref) {
	var m missing
	for _, f := range r.frames() {
		for i := range f.nodes {
			if n := &f.nodes[i]; n.kept() && n.size() <= longest {
				m.capture(n)
			}
		}
	}
	if len(m.refs) > 0 {
		return Snapshot{}, m.refs
	}
	s := Snapshot{RunID: r.id, Workflow: r.graph.Workflow.Name, Release: r.graph.Workflow.Version, Digest: r.graph.Workflow.Digest,
		Version: r.version, Status: r.status(), Hash: r.hash(), Params: r.params, Vars: map[string]any{},
		Steps: make(Statuses, 0, len(r.root.nodes)+r.units), Lists: map[string]any{}, Error: r.blocked}
	r.root.snapshot(&s, longest)
	return s, nil
}

func (f *frame) snapshot(s *Snapshot, longest int) {
	for i := range f.nodes {
		n := &f.nodes[i]
		if n.loop() || len(n.units) == 0 {
			s.Steps = append(s.Steps, n.describe()) // else its unit is the step
		}
		if n.list != nil {
			s.Lists[n.id()] = n.list.items
		}
		if n.kept() {
			s.Vars[f.prefix+n.step().CaptureAs] = n.shown(longest)
		}
		for i := range n.units {
			u := &n.units[i]
			s.Steps = append(s.Steps, u.describe())
			for _, round := range u.rounds() {
				round.snapshot(s, longest)
			}
		}
	}
}

// kept says whether the node has a capture under a name.
func (n *nodeState) kept() bool { return n.has && n.step().CaptureAs != "" }

// shown returns a node's capture as a snapshot has it.
func (n *nodeState) shown(longest int) any {
	if size := n.size(); size > longest {
		long := Long{Size: size}
		if !n.loop() {
			long.SHA256 = n.units[0].sum
		}
		return long
	}
	return json.RawMessage(n.bytes())
}
