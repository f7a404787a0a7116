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

// bytesPerWord estimates how much text adds one new word, to size a map.
const bytesPerWord = 40

// often is how many times a frequent term occurs at least.
const often = 5

// counts says how often each text occurs. Its values are pointers so that counting
// a text again does not allocate, which is the case for most words of a file.
type counts map[string]*int

func (c counts) add(text []byte, times int) {
	if known := c[string(text)]; known != nil {
		*known += times
		return
	}
	first := times
	c[string(text)] = &first
}

// reader makes the terms of one file.
type reader struct {
	terms counts // of the text
	marks map[string]bool
	fold  []byte
}

// termsOf returns the terms of a file, separated by spaces, and the number of its
// words.
func termsOf(path string, text []byte, language string) (terms string, words int) {
	written := make(counts, len(text)/bytesPerWord) // words in their original case
	for word := range eachWord(text) {
		words++
		if word.end-word.start <= maxWord {
			written.add(text[word.start:word.end], 1)
		}
	}
	r := &reader{terms: make(counts, len(written)), marks: map[string]bool{}}
	for word, times := range written {
		r.eachTerm([]byte(word), func(term []byte) { r.terms.add(term, *times) })
	}
	r.definitions(text, language)
	r.marked(markPath, []byte(path))
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
			r.marked(markDefined, line[name.start:name.end])
		}
	}
}

// marked adds the terms of a text with a mark.
func (r *reader) marked(mark byte, text []byte) {
	for word := range eachWord(text) {
		if word.end-word.start <= maxWord {
			r.eachTerm(text[word.start:word.end], func(term []byte) { r.marks[string(mark)+string(term)] = true })
		}
	}
}

func (r *reader) join() string {
	var out strings.Builder
	out.Grow(len(r.terms) * 10)
	for term, times := range r.terms {
		out.WriteString(term)
		out.WriteByte(' ')
		if *times >= often {
			out.WriteByte(markFrequent)
			out.WriteString(term)
			out.WriteByte(' ')
		}
	}
	for term := range r.marks {
		out.WriteString(term)
		out.WriteByte(' ')
	}
	return out.String()
}
