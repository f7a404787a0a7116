package ci

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"savant/internal/pattern"
)

// tapPlan compares the plan of a TAP document or subtest with its points. Without a
// plan any number of points is valid.
type tapPlan struct {
	planned bool
	length  int          // of the plan 1..length
	results int          // number of points so far
	last    int          // the number of the last point
	seen    map[int]bool // the numbers of all points
}

var (
	tapPlanLine = pattern.Lazy(`^( *)1\.\.(\d+)\s*(?:#.*)?$`)
	tapVersion  = pattern.Lazy(`(?i)^TAP version \d+\s*$`)
)

// maxPlan is the maximum number of a point.
const maxPlan = 1 << 30

// maxNumbers is how many numbers a failure lists.
const maxNumbers = 8

func tapNumber(text string) int {
	number, err := strconv.Atoi(text)
	if err != nil || number > maxPlan {
		return maxPlan
	}
	return number
}

// result counts a point; its number is optional.
func (p *tapPlan) result(number string) {
	p.results++
	p.last++
	if number != "" {
		p.last = tapNumber(number)
	}
	if p.seen == nil {
		p.seen = map[int]bool{}
	}
	p.seen[p.last] = true
}

// complete reports whether all planned points have come. A point with number 1 then
// begins another document: the outputs of several programs are often concatenated.
func (p *tapPlan) complete() bool { return p.planned && p.results > 0 && p.results >= p.length }

// failures lists the differences between points and plan.
func (p *tapPlan) failures() []string {
	if !p.planned {
		return nil
	}
	var missing []int
	for number := 1; number <= p.length && len(missing) <= maxNumbers; number++ {
		if !p.seen[number] {
			missing = append(missing, number)
		}
	}
	beyond := slices.DeleteFunc(slices.Sorted(maps.Keys(p.seen)), func(number int) bool { return number <= p.length })
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

// numbers formats test numbers: "tests 2, 4, 5".
func numbers(of []int) string {
	if len(of) == 1 {
		return fmt.Sprintf("test %d", of[0])
	}
	var said []string
	for _, each := range of[:min(len(of), maxNumbers)] {
		said = append(said, strconv.Itoa(each))
	}
	if len(of) > maxNumbers {
		said = append(said, "…")
	}
	return "tests " + strings.Join(said, ", ")
}
