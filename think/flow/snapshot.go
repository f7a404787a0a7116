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
	s, _ := r.page(Page{Longest: longest, Steps: everything, Lists: everything, Vars: everything})
	return s, nil
}

// Page is a part of a snapshot: what each section has after a name.
type Page struct {
	Steps, Lists, Vars Range
	// Longest is the longest capture that is shown, at most Inline bytes.
	Longest int
}

// Range is a part of a section.
type Range struct {
	// After is the name where the part begins; empty: at the first.
	After string
	// Bytes bounds the JSON of the part, about; 0 leaves all out. One member is
	// shown at least.
	Bytes int
}

var everything = Range{Bytes: math.MaxInt}

// Rest says what a section has after its part.
type Rest struct {
	// Left counts what was left out, Last is the last name shown.
	Left int
	Last string
	// Found says that the section has the name After.
	Found bool
	// Size is the length in bytes, about, of all after that name.
	Size int
}

// Rests are those of a page.
type Rests struct{ Steps, Lists, Vars Rest }

// LongList stands for the list of a loop that is longer than a page.
type LongList struct {
	Items int `json:"items"`
}

// Page returns a part of the state of the run. Its time grows with the run, its
// memory with the part.
func (r *Run) Page(page Page) (Snapshot, Rests) {
	page.Longest = min(page.Longest, Inline)
	return r.page(page)
}

func (r *Run) page(page Page) (Snapshot, Rests) {
	s := Snapshot{RunID: r.id, Workflow: r.graph.Workflow.Name, Release: r.graph.Workflow.Version, Digest: r.graph.Workflow.Digest,
		Version: r.version, Status: r.status(), Hash: r.hash(), Params: r.params, Vars: map[string]any{}, Steps: Statuses{}, Lists: map[string]any{}, Error: r.blocked}
	p := pager{Snapshot: &s, longest: page.Longest, steps: newSection(page.Steps), lists: newSection(page.Lists), vars: newSection(page.Vars)}
	p.frame(r.root)
	return s, Rests{p.steps.Rest, p.lists.Rest, p.vars.Rest}
}

// pager fills a snapshot with a page.
type pager struct {
	*Snapshot
	longest            int
	steps, lists, vars section
}

// section is one section of a page under way.
type section struct {
	Range
	Rest
	taken int // bytes
}

func newSection(part Range) section { return section{Range: part, Rest: Rest{Found: part.After == ""}} }

// take says whether the next member of the section belongs to the page.
func (s *section) take(name string, size int) bool {
	if !s.Found {
		s.Found = name == s.After
		return false
	}
	size += len(name) + len(`"":,`)
	s.Size += size
	if s.Left > 0 || s.Bytes == 0 || s.taken > 0 && size > s.Bytes-s.taken {
		s.Left++
		return false
	}
	s.taken += size
	s.Last = name
	return true
}

func (p *pager) frame(f *frame) {
	for i := range f.nodes {
		n := &f.nodes[i]
		if n.loop() || len(n.units) == 0 {
			p.step(n.describe()) // else its unit is the step
		}
		if n.list != nil {
			p.list(n.id(), n.list.items)
		}
		if n.kept() {
			if name := f.prefix + n.step().CaptureAs; p.vars.take(name, min(n.size(), p.longest)) {
				p.Vars[name] = n.shown(p.longest)
			}
		}
		for i := range n.units {
			u := &n.units[i]
			p.step(u.describe())
			for _, round := range u.rounds() {
				p.frame(round)
			}
		}
	}
}

func (p *pager) step(status StepStatus) {
	if p.steps.take(status.ID, status.size()) {
		p.Steps = append(p.Steps, status)
	}
}

func (p *pager) list(id string, items []any) {
	size := sizeUpTo(items, max(p.lists.Bytes, longestMeasured))
	long := size > p.lists.Bytes
	if long && p.lists.Bytes > 0 {
		size = len(`{"items":100000}`)
	}
	switch taken := p.lists.take(id, size); {
	case taken && long:
		p.Lists[id] = LongList{len(items)}
	case taken:
		p.Lists[id] = items
	}
}

// size is the length of the status as JSON in bytes, about.
func (s StepStatus) size() int {
	return len(`{"status":"","cause":"","witness":"self"}`) + len(s.Status) + len(s.Cause) + len(s.Code) + len(s.Details)
}

// longestMeasured is how far a list is measured that is not shown, in bytes.
const longestMeasured = 64 << 10

// sizeUpTo returns the length of a value's JSON in bytes, about, and stops at a
// limit.
func sizeUpTo(value any, limit int) int {
	if limit == math.MaxInt {
		return 0 // nobody needs it
	}
	size := 2
	switch value := value.(type) {
	case string:
		size += len(value)
	case []any:
		for _, item := range value {
			if size += 1 + sizeUpTo(item, limit-size); size >= limit {
				return size
			}
		}
	case map[string]any:
		for name, member := range value {
			if size += len(name) + 4 + sizeUpTo(member, limit-size); size >= limit {
				return size
			}
		}
	default:
		size += 4
	}
	return size
}

// List returns the list that a loop goes over by the id of its step; nil where
// there is none.
func (r *Run) List(step string) []any {
	if n, _ := r.find(step); n != nil && n.list != nil && n.id() == step {
		return n.list.items
	}
	return nil
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
