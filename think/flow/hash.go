package flow

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"math/bits"
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
// a short one does. The root does not depend on the order of changes.
type tree struct {
	leaves int
	nodes  []sum // a binary heap: the root at 1, leaf i at width+i
}

func (t *tree) width() int { return 1 << bits.Len(uint(max(t.leaves, 1)-1)) }

func (t *tree) set(leaf int, value sum) {
	width := t.width()
	if t.nodes == nil {
		t.nodes = make([]sum, 2*width)
	}
	at := width + leaf
	t.nodes[at] = value
	for at > 1 {
		at /= 2
		var pair [2 * sha256.Size]byte
		copy(pair[:], t.nodes[2*at][:])
		copy(pair[sha256.Size:], t.nodes[2*at+1][:])
		t.nodes[at] = sha256.Sum256(pair[:])
	}
}

func (t *tree) root() sum {
	if t.nodes == nil {
		return sum{}
	}
	return t.nodes[1]
}
