package flow

import (
	"bytes"
	"cmp"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"

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

// WriteJSON writes the canonical JSON of the snapshot in parts: that of a long
// run is never in memory as a whole. Its errors are those of what is written to,
// and of a value that has no JSON.
func (s Snapshot) WriteJSON(out io.Writer) error {
	p := page{out: out}
	p.text(`{"run_id":`, s.RunID)
	p.text(`,"workflow":`, s.Workflow)
	p.text(`,"workflow_version":`, s.Release)
	p.text(`,"workflow_digest":`, s.Digest)
	p.value(`,"version":`, s.Version)
	p.text(`,"status":`, string(s.Status))
	p.text(`,"hash":`, s.Hash)
	p.object(`,"params":`, s.Params)
	p.object(`,"vars":`, s.Vars)
	p.steps(`,"steps":`, s.Steps)
	if len(s.Lists) > 0 {
		p.object(`,"lists":`, s.Lists)
	}
	if s.Error != nil {
		p.value(`,"error":`, s.Error)
	}
	p.data = append(p.data, '}')
	p.flush()
	return p.err
}

// MarshalJSON implements json.Marshaler.
func (s Snapshot) MarshalJSON() ([]byte, error) {
	var out bytes.Buffer
	err := s.WriteJSON(&out)
	return out.Bytes(), err
}

// page gathers the members of JSON objects and writes them when they are many.
// After an error it writes nothing more.
type page struct {
	out  io.Writer
	data []byte
	err  error
}

// pageSize is how much a page gathers.
const pageSize = 32 << 10

func (p *page) flush() {
	if p.err == nil {
		_, p.err = p.out.Write(p.data)
	}
	p.data = p.data[:0]
}

func (p *page) text(name, value string) {
	p.data = jsonvalue.AppendText(append(p.data, name...), value)
}

func (p *page) value(name string, value any) {
	data, err := jsonvalue.Append(append(p.data, name...), value)
	if err != nil {
		p.err = cmp.Or(p.err, err)
		return
	}
	p.data = data
}

func (p *page) object(name string, object map[string]any) {
	if object == nil {
		p.value(name, nil)
		return
	}
	p.data = append(append(p.data, name...), '{')
	for i, key := range slices.Sorted(maps.Keys(object)) {
		p.next(i, key)
		p.value("", object[key])
	}
	p.data = append(p.data, '}')
}

func (p *page) steps(name string, steps Statuses) {
	p.data = append(append(p.data, name...), '{')
	for i := range steps {
		p.next(i, steps[i].ID)
		p.data = steps[i].appendJSON(p.data)
	}
	p.data = append(p.data, '}')
}

// next begins the i-th member of an object.
func (p *page) next(i int, name string) {
	if i > 0 {
		p.data = append(p.data, ',')
	}
	if len(p.data) >= pageSize {
		p.flush()
	}
	p.data = append(jsonvalue.AppendText(p.data, name), ':')
}

// appendJSON appends what the tags say.
func (s *StepStatus) appendJSON(out []byte) []byte {
	text := func(name, value string) {
		if value != "" {
			out = jsonvalue.AppendText(append(out, name...), value)
		}
	}
	out = jsonvalue.AppendText(append(out, `{"status":`...), string(s.Status))
	text(`,"cause":`, s.Cause)
	if s.Attempt != 0 {
		out = strconv.AppendInt(append(out, `,"attempt":`...), int64(s.Attempt), 10)
	}
	text(`,"witness":`, s.Witness)
	if s.Late {
		out = append(out, `,"late":true`...)
	}
	text(`,"code":`, s.Code)
	text(`,"details":`, s.Details)
	return append(out, '}')
}

// Statuses are those of steps in their order; as JSON an object by id.
type Statuses []StepStatus

// Snapshot returns the whole state of the run; captures of more than longest
// bytes are Long, all others Raw.
func (r *Run) Snapshot(longest int) Snapshot { return r.SnapshotInto(nil, longest) }

// SnapshotInto is Snapshot with its steps in the room of others that are not
// needed any more: of a long run they take a megabyte.
func (r *Run) SnapshotInto(steps Statuses, longest int) Snapshot {
	s := Snapshot{RunID: r.id, Workflow: r.graph.Workflow.Name, Release: r.graph.Workflow.Version, Digest: r.graph.Workflow.Digest,
		Version: r.version, Status: r.Status(), Hash: r.Hash(), Params: r.params, Vars: map[string]any{},
		Steps: slices.Grow(steps[:0], r.Size()), Lists: map[string]any{}, Error: r.blocked}
	r.root.snapshot(&s, longest)
	return s
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
		if name := n.step().CaptureAs; name != "" && n.has {
			s.Vars[f.prefix+name] = n.shown(longest)
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

// shown returns a node's capture as a snapshot has it. What is too long is not
// read back for it.
func (n *nodeState) shown(longest int) any {
	if size := n.size(); size > longest {
		long := Long{Size: size}
		if !n.loop() {
			long.SHA256 = n.units[0].sum
		}
		return long
	}
	return Raw(n.bytes())
}

// Raw is canonical JSON; it marshals as the JSON it is.
type Raw []byte

// AppendJSON implements jsonvalue.Appender.
func (v Raw) AppendJSON(out []byte) ([]byte, error) { return append(out, v...), nil }

// MarshalJSON implements json.Marshaler.
func (v Raw) MarshalJSON() ([]byte, error) { return v, nil }
