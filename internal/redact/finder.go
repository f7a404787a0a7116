package redact

import (
	"maps"
	"slices"
	"strings"
	"sync"
)

// word is the beginning of a kind of secret, or a text near one.
type word struct {
	text string
	// fold ignores case.
	fold bool
	// likely rules out most places at a glance, so that a text without secrets need
	// not be decoded; nil rules out none.
	likely func(text string, at int) bool
	// secret returns the place of the secret, if there is one, given the place of
	// the word.
	secret func(r *scanner, at, end int) span
}

func (w word) standsAt(text string, at int) bool {
	if len(text)-at < len(w.text) {
		return false
	}
	there := text[at : at+len(w.text)]
	return (there == w.text || w.fold && strings.EqualFold(there, w.text)) && (w.likely == nil || w.likely(text, at))
}

// beginsKey reports whether a key can begin at a place: not within a word, other than
// behind an underscore.
func beginsKey(text string, at int) bool {
	return at == 0 || text[at-1] == '_' || !wordBytes[text[at-1]]
}

// finder finds the words in a text in one pass. It looks up three bytes, in lower
// case, and those only where a word begins with the first two of them.
type finder struct {
	begins [1 << 16]bool     // by the first two bytes of a word
	words  map[uint32][]word // by the first three bytes
}

func newFinder(lists ...[]word) *finder {
	return new(finder).with(lists...)
}

// with returns a finder for further words, too.
func (f *finder) with(lists ...[]word) *finder {
	made := &finder{begins: f.begins, words: maps.Clone(f.words)}
	if made.words == nil {
		made.words = map[uint32][]word{}
	}
	for _, each := range slices.Concat(lists...) {
		key := triple(each.text[0], each.text[1], each.text[2])
		made.begins[key>>8] = true
		made.words[key] = append(slices.Clip(made.words[key]), each) // f keeps its own list
	}
	return made
}

// The finders without values are shared by all redactors.
var (
	everything = sync.OnceValue(func() *finder {
		return newFinder(shapes(credentials, userInfo, privateKey), services(), assignments(assigned))
	})
	literals = sync.OnceValue(func() *finder {
		return newFinder(shapes(likelyCredentials, likelyUserInfo, likelyPrivateKey), services(), assignments(literal))
	})
	nothing = sync.OnceValue(func() *finder { return newFinder() })
)

// lower is the bit that makes a letter lower case. It changes other bytes too, in
// the text and in the words alike.
const lower = 0x20

func triple(a, b, c byte) uint32 {
	return uint32(a|lower)<<16 | uint32(b|lower)<<8 | uint32(c|lower)
}

// next returns the first place from at where a word may stand, and the words
// that may stand there; -1 if there is none.
func (f *finder) next(text string, at int) (int, []word) {
	for ; at+shortest <= len(text); at++ {
		if key := triple(text[at], text[at+1], text[at+2]); f.begins[key>>8] {
			if words := f.words[key]; words != nil {
				return at, words
			}
		}
	}
	return -1, nil
}
