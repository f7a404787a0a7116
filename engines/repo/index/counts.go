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
	start, end int
	times      int
}

// Bounds of the slots that a table begins with.
const (
	minSlots = 512
	maxSlots = 16 << 10
)

// reset empties the table, which keeps its memory unless that is much.
func (c *counts) reset() {
	if len(c.slots) == 0 || len(c.slots) > maxSlots {
		*c = counts{seed: maphash.MakeSeed(), slots: make([]uint32, minSlots)}
	}
	clear(c.slots)
	c.entries, c.text = c.entries[:0], c.text[:0]
}

// add counts a text some more times.
func (c *counts) add(text []byte, times int) {
	sum := maphash.Bytes(c.seed, text)
	slot := c.slot(sum, text)
	if at := c.slots[slot]; at > 0 {
		c.entries[at-1].times += times
		return
	}
	start := len(c.text)
	c.text = append(c.text, text...)
	c.entries = append(c.entries, counted{sum, start, len(c.text), times})
	if c.slots[slot] = uint32(len(c.entries)); 2*len(c.entries) < len(c.slots) {
		return
	}
	c.slots = make([]uint32, 4*len(c.slots))
	for i := range c.entries {
		c.slots[c.slot(c.entries[i].sum, c.textAt(i))] = uint32(i + 1)
	}
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
