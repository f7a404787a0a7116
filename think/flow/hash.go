package flow

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"math/bits"
	"slices"
	"strconv"
)

// touch notes a change of a unit and of the hashes above it.
func (u *unit) touch() {
	if !u.seen {
		u.seen = true
		u.run().touched = append(u.run().touched, u)
	}
	u.node.changed(u)
}

// changed marks the hashes of a node, and of everything above it, as outdated. If a
// unit is given, it caused the change.
func (n *nodeState) changed(by *unit) {
	if by != nil && n.loop() && !by.stale {
		by.stale = true
		n.list.stale = append(n.list.stale, by)
	}
	f := n.frame
	if n.noted {
		return // and so are those above
	}
	n.noted = true
	f.stale = append(f.stale, n)
	if f.owner != nil {
		f.owner.node.changed(f.owner)
	}
}

func (n *nodeState) hash() sum {
	d := newDigest("node")
	d.text(n.id())
	if n.status.settled() {
		d.text(string(n.status))
		d.text(n.cause)
	}
	if n.when != nil {
		d.text(strconv.FormatBool(*n.when))
	}
	switch {
	case n.loop():
		root := sum{}
		if n.list != nil {
			d.number(len(n.list.items))
			d.text(n.list.sum)
			root = n.list.root(len(n.units))
		}
		d.Write(root[:])
	case len(n.units) == 1:
		only := n.units[0].hash()
		d.Write(only[:])
	}
	return d.done()
}

// root returns the hash of the loop's units.
func (l *loopList) root(units int) sum {
	for _, u := range l.stale {
		u.stale = false
		l.tree.leaves = units
		l.tree.set(u.item, u.hash())
	}
	l.stale = nil
	return l.tree.root()
}

func (u *unit) hash() sum {
	d := newDigest("unit")
	d.text(u.id)
	if u.status.settled() {
		d.text(string(u.status))
		d.text(u.cause)
		d.text(u.sum)
	}
	d.number(len(u.attempts))
	if u.rare().unknown {
		d.text("unknown outcome")
	}
	if failure := u.rare().failure; failure != nil {
		d.text(string(failure.Code))
	}
	for _, round := range u.rounds() {
		sum := round.hash()
		d.Write(sum[:])
	}
	return d.done()
}

func (f *frame) hash() sum {
	d := newDigest("frame")
	d.text(f.graph.Workflow.Digest)
	d.text(f.paramsSum)
	for _, n := range f.stale {
		n.noted = false
		f.tree.set(n.index, n.hash())
	}
	f.stale = nil
	root := f.tree.root()
	d.Write(root[:])
	return d.done()
}

// hash returns the hex hash of all that was decided: it depends on the
// workflow, the parameters and the results, not on the run's id, on the order
// of parallel answers or on who gave them.
func (r *Run) hash() string {
	d := newDigest("run")
	root := r.root.hash()
	d.Write(root[:])
	if r.blocked != nil {
		d.text(string(r.blocked.Code))
	}
	if r.final != nil {
		d.text(r.final.Outcome)
	}
	sum := d.done()
	return hex.EncodeToString(sum[:])
}

// LeaveHashes leaves the hash out of the outcomes to come, of a run that is not recorded.
func (r *Run) LeaveHashes() { r.unhashed = true }

// sum is a SHA-256; the zero sum stands for "nothing decided yet".
type sum [sha256.Size]byte

// digest hashes fields with their lengths, so that no two lists of fields look
// alike.
type digest struct{ hash.Hash }

func newDigest(kind string) digest {
	d := digest{sha256.New()}
	d.text(kind)
	return d
}

func (d digest) text(text string) {
	var size [8]byte
	binary.BigEndian.PutUint64(size[:], uint64(len(text)))
	d.Write(size[:])
	d.Write([]byte(text))
}

func (d digest) number(n int) { d.text(strconv.Itoa(n)) }

func (d digest) done() sum { return sum(d.Sum(nil)) }

// tree is a Merkle tree over a fixed number of leaves: changing one leaf costs
// the logarithm of their number, so a step of a long run costs what a step of
// a short one does. The root does not depend on the order of changes, and is
// made once for all that came since it was last asked for.
type tree struct {
	leaves int
	nodes  []sum // a binary heap: the root at 1, leaf i at width+i
	stale  []int // leaves that the root does not know yet
}

func (t *tree) set(leaf int, value sum) {
	width := 1 << bits.Len(uint(max(t.leaves, 1)-1))
	if t.nodes == nil {
		t.nodes = make([]sum, 2*width)
	}
	t.nodes[width+leaf] = value
	t.stale = append(t.stale, width+leaf)
}

func (t *tree) root() sum {
	if t.nodes == nil {
		return sum{}
	}
	slices.Sort(t.stale)
	for len(t.stale) > 0 && t.stale[0] > 1 {
		t.climb()
	}
	t.stale = nil
	return t.nodes[1]
}

// climb makes the parents of the stale nodes of one level, which become the
// stale ones.
func (t *tree) climb() {
	parents := t.stale[:0]
	for _, at := range t.stale {
		at /= 2
		if len(parents) > 0 && parents[len(parents)-1] == at {
			continue
		}
		var pair [2 * sha256.Size]byte
		copy(pair[:], t.nodes[2*at][:])
		copy(pair[sha256.Size:], t.nodes[2*at+1][:])
		t.nodes[at] = sha256.Sum256(pair[:])
		parents = append(parents, at)
	}
	t.stale = parents
}
