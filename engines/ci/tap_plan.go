package ci

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"savant/internal/pattern"
)

// tapPlan is what one document of TAP, or one of its subtests, said that it
// would run, and what it ran. A document without a plan is taken as it comes.
type tapPlan struct {
	planned bool
	length  int // of the plan 1..length
	results int // the points that came
	next    int // the number of a point that has none, less one
	// seen are the numbers of the points, in the order they came.
	seen []span
}

// span is a range of numbers, both ends included.
type span struct{ from, to int }

var (
	tapPlanLine = pattern.Lazy(`^( *)1\.\.(\d+)\s*(?:#.*)?$`)
	tapVersion  = pattern.Lazy(`(?i)^TAP version \d+\s*$`)
)

// maxPlan bounds the numbers of points, so that they can be counted on.
const maxPlan = 1 << 30

// maxSpans bounds how many gaps a failure names.
const maxSpans = 8

func tapNumber(text string) int {
	number, err := strconv.Atoi(text)
	if err != nil || number > maxPlan {
		return maxPlan
	}
	return number
}

// result counts a point; its number may be left out.
func (p *tapPlan) result(number string) {
	p.results++
	p.next++
	if number != "" {
		p.next = tapNumber(number)
	}
	if last := len(p.seen) - 1; last >= 0 && p.seen[last].to+1 == p.next {
		p.seen[last].to = p.next
		return
	}
	p.seen = append(p.seen, span{p.next, p.next})
}

// complete says whether all that was planned came, so that a point of number 1
// is the first of another document: outputs of several programs are often one
// after the other.
func (p *tapPlan) complete() bool { return p.planned && p.results > 0 && p.results >= p.length }

// failures name what keeps results from being those of the plan, by number.
func (p *tapPlan) failures() []string {
	if !p.planned {
		return nil
	}
	slices.SortFunc(p.seen, func(a, b span) int { return a.from - b.from })
	var missing, beyond []span
	from := 1
	for _, each := range p.seen {
		missing = appendSpan(missing, from, min(each.from-1, p.length))
		beyond = appendSpan(beyond, max(each.from, p.length+1), each.to)
		from = max(from, each.to+1)
	}
	missing = appendSpan(missing, from, p.length)
	var said []string
	if len(missing) > 0 {
		said = append(said, fmt.Sprintf("no result of %s of the plan 1..%d", numbers(missing), p.length))
	}
	switch {
	case len(beyond) > 0:
		said = append(said, fmt.Sprintf("%s beyond the plan 1..%d", numbers(beyond), p.length))
	case p.results > p.length:
		said = append(said, fmt.Sprintf("%d results for the plan 1..%d", p.results, p.length))
	}
	return said
}

// appendSpan adds a range, if there is anything in it, to those before.
func appendSpan(spans []span, from, to int) []span {
	if from > to {
		return spans
	}
	return append(spans, span{from, to})
}

// numbers writes ranges for a person: "tests 2, 4 to 6".
func numbers(spans []span) string {
	said := make([]string, 0, maxSpans+1)
	for i, each := range spans {
		if i == maxSpans {
			said = append(said, "…")
			break
		}
		text := strconv.Itoa(each.from)
		if each.to > each.from {
			text += " to " + strconv.Itoa(each.to)
		}
		said = append(said, text)
	}
	word := "tests "
	if len(spans) == 1 && spans[0].from == spans[0].to {
		word = "test "
	}
	return word + strings.Join(said, ", ")
}
