package redact

import (
	"maps"
	"slices"
	"strings"
	"sync"
)

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
// place is looked up in a few kilobytes, by the next four bytes.
type finder struct {
	begins [1 << (hashBits - 6)]uint64
	words  map[uint32][]word // by their first three bytes
}

// hashBits is the logarithm of the size of the table in bits.
const hashBits = 16

func newFinder(lists ...[]word) *finder {
	return new(finder).with(lists...)
}

// with returns a finder that finds further words, too.
func (f *finder) with(lists ...[]word) *finder {
	made := &finder{begins: f.begins, words: maps.Clone(f.words)}
	if made.words == nil {
		made.words = map[uint32][]word{}
	}
	for _, list := range lists {
		for _, each := range list {
			key := triple(each.text[0], each.text[1], each.text[2])
			made.words[key] = append(slices.Clip(made.words[key]), each) // the other finder keeps its own
			made.mark(key<<8, each.text[shortest:])
		}
	}
	return made
}

// mark has a word looked for where its first three bytes stand, and the first of
// the rest; anything may follow a word without a rest.
func (f *finder) mark(key uint32, rest string) {
	for c := range 256 {
		if rest == "" || byte(c)|lower == rest[0]|lower {
			place := hash(key | uint32(byte(c)|lower))
			f.begins[place>>6] |= 1 << (place & 63)
		}
	}
}

// The finders without values are the same for every redactor.
var (
	everything = sync.OnceValue(func() *finder { return newFinder(shapes(), services(), assignments(assigned)) })
	literals   = sync.OnceValue(func() *finder { return newFinder(shapes(), services(), assignments(literal)) })
)

// none says whether there is nothing to find.
func (f *finder) none() bool { return len(f.words) == 0 }

// lower makes a letter small; other bytes may change as well, in the same way
// wherever they stand.
const lower = 0x20

func triple(a, b, c byte) uint32 {
	return uint32(a|lower)<<16 | uint32(b|lower)<<8 | uint32(c|lower)
}

// hash spreads four bytes over the table (Fibonacci hashing).
func hash(four uint32) uint32 { return four * 2654435769 >> (32 - hashBits) }

// next returns the first place from at where a word may stand, and the words
// that may; -1 where there is none.
func (f *finder) next(text string, at int) (int, []word) {
	if len(text)-at < shortest {
		return -1, nil
	}
	key := triple(text[at], text[at+1], text[at+2])
	for i := at + shortest; i <= len(text); i++ {
		following := uint32(lower) // behind the end
		if i < len(text) {
			following = uint32(text[i] | lower)
		}
		key = key<<8 | following
		if place := hash(key); f.begins[place>>6%uint32(len(f.begins))]>>(place&63)&1 == 0 {
			continue
		}
		if words := f.words[key>>8]; words != nil {
			return i - shortest, words
		}
	}
	return -1, nil
}
