package index

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
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
	lines   *lines
	score   float64
	rows    []Row // the best places, the best first
}

// finding examines a file and makes its rows.
func (s *search) finding(f *file, raw []byte) finding {
	made := examine(f, raw, s.leaves, s.weights)
	made.score = s.score(made)
	for _, at := range made.lines.best(s.perFile) {
		line := raw[at.start:made.lines.end(at.start)]
		made.rows = append(made.rows, Row{Path: f.path, Line: at.number, Snippet: snippetOf(line, at.first-at.start), Score: made.score * at.share})
	}
	made.lines = nil
	return made
}

// examine reads what a text has of the leaves; weights say what each is worth
// on a line.
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

// lines collects what stands on each line of a text.
type lines struct {
	raw      []byte
	language string
	leaves   []leaf
	weights  []float64
	marked   map[int]*mark // by where the line begins
}

type mark struct {
	leaves uint64 // a bit for each leaf on the line
	score  float64
	first  int // where the first leaf is
	name   span
	named  bool
}

func newLines(raw []byte, language string, leaves []leaf, weights []float64) *lines {
	return &lines{raw: raw, language: language, leaves: leaves, weights: weights, marked: map[int]*mark{}}
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

// A line with other words of the query near it is better: a comment and what it is
// about, a heading and the text below.
const (
	linesBefore, linesAfter = 3, 6
	nearFactor              = 0.4
)

// apart is how far from each other the places of one file are, in lines.
const apart = 12

// spot is a line that was found.
type spot struct {
	start, number int // the line: where it begins, and its number from 1
	first         int // where its first leaf is
	leaves        uint64
	score         float64
	share         float64 // score as a part of the best one's
}

// best returns the lines with the most, at most count, the first of equals. Where no
// line has anything it is the first that is not blank.
func (l *lines) best(count int) []spot {
	if len(l.marked) == 0 {
		start := len(l.raw) - len(bytes.TrimLeft(l.raw, " \t\r\n"))
		start = bytes.LastIndexByte(l.raw[:start], '\n') + 1
		return []spot{{start: start, number: l.number(0, 1, start), first: start, share: 1}}
	}
	spots := l.spots()
	slices.SortStableFunc(spots, func(a, b spot) int { return cmp.Compare(b.score, a.score) })
	var best []spot
	for _, each := range spots {
		if len(best) == count {
			break
		}
		if !slices.ContainsFunc(best, func(other spot) bool { return max(other.number-each.number, each.number-other.number) < apart }) {
			each.share = each.score / spots[0].score
			best = append(best, each)
		}
	}
	return best
}

// spots returns the lines with leaves, in the order of the text, each with what the
// lines near it add.
func (l *lines) spots() []spot {
	var spots []spot
	number, from := 1, 0
	for _, start := range slices.Sorted(maps.Keys(l.marked)) {
		m := l.marked[start]
		number, from = l.number(from, number, start), start
		spots = append(spots, spot{start: start, number: number, first: m.first, leaves: m.leaves, score: m.score})
	}
	for i := range spots {
		missing := uint64(0)
		for j := i - 1; j >= 0 && spots[i].number-spots[j].number <= linesBefore; j-- {
			missing |= spots[j].leaves
		}
		for j := i + 1; j < len(spots) && spots[j].number-spots[i].number <= linesAfter; j++ {
			missing |= spots[j].leaves
		}
		for leaf, weight := range l.weights {
			if (missing&^spots[i].leaves)&(1<<leaf) != 0 {
				spots[i].score += nearFactor * weight
			}
		}
	}
	return spots
}

// number returns the number of the line that begins at start; the one that begins at
// from has a number.
func (l *lines) number(from, number, start int) int {
	return number + bytes.Count(l.raw[from:start], []byte("\n"))
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
