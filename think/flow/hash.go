package flow

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"math/bits"
	"slices"
	"strconv"
)

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

func (t *tree) width() int { return 1 << bits.Len(uint(max(t.leaves, 1)-1)) }

func (t *tree) set(leaf int, value sum) {
	width := t.width()
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
