package index

import (
	"bytes"
	"hash/maphash"
)

// counts says how often each text occurs: a hash table that keeps its texts in one piece, as
// an index counts a word per few bytes of all files.
type counts struct {
	seed    maphash.Seed
	slots   []uint32 // index into entries plus 1; 0 is free
	entries []counted
	text    []byte
}

type counted struct {
	sum        uint64
	start, end uint32
	times      int
}

func newCounts(seed maphash.Seed) *counts {
	return &counts{seed: seed, slots: make([]uint32, minSlots)}
}

// Bounds of the slots that a table begins with.
const (
	minSlots = 512
	maxSlots = 16 << 10
)

// reset empties the table, which keeps its memory unless that is much.
func (c *counts) reset() {
	if len(c.slots) > maxSlots {
		*c = *newCounts(c.seed)
	}
	clear(c.slots)
	c.entries, c.text = c.entries[:0], c.text[:0]
}

// add counts a text some more times.
func (c *counts) add(text []byte, times int) { c.put(maphash.Bytes(c.seed, text), text, times) }

// put is add of a text whose sum is known. It returns the text's index.
func (c *counts) put(sum uint64, text []byte, times int) uint32 {
	slot := c.slot(sum, text)
	if at := c.slots[slot]; at > 0 {
		c.entries[at-1].times += times
		return at - 1
	}
	start := uint32(len(c.text)) //nolint:gosec // the texts of a batch are bounded
	c.text = append(c.text, text...)
	c.entries = append(c.entries, counted{sum, start, uint32(len(c.text)), times}) //nolint:gosec // as above
	made := uint32(len(c.entries)) - 1                                             //nolint:gosec // as above
	if c.slots[slot] = made + 1; 2*len(c.entries) < len(c.slots) {
		return made
	}
	c.slots = make([]uint32, 4*len(c.slots))
	for i := range c.entries {
		c.slots[c.slot(c.entries[i].sum, c.textAt(i))] = uint32(i + 1) //nolint:gosec // as above
	}
	return made
}

// slot returns the slot of a text, or the free one that it gets.
func (c *counts) slot(sum uint64, text []byte) int {
	for slot := int(sum) & (len(c.slots) - 1); ; slot = (slot + 1) & (len(c.slots) - 1) {
		at := c.slots[slot]
		if at == 0 || c.entries[at-1].sum == sum && bytes.Equal(c.textAt(int(at-1)), text) {
			return slot
		}
	}
}

// textAt returns a text by its index.
func (c *counts) textAt(i int) []byte { return c.text[c.entries[i].start:c.entries[i].end] }
