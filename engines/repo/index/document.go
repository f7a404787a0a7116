package index

import (
	"bytes"
	"strings"
)

// A file is indexed as the set of its terms. The index only says which files have a
// term; everything else is read from the file. A term is stored again with a mark
// before it if the mark's condition holds.
const (
	markDefined  = ':' // the file defines a name that has the term
	markPath     = '/' // the file's path has the term
	markFrequent = '+' // the term occurs in the file often
)

// often is how many times a frequent term occurs at least.
const often = 5

// reader makes the terms of one file after the other.
type reader struct {
	written, terms *counts // words in their original case, and the terms of the text
	marks          *counts
	fold, marking  []byte
}

func newReader() any { return &reader{written: new(counts), terms: new(counts), marks: new(counts)} }

// termsOf returns the terms of a file, separated by spaces, and the number of its
// words.
func (r *reader) termsOf(path string, text []byte, language string) (terms string, words int) {
	for _, each := range []*counts{r.written, r.terms, r.marks} {
		each.reset()
	}
	for at := 0; ; {
		word, ok := nextWord(text, at)
		if !ok {
			break
		}
		words++
		if at = word.end; at-word.start <= maxWord {
			r.written.add(text[word.start:at], 1)
		}
	}
	for i := range r.written.entries {
		times := r.written.entries[i].times
		r.eachTerm(r.written.textAt(i), func(term []byte) { r.terms.add(term, times) })
	}
	r.definitions(text, language)
	r.addMarked(markPath, []byte(path))
	return r.join(), words
}

// eachTerm yields a word in lower case, and its parts if it has several.
func (r *reader) eachTerm(word []byte, yield func([]byte)) {
	r.fold = fold(r.fold[:0], word)
	if whole := trimmed(r.fold); len(whole) > 0 {
		yield(whole)
	}
	for part := range eachPart(word) {
		if part.end-part.start == len(trimmed(word)) {
			return // the only part
		}
		yield(r.fold[part.start:part.end])
	}
}

func (r *reader) definitions(text []byte, language string) {
	for line := range bytes.Lines(text) {
		line = bytes.TrimSuffix(line, []byte("\n"))
		if name, ok := definition(line, language); ok {
			r.addMarked(markDefined, line[name.start:name.end])
		}
	}
}

// addMarked adds the terms of a text with a mark.
func (r *reader) addMarked(mark byte, text []byte) {
	for word := range eachWord(text) {
		if word.end-word.start <= maxWord {
			r.eachTerm(text[word.start:word.end], func(term []byte) {
				r.marking = append(append(r.marking[:0], mark), term...)
				r.marks.add(r.marking, 1)
			})
		}
	}
}

func (r *reader) join() string {
	var out strings.Builder
	out.Grow(len(r.terms.text) + len(r.marks.text) + 2*len(r.terms.entries))
	for i := range r.terms.entries {
		term := r.terms.textAt(i)
		out.Write(term)
		out.WriteByte(' ')
		if r.terms.entries[i].times >= often {
			out.WriteByte(markFrequent)
			out.Write(term)
			out.WriteByte(' ')
		}
	}
	for i := range r.marks.entries {
		out.Write(r.marks.textAt(i))
		out.WriteByte(' ')
	}
	return out.String()
}
