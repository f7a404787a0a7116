package index

import (
	"bytes"
	"cmp"
	"hash/maphash"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"savant/engines/repo/files"
	"savant/fault"
)

// finding is how one file matches a query, by its present content.
type finding struct {
	file    *file
	sum     uint64    // of the text; equal for copies
	found   []bool    // leaves in the text or the path
	times   []float64 // how often each leaf is in the text; another form counts half
	defined []bool    // leaves in the name of a definition
	inPath  []bool
	lines   *lines
	score   float64
	rows    []Row // the best places, best first
}

// finding examines a file and makes its rows.
func (s *search) finding(f *file, raw []byte) finding {
	made := examine(f, raw, s.leaves, s.weights)
	made.score, made.sum = s.score(made), maphash.Bytes(s.seed, raw)
	for _, at := range made.lines.best(s.perFile) {
		line := raw[at.start:made.lines.end(at.start)]
		made.rows = append(made.rows, Row{Path: f.path, Line: at.number, Snippet: snippetOf(line, at.first-at.start), Score: made.score * at.share})
	}
	made.lines = nil
	return made
}

// examine looks for the leaves in a text. A line's score is the sum of the weights
// of its leaves.
func examine(f *file, raw []byte, leaves []leaf, weights []float64) finding {
	made := finding{file: f, found: make([]bool, len(leaves)), times: make([]float64, len(leaves)),
		defined: make([]bool, len(leaves)), inPath: make([]bool, len(leaves))}
	in, name := newText(raw), newText([]byte(f.path))
	lines := newLines(raw, files.Language(f.path), leaves, weights)
	made.lines = lines
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
	return made
}

// lines collects the leaves on each line of a text.
type lines struct {
	raw      []byte
	language string
	leaves   []leaf
	weights  []float64
	marked   map[int]*mark // by the offset of the line
}

type mark struct {
	leaves uint64 // a bit for each leaf on the line
	score  float64
	first  int // offset of the first leaf
	name   span
	named  bool
}

func newLines(raw []byte, language string, leaves []leaf, weights []float64) *lines {
	return &lines{raw: raw, language: language, leaves: leaves, weights: weights, marked: map[int]*mark{}}
}

// definitionFactor multiplies the weight of a leaf on a line that defines it.
const definitionFactor = 2.5

// mark notes a leaf at a place and reports whether the place is in a name that its
// line defines.
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

// Leaves on the lines near a line add to its score, as with a comment and its code,
// or a heading and its text.
const (
	linesBefore, linesAfter = 3, 6
	nearFactor              = 0.4
)

// apart is how many lines the rows of one file are apart, at least.
const apart = 12

// candidateLine is a line with leaves.
type candidateLine struct {
	start, number int // its offset, and its number from 1
	first         int // offset of its first leaf
	leaves        uint64
	score         float64
	share         float64 // its score divided by the best line's
}

// best returns the lines with the highest scores, at most count, earlier lines first
// among equals. If no line has a leaf, it returns the first that is not blank.
func (l *lines) best(count int) []candidateLine {
	if len(l.marked) == 0 {
		start := len(l.raw) - len(bytes.TrimLeft(l.raw, " \t\r\n"))
		start = bytes.LastIndexByte(l.raw[:start], '\n') + 1
		return []candidateLine{{start: start, number: l.number(0, 1, start), first: start, share: 1}}
	}
	candidates := l.candidates()
	slices.SortStableFunc(candidates, func(a, b candidateLine) int { return cmp.Compare(b.score, a.score) })
	var best []candidateLine
	for _, each := range candidates {
		if len(best) == count {
			break
		}
		if !slices.ContainsFunc(best, func(other candidateLine) bool { return max(other.number-each.number, each.number-other.number) < apart }) {
			each.share = each.score / candidates[0].score
			best = append(best, each)
		}
	}
	return best
}

// candidates returns the lines with leaves in the order of the text. A leaf that is only
// on a line nearby adds nearFactor of its weight.
func (l *lines) candidates() []candidateLine {
	var candidates []candidateLine
	number, from := 1, 0
	for _, start := range slices.Sorted(maps.Keys(l.marked)) {
		m := l.marked[start]
		number, from = l.number(from, number, start), start
		candidates = append(candidates, candidateLine{start: start, number: number, first: m.first, leaves: m.leaves, score: m.score})
	}
	for i := range candidates {
		missing := uint64(0)
		for j := i - 1; j >= 0 && candidates[i].number-candidates[j].number <= linesBefore; j-- {
			missing |= candidates[j].leaves
		}
		for j := i + 1; j < len(candidates) && candidates[j].number-candidates[i].number <= linesAfter; j++ {
			missing |= candidates[j].leaves
		}
		for leaf, weight := range l.weights {
			if (missing&^candidates[i].leaves)&(1<<leaf) != 0 {
				candidates[i].score += nearFactor * weight
			}
		}
	}
	return candidates
}

// number returns the number of the line at offset start, given the number of an
// earlier line at offset from.
func (l *lines) number(from, number, start int) int {
	return number + bytes.Count(l.raw[from:start], []byte("\n"))
}

// maxSnippet is the longest snippet, in bytes.
const maxSnippet = 240

// snippetOf returns a line without surrounding space. A long line is cut so that it
// shows the given place.
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
