package index

import (
	"bytes"
	"hash/maphash"
)

// counts says how often each text occurs: a hash table that keeps its texts in one piece, as
// an index counts a word per few bytes of all files.
type counts struct {
	seed    maphash.Seed
	slots   []slot
	entries []counted
	text    []byte
}

// slot is a part of an entry's sum and its index plus 1; 0 is free.
type slot struct{ sum, at uint32 }

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
		*c = counts{seed: maphash.MakeSeed(), slots: make([]slot, minSlots)}
	}
	clear(c.slots)
	c.entries, c.text = c.entries[:0], c.text[:0]
}

// add counts a text some more times and returns its index.
func (c *counts) add(text []byte, times int) int {
	sum := maphash.Bytes(c.seed, text)
	free := c.slot(sum, text)
	if at := free.at; at > 0 {
		c.entries[at-1].times += times
		return int(at - 1)
	}
	start := len(c.text)
	c.text = append(c.text, text...)
	c.entries = append(c.entries, counted{sum, start, len(c.text), times})
	if *free = (slot{uint32(sum >> 32), uint32(len(c.entries))}); 2*len(c.entries) < len(c.slots) {
		return len(c.entries) - 1
	}
	c.slots = make([]slot, 4*len(c.slots))
	for i := range c.entries {
		sum := c.entries[i].sum
		*c.slot(sum, c.at(i)) = slot{uint32(sum >> 32), uint32(i + 1)}
	}
	return len(c.entries) - 1
}

// slot returns the slot of a text, or the free one that it gets.
func (c *counts) slot(sum uint64, text []byte) *slot {
	for i := int(sum) & (len(c.slots) - 1); ; i = (i + 1) & (len(c.slots) - 1) {
		each := &c.slots[i]
		if each.at == 0 || each.sum == uint32(sum>>32) && bytes.Equal(c.at(int(each.at-1)), text) {
			return each
		}
	}
}

// at returns a text by its index.
func (c *counts) at(i int) []byte { return c.text[c.entries[i].start:c.entries[i].end] }
