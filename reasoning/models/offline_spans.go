package models

import (
	"cmp"
	"slices"
	"strings"
)

// span is quoted as a whole: a declaration with the comment above it and the best
// lines below, or a line of text.
type span struct {
	path  string
	lines []quoted
	// name is what the span declares, at nameLine; empty for text.
	name     string
	nameLine int
	score    float64
}

// quoted is a line of a file.
type quoted struct {
	number int
	text   string
}

// Bounds of one span.
const (
	maxComment = 10
	maxBody    = 25
	maxTelling = 3
)

// repeated is how much a word counts when it is repeated.
const repeated = 0.3

// spans returns what is worth quoting, the best first, each declaration once.
func (p *planner) spans() []span {
	var all []span
	for _, each := range p.found.reads {
		for i := range each.lines {
			if s, ok := p.spanAt(each, i); ok {
				all = append(all, s)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b span) int {
		return cmp.Or(cmp.Compare(b.score, a.score), strings.Compare(a.path, b.path), a.lines[0].number-b.lines[0].number)
	})
	return distinct(all)
}

// distinct removes spans that share a line with a better one.
func distinct(all []span) []span {
	type at struct {
		path   string
		number int
	}
	taken := map[at]bool{}
	var kept []span
	for _, s := range all {
		if slices.ContainsFunc(s.lines, func(q quoted) bool { return taken[at{s.path, q.number}] }) {
			continue
		}
		for _, q := range s.lines {
			taken[at{s.path, q.number}] = true
		}
		kept = append(kept, s)
	}
	return kept
}

// spanAt returns the span of a line that declares something, or of a line of
// text that holds words of the goal.
func (p *planner) spanAt(r reading, i int) (span, bool) {
	match := declaration().FindStringSubmatch(r.lines[i])
	if match == nil {
		return p.textAt(r, i)
	}
	s := span{path: r.path, name: match[1], nameLine: r.start + i}
	for j := commentAbove(r.lines, i); j <= i; j++ {
		s.lines = append(s.lines, quoted{r.start + j, r.lines[j]})
	}
	s.score = 1.5 * p.weigh(textOf(s.lines))
	for _, q := range s.lines { // a word that a comment repeats counts again
		s.score += repeated * p.weigh(q.text)
	}
	var body []quoted
	if !isPackage(r.lines[i]) {
		body = p.tellingLines(r, i+1)
	}
	s.score += p.weigh(textOf(body)) / 2
	if s.score == 0 || isPackage(r.lines[i]) && len(s.lines) == 1 {
		return span{}, false
	}
	if p.followed(s.name) {
		s.score += definition
	}
	s.lines = append(s.lines, body...)
	s.score = (s.score + p.weigh(r.path)/2) * standing(r.path)
	return s, true
}

// isPackage says whether a line names a package: only the comment above it counts.
func isPackage(line string) bool {
	return strings.HasPrefix(line, "package ") || strings.HasPrefix(line, "module ")
}

func (p *planner) textAt(r reading, i int) (span, bool) {
	line := strings.TrimSpace(r.lines[i])
	score := p.weigh(line) * standing(r.path)
	if score == 0 || len(line) < 8 || p.repeatsGoal(line) {
		return span{}, false
	}
	return span{path: r.path, lines: []quoted{{r.start + i, r.lines[i]}}, score: score}, true
}

// commentAbove returns where the comment above a line begins.
func commentAbove(lines []string, at int) int {
	first := at
	for first > 0 && at-first < maxComment && isComment(lines[first-1]) {
		first--
	}
	return first
}

func isComment(line string) bool {
	line = strings.TrimSpace(line)
	return slices.ContainsFunc([]string{"//", "#", "/*", "*", `"""`, "--"}, func(mark string) bool { return strings.HasPrefix(line, mark) })
}

// tellingLines are the lines of a body with most words of the goal, in their order.
func (p *planner) tellingLines(r reading, from int) []quoted {
	var lines []quoted
	for j := from; j < len(r.lines) && j < from+maxBody && !declaration().MatchString(r.lines[j]) && r.lines[j] != "}"; j++ {
		if p.weigh(r.lines[j]) > 0 {
			lines = append(lines, quoted{r.start + j, r.lines[j]})
		}
	}
	slices.SortStableFunc(lines, func(a, b quoted) int { return cmp.Compare(p.weigh(b.text), p.weigh(a.text)) })
	lines = lines[:min(len(lines), maxTelling)]
	slices.SortFunc(lines, func(a, b quoted) int { return a.number - b.number })
	return lines
}

func textOf(lines []quoted) string {
	var out strings.Builder
	for _, q := range lines {
		out.WriteString(q.text + "\n")
	}
	return out.String()
}
