package index

import (
	"bytes"
	"slices"
	"strings"
)

// maxPlaces bounds how many places of one leaf are examined in one file.
const maxPlaces = 200

// maxGap is how many bytes may separate two words of a phrase. It allows for a line
// break, indentation and a comment's prefix.
const maxGap = 40

// text is a file's content, and the same in lower case. Offsets in both agree.
type text struct{ raw, folded []byte }

func newText(raw []byte) text { return text{raw, fold(make([]byte, 0, len(raw)), raw)} }

// places returns where a leaf begins in a text. exact counts those that are the word
// itself, not another form.
func (l *leaf) places(in text) (places []int, exact int) {
	needle := []byte(l.needle())
	for at := 0; len(places) < maxPlaces; {
		next := bytes.Index(in.folded[at:], needle)
		if next < 0 {
			break
		}
		at += next
		if fits, itself := l.fits(in, at); fits {
			places = append(places, at)
			if itself {
				exact++
			}
		}
		at += len(needle)
	}
	return places, exact
}

// shortIn reports whether a part of the path is an abbreviation of the word.
func (l *leaf) shortIn(name text) bool {
	for word := range eachWord(name.raw) {
		for part := range eachPart(name.raw[word.start:word.end]) {
			if slices.Contains(l.short, string(name.folded[word.start+part.start:word.start+part.end])) {
				return true
			}
		}
	}
	return false
}

// needle returns the common prefix of the leaf's forms.
func (l *leaf) needle() string {
	needle := l.parts[0]
	if l.whole != "" && len(l.parts) == 1 {
		needle = l.whole
	}
	for _, form := range l.forms {
		for !strings.HasPrefix(form, needle) {
			needle = needle[:len(needle)-1]
		}
	}
	return needle
}

// fits reports whether the leaf is at a place of the text: as a word, as parts of a
// word, or as a phrase. itself is false for another form.
func (l *leaf) fits(in text, at int) (fits, itself bool) {
	word, ok := wordAround(in.raw, at)
	if !ok || word.end-word.start > maxWord {
		return false, false
	}
	whole := trimmed(in.folded[word.start:word.end])
	if l.whole != "" && bytes.HasPrefix(in.folded[at:], whole) {
		if l.matches(whole, l.whole, true) {
			return true, true
		}
		if l.inForms(whole) {
			return true, false
		}
	}
	part, ok := partAt(in.raw, word, at)
	if !ok {
		return false, false
	}
	if l.phraseAt(in, word, part) {
		return true, true
	}
	return len(l.parts) == 1 && l.inForms(in.folded[part.start:part.end]), false
}

// matches compares a word of a file with a wanted one.
func (l *leaf) matches(found []byte, wanted string, last bool) bool {
	if l.prefix && last {
		return bytes.HasPrefix(found, []byte(wanted))
	}
	return string(found) == wanted
}

func (l *leaf) inForms(found []byte) bool { return slices.Contains(l.forms, string(found)) }

// phraseAt reports whether the leaf's parts follow each other, beginning at a part.
func (l *leaf) phraseAt(in text, word, part span) bool {
	for i, wanted := range l.parts {
		last := i == len(l.parts)-1
		if !l.matches(in.folded[part.start:part.end], wanted, last) {
			return false
		}
		if last {
			return true
		}
		var ok bool
		if word, part, ok = partAfter(in.raw, word, part); !ok {
			return false
		}
	}
	return true
}

// wordAround returns the word around a place.
func wordAround(raw []byte, at int) (span, bool) {
	start := at
	for start > 0 && at-start <= maxWord {
		before := start - 1
		for before > 0 && before > start-4 && raw[before]&0xC0 == 0x80 {
			before--
		}
		if length, alone := wordCharacter(raw, before); length != start-before || alone {
			break
		}
		start = before
	}
	return nextWord(raw, start)
}

// partAt returns the part of a word that begins at a place.
func partAt(raw []byte, word span, at int) (span, bool) {
	for part := range eachPart(raw[word.start:word.end]) {
		if word.start+part.start == at {
			return span{at, word.start + part.end}, true
		}
		if word.start+part.start > at {
			break
		}
	}
	return span{}, false
}

// partAfter returns the next part, in the same word or the next one.
func partAfter(raw []byte, word, part span) (nextOne, nextPartOfIt span, ok bool) {
	for {
		if next, found := nextPart(raw[word.start:word.end], part.end-word.start); found {
			return word, span{word.start + next.start, word.start + next.end}, true
		}
		next, found := nextWord(raw, word.end)
		if !found || next.start-word.end > maxGap || next.end-next.start > maxWord {
			return span{}, span{}, false
		}
		word, part = next, span{next.start, next.start}
	}
}
