package index

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"savant/engines/repo/files"
	"savant/fault"
)

// finding is what one file has of a query, as it is on the disk now.
type finding struct {
	file    *file
	found   []bool    // leaves in the text or the path
	times   []float64 // how often each is in the text; another form counts half
	defined []bool    // leaves in the name of a definition
	inPath  []bool
	line    int // the best line, from 1
	snippet string
	score   float64
}

// examine reads what a text has of the leaves; weights say what each is worth
// on a line.
func examine(f *file, raw []byte, leaves []leaf, weights []float64) finding {
	made := finding{file: f, found: make([]bool, len(leaves)), times: make([]float64, len(leaves)),
		defined: make([]bool, len(leaves)), inPath: make([]bool, len(leaves))}
	in, name := newText(raw), newText([]byte(f.path))
	lines := newLines(raw, files.Language(f.path), leaves)
	for i := range leaves {
		places, exact := leaves[i].places(in)
		inName, _ := leaves[i].places(name)
		made.times[i] = float64(exact) + float64(len(places)-exact)/2
		made.inPath[i] = len(inName) > 0 || leaves[i].shortIn(name)
		made.found[i] = len(places) > 0 || made.inPath[i]
		for _, at := range places {
			made.defined[i] = lines.mark(at, i, weights[i]) || made.defined[i]
		}
	}
	made.line, made.snippet = lines.best()
	return made
}

// lines collects what stands on each line of a text.
type lines struct {
	raw      []byte
	language string
	leaves   []leaf
	marked   map[int]*mark // by where the line begins
}

type mark struct {
	leaves uint64 // a bit for each leaf on the line
	score  float64
	first  int // where the first leaf is
	name   span
	named  bool
}

func newLines(raw []byte, language string, leaves []leaf) *lines {
	return &lines{raw: raw, language: language, leaves: leaves, marked: map[int]*mark{}}
}

// definitionFactor is how much better a line is for a leaf it defines.
const definitionFactor = 2.5

// mark notes a leaf at a place, and says whether its line defines a name that
// has it.
func (l *lines) mark(at, leaf int, weight float64) (defines bool) {
	start := bytes.LastIndexByte(l.raw[:at], '\n') + 1
	m := l.marked[start]
	if m == nil {
		m = &mark{first: at}
		m.name, m.named = definition(l.raw[start:l.end(start)], l.language)
		l.marked[start] = m
	}
	defines = m.named && at >= start+m.name.start && at < start+m.name.end
	if m.leaves&(1<<leaf) == 0 {
		m.leaves |= 1 << leaf
		m.first = min(m.first, at)
		if defines {
			weight *= definitionFactor
		}
		m.score += weight
	}
	return defines
}

func (l *lines) end(start int) int {
	if length := bytes.IndexByte(l.raw[start:], '\n'); length >= 0 {
		return start + length
	}
	return len(l.raw)
}

// best returns the line with the most, the first of equals: its number and its
// text. Where no line has anything it is the first that is not blank.
func (l *lines) best() (number int, snippet string) {
	start, best := -1, &mark{}
	for at, m := range l.marked {
		if start < 0 || m.score > best.score || m.score == best.score && at < start {
			start, best = at, m
		}
	}
	if start < 0 {
		start = len(l.raw) - len(bytes.TrimLeft(l.raw, " \t\r\n"))
		start = bytes.LastIndexByte(l.raw[:start], '\n') + 1
		best.first = start
	}
	line := l.raw[start:l.end(start)]
	return bytes.Count(l.raw[:start], []byte("\n")) + 1, snippetOf(line, best.first-start)
}

// maxSnippet is the longest snippet, in bytes.
const maxSnippet = 240

// snippetOf returns a line without the space around it, cut around a place
// where it is too long.
func snippetOf(line []byte, at int) string {
	trimmedLine := bytes.TrimSpace(line)
	at -= bytes.Index(line, trimmedLine)
	if len(trimmedLine) <= maxSnippet {
		return strings.ToValidUTF8(string(trimmedLine), "\uFFFD")
	}
	start := max(0, min(at-maxSnippet/4, len(trimmedLine)-maxSnippet))
	for start > 0 && !utf8.RuneStart(trimmedLine[start]) {
		start--
	}
	cut := strings.ToValidUTF8(string(trimmedLine[start:]), "\uFFFD")
	if start > 0 {
		cut = "…" + cut
	}
	return fault.Cut(cut, maxSnippet)
}
