package index

import (
	"bytes"
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

// reader makes terms of files, one after the other.
type reader struct {
	words map[string]int // words as they are written, and how often
	terms map[string]int // terms, and how often
	marks map[string]bool
	fold  []byte
	out   []byte
}

func newReader() *reader {
	return &reader{words: map[string]int{}, terms: map[string]int{}, marks: map[string]bool{}}
}

// document returns the terms of a file, separated by spaces, and the number of
// its words. The terms are overwritten by the next call.
func (r *reader) document(path string, text []byte, language string) (terms []byte, words int) {
	r.reset()
	for at := 0; ; {
		word, ok := nextWord(text, at)
		if !ok {
			break
		}
		at = word.end
		words++
		if word.end-word.start <= maxWord {
			r.words[string(text[word.start:word.end])]++
		}
	}
	for word, times := range r.words {
		r.eachTerm([]byte(word), func(term []byte) { r.terms[string(term)] += times })
	}
	r.definitions(text, language)
	r.marked(markPath, []byte(path))
	return r.join(), words
}

// maxKept bounds the words whose memory is kept for the next file.
const maxKept = 20_000

func (r *reader) reset() {
	if len(r.words) > maxKept || len(r.terms) > maxKept {
		*r = *newReader()
		return
	}
	clear(r.words)
	clear(r.terms)
	clear(r.marks)
}

// eachTerm yields a word in lower case, and its parts where it has several.
func (r *reader) eachTerm(word []byte, yield func([]byte)) {
	r.fold = fold(r.fold[:0], word)
	if whole := trimmed(r.fold); len(whole) > 0 {
		yield(whole)
	}
	first, ok := nextPart(word, 0)
	if !ok || first.end-first.start == len(trimmed(word)) {
		return
	}
	for part := first; ok; part, ok = nextPart(word, part.end) {
		yield(r.fold[part.start:part.end])
	}
}

func (r *reader) definitions(text []byte, language string) {
	for len(text) > 0 {
		line := text
		if end := bytes.IndexByte(text, '\n'); end >= 0 {
			line, text = text[:end], text[end+1:]
		} else {
			text = nil
		}
		if name, ok := definition(line, language); ok {
			r.marked(markDefined, line[name.start:name.end])
		}
	}
}

// marked adds the terms of a text under a mark.
func (r *reader) marked(mark byte, text []byte) {
	for at := 0; ; {
		word, ok := nextWord(text, at)
		if !ok {
			return
		}
		at = word.end
		if word.end-word.start > maxWord {
			continue
		}
		r.eachTerm(text[word.start:word.end], func(term []byte) { r.marks[string(mark)+string(term)] = true })
	}
}

func (r *reader) join() []byte {
	r.out = r.out[:0]
	for term, times := range r.terms {
		r.out = append(append(r.out, term...), ' ')
		if times >= often {
			r.out = append(append(append(r.out, markFrequent), term...), ' ')
		}
	}
	for term := range r.marks {
		r.out = append(append(r.out, term...), ' ')
	}
	return r.out
}
