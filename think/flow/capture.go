package flow

import (
	"bytes"
	"strings"

	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/think/flow/expression"
)

// Inline is the size in bytes up to which a capture stays in memory. A longer one is a
// reference by digest, which the core requests when it needs the value.
const Inline = 8 << 10

// Ref names a capture that is not in memory: the step whose answer gave it, and
// the version of that answer.
type Ref struct {
	Step    string
	Version int
}

// missing gathers captures that have to be read and are not in memory, each
// once, in the order in which they can be provided.
type missing struct {
	refs []Ref
	seen map[*unit]bool
}

// capture adds what is missing of a node's capture.
func (m *missing) capture(n *nodeState) {
	if n.away == 0 {
		return
	}
	for i := range n.units {
		m.unit(&n.units[i])
	}
}

func (m *missing) unit(u *unit) {
	if !u.away || m.seen[u] {
		return
	}
	if m.seen == nil {
		m.seen = map[*unit]bool{}
	}
	m.seen[u] = true
	if u.readsToAccept() {
		m.node(u.node)
	}
	m.refs = append(m.refs, Ref{u.id, u.attempts[len(u.attempts)-1].version})
}

// node adds what a step's expressions read.
func (m *missing) node(n *nodeState) {
	for _, read := range n.node().reads {
		m.capture(&n.frame.nodes[read.node])
	}
}

// end adds what a frame's outputs, artifacts and summary read.
func (m *missing) end(f *frame) {
	for _, at := range f.graph.endReads {
		m.capture(&f.nodes[at])
	}
	if f.owner != nil {
		m.node(f.owner.node) // until, and the parameters of the next round
	}
}

// readsToAccept reports whether computing the unit's capture reads other captures.
func (u *unit) readsToAccept() bool { return u.step().Extract != nil || u.step().Person() }

// Provide gives the run the recorded answer of a Ref, the JSON as it came, so that
// its capture is in memory again. STATE_CORRUPT where the answer gives another value
// than it did.
func (r *Run) Provide(ref Ref, result []byte) error {
	_, u := r.find(ref.Step)
	if u == nil || !u.away {
		return nil
	}
	value, err := u.recapture(result)
	if err != nil {
		return err
	}
	u.value, u.size, u.away = value, len(value), false
	u.node.away--
	u.hold()
	return nil
}

// recapture recomputes a capture from its recorded answer. The captures that it reads
// must be in memory. STATE_CORRUPT means that the result differs.
func (u *unit) recapture(result []byte) ([]byte, error) {
	if jsonvalue.HexSum(result) == u.sum { // the answer as it came
		return result, nil
	}
	decoded, err := jsonvalue.DecodeStored(result)
	if err != nil {
		return nil, fault.New(fault.StateCorrupt, "the recorded result of step %q is not JSON", u.id)
	}
	rare := u.extra
	value, problem := u.accept(decoded)
	u.extra = rare
	if problem != nil {
		return nil, fault.New(fault.StateCorrupt, "the recorded result of step %q is no longer accepted: %s", u.id, problem.Message())
	}
	if jsonvalue.HexSum(value) != u.sum {
		return nil, fault.New(fault.StateCorrupt, "the recorded result of step %q now gives a different value", u.id)
	}
	return value, nil
}

// maxCachedBytes bounds the long captures that stay in memory between events, in bytes of
// JSON. A decoded capture counts twice.
const maxCachedBytes = 32 << 20

// hold notes a long capture that is in memory.
func (u *unit) hold() {
	if len(u.value) > Inline {
		u.run().held = append(u.run().held, u)
		u.run().cachedBytes += len(u.value)
	}
}

// ReleaseCaptures releases long captures from memory. Their answers must be durable. Call it when
// no event is expected soon, because the captures also serve as a cache for the next
// event.
func (r *Run) ReleaseCaptures() {
	for _, u := range r.held {
		u.value, u.away = nil, true
		u.node.away++
	}
	clear(r.values)
	r.held, r.cachedBytes = nil, 0
}

// bytes returns the canonical JSON of the unit's capture, nil for none.
func (u *unit) bytes() []byte {
	if u.away {
		panic("flow: the capture of step " + u.id + " is read before it was provided")
	}
	return u.value
}

// bytes returns the canonical JSON of the node's capture, nil where it has none.
func (n *nodeState) bytes() []byte {
	switch {
	case !n.has:
		return nil
	case n.loop():
		return n.join(Whole)
	}
	return n.units[0].bytes()
}

// size returns the length of the node's capture in bytes.
func (n *nodeState) size() int {
	if !n.loop() {
		return n.units[0].size
	}
	size := len("[]") + max(0, len(n.units)-1)
	for i := range n.units {
		if n.units[i].sum == "" {
			size += len("null")
		}
		size += n.units[i].size
	}
	return size
}

// join lists the captures of a loop's items, up to enough bytes. A skipped or failed
// item is null.
func (n *nodeState) join(enough int) []byte {
	var list bytes.Buffer
	list.Grow(min(n.size(), enough))
	list.WriteByte('[')
	for i := range n.units {
		if list.Len() > enough {
			return list.Bytes()
		}
		if i > 0 {
			list.WriteByte(',')
		}
		if value := n.units[i].bytes(); value != nil {
			list.Write(value)
		} else {
			list.WriteString("null")
		}
	}
	list.WriteByte(']')
	return list.Bytes()
}

// beginning adds what is missing of the first bytes of a node's capture.
func (m *missing) beginning(n *nodeState, enough int) {
	length := 0
	for i := range n.units {
		if length > enough {
			return
		}
		m.unit(&n.units[i])
		length += n.units[i].size + 1
	}
}

// longList is the size in bytes above which a loop's list is not assembled only to be
// shown.
const longList = 4 << 10

// variable returns the node's capture under a name.
func (n *nodeState) variable(name string) Var {
	size := n.size()
	if n.loop() && size > longList {
		return Var{name, n.join(longList), size}
	}
	return Var{name, n.bytes(), size}
}

// Var returns the canonical JSON of a capture by name, with a prefix for children
// ("parent/child_capture"); nil if there is no such capture, or if references are
// missing.
func (v View) Var(name string) ([]byte, []Ref) {
	for _, f := range v.run.frames() {
		own, inside := strings.CutPrefix(name, f.prefix)
		if at, ok := f.graph.captures[own]; ok && inside {
			var m missing
			if m.capture(&f.nodes[at]); len(m.refs) > 0 {
				return nil, m.refs
			}
			return f.nodes[at].bytes(), nil
		}
	}
	return nil, nil
}

// frames returns the root and every child frame.
func (r *Run) frames() []*frame {
	all := []*frame{r.root}
	for at := 0; at < len(all); at++ {
		for i := range all[at].nodes {
			n := &all[at].nodes[i]
			if n.node().child == nil {
				continue
			}
			for k := range n.units {
				all = append(all, n.units[k].rounds()...)
			}
		}
	}
	return all
}

// Capture implements expression.Steps: what an expression reads of a capture.
func (f *frame) Capture(name string) any {
	if at, ok := f.graph.captures[name]; ok && !f.nodes[at].has && f.graph.readsAsEvaluated() {
		return expression.NoCapture
	}
	return f.capture(name)
}

// capture returns the value of a capture for expressions, which do not change it. A
// long one is decoded once, and kept until ReleaseCaptures.
func (f *frame) capture(name string) any {
	at, ok := f.graph.captures[name]
	if !ok {
		return nil
	}
	n, r := &f.nodes[at], f.run
	if value, known := r.values[n]; known {
		return value
	}
	data := n.bytes()
	value := decoded(data)
	if len(data) > Inline {
		r.values[n] = value
		r.cachedBytes += len(data)
	}
	return value
}

// decoded reads a stored value; what is stored was encoded by this package.
func decoded(value []byte) any {
	if len(value) == 0 {
		return nil
	}
	v, err := jsonvalue.DecodeStored(value)
	if err != nil {
		panic("flow: a capture is not JSON: " + err.Error())
	}
	return v
}
