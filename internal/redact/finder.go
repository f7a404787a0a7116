package redact

import "strings"

// word is what a kind of secret is found by: what it begins with, or what
// stands near it.
type word struct {
	text string
	// fold: in upper or lower case.
	fold bool
	// secret returns where the secret is, if there is one, given the place of
	// the word.
	secret func(r *reading, at, end int) span
}

func (w word) standsAt(text string, at int) bool {
	if len(text)-at < len(w.text) {
		return false
	}
	there := text[at : at+len(w.text)]
	return there == w.text || w.fold && strings.EqualFold(there, w.text)
}

// finder finds where words stand, all in one pass: whether any can begin at a
// place is looked up in a few kilobytes, by the next three bytes.
type finder struct {
	begins [1 << (hashBits - 6)]uint64
	words  map[uint32][]word
}

// hashBits is the logarithm of the size of the table in bits.
const hashBits = 15

func newFinder(lists ...[]word) *finder {
	f := &finder{words: map[uint32][]word{}}
	for _, list := range lists {
		for _, each := range list {
			key := triple(each.text[0], each.text[1], each.text[2])
			f.words[key] = append(f.words[key], each)
			place := hash(key << 8)
			f.begins[place>>6] |= 1 << (place & 63)
		}
	}
	return f
}

// none says whether there is nothing to find.
func (f *finder) none() bool { return len(f.words) == 0 }

// lower makes a letter small; other bytes may change as well, in the same way
// wherever they stand.
const lower = 0x20

func triple(a, b, c byte) uint32 {
	return uint32(a|lower)<<16 | uint32(b|lower)<<8 | uint32(c|lower)
}

// hash spreads the upper three bytes of a number over the table (Fibonacci
// hashing).
func hash(upper uint32) uint32 { return upper * 2654435769 >> (32 - hashBits) }

// next returns the first place from at where a word may stand, and the words
// that may; -1 where there is none.
func (f *finder) next(text string, at int) (int, []word) {
	if len(text)-at < shortest {
		return -1, nil
	}
	key := triple(0, text[at], text[at+1])
	for i := at + 2; i < len(text); i++ {
		key = key<<8 | uint32(text[i]|lower)
		if place := hash(key << 8); f.begins[place>>6%uint32(len(f.begins))]>>(place&63)&1 == 0 {
			continue
		}
		if words := f.words[key&0xFFFFFF]; words != nil {
			return i - 2, words
		}
	}
	return -1, nil
}
