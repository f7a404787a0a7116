package index

import (
	"bytes"
	"strings"
)

// A file is indexed as the set of its terms. The index only answers which files
// have a term; everything else is read from the file. A mark before a term says
// more about it.
const (
	markDefined  = ':' // the file defines a name that has the term
	markPath     = '/' // the file's path has the term
	markFrequent = '+' // the term stands in the file often
)

// often is how many times a frequent term is in a file, at least.
const often = 5

// reader makes the terms of one file.
type reader struct {
	terms map[string]int // and how often each is in the text
	marks map[string]bool
	fold  []byte
}

// termsOf returns the terms of a file, separated by spaces, and the number of its
// words.
func termsOf(path string, text []byte, language string) (terms string, words int) {
	r := &reader{terms: map[string]int{}, marks: map[string]bool{}}
	written := map[string]int{} // words as they are written, and how often
	for word := range eachWord(text) {
		words++
		if word.end-word.start <= maxWord {
			written[string(text[word.start:word.end])]++
		}
	}
	for word, times := range written {
		r.eachTerm([]byte(word), func(term []byte) { r.terms[string(term)] += times })
	}
	r.definitions(text, language)
	r.marked(markPath, []byte(path))
	return r.join(), words
}

// eachTerm yields a word in lower case, and its parts where it has several.
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

// marked adds the terms of a text under a mark.
func (r *reader) marked(mark byte, text []byte) {
	for word := range eachWord(text) {
		if word.end-word.start <= maxWord {
			r.eachTerm(text[word.start:word.end], func(term []byte) { r.marks[string(mark)+string(term)] = true })
		}
	}
}

func (r *reader) join() string {
	var out strings.Builder
	for term, times := range r.terms {
		out.WriteString(term + " ")
		if times >= often {
			out.WriteString(string(markFrequent) + term + " ")
		}
	}
	for term := range r.marks {
		out.WriteString(term + " ")
	}
	return out.String()
}
