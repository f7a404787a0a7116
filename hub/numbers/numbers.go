// Package numbers counts runs: by name, by outcome and by day, and lays out the bars of a
// chart of days.
package numbers

import (
	"cmp"
	"slices"
	"time"
)

// Run is what is counted of one run.
type Run struct {
	Name, Outcome string
	Began, Ended  time.Time
	Ends          bool // it has ended, so its time counts
	Refused       int  // answers and calls that were refused
	Tokens        int
	Cost          float64
}

// Outcome is how many runs have a status.
type Outcome struct {
	Status string
	Count  int
}

// Row has the numbers of all runs of a name. Took is the median time of those that ended.
type Row struct {
	Name                  string
	Runs, Refused, Tokens int
	Cost                  float64
	Outcomes              []Outcome
	Took                  time.Duration
}

// Rows counts runs by name; the name with the most runs is first.
func Rows(runs []Run) (out []Row) {
	byName, took := map[string]*Row{}, map[string][]time.Duration{}
	outcomes := map[[2]string]int{}
	for _, each := range runs {
		row := byName[each.Name]
		if row == nil {
			row = &Row{Name: each.Name}
			byName[each.Name] = row
		}
		row.Runs++
		row.Refused += each.Refused
		row.Tokens += each.Tokens
		row.Cost += each.Cost
		outcomes[[2]string{each.Name, each.Outcome}]++
		if each.Ends {
			took[each.Name] = append(took[each.Name], each.Ended.Sub(each.Began))
		}
	}
	for name, count := range outcomes {
		byName[name[0]].Outcomes = append(byName[name[0]].Outcomes, Outcome{name[1], count})
	}
	for name, row := range byName {
		row.Took = median(took[name])
		slices.SortFunc(row.Outcomes, func(a, b Outcome) int { return cmp.Or(b.Count-a.Count, cmp.Compare(a.Status, b.Status)) })
		out = append(out, *row)
	}
	slices.SortFunc(out, func(a, b Row) int { return cmp.Or(b.Runs-a.Runs, cmp.Compare(a.Name, b.Name)) })
	return out
}

func median(times []time.Duration) time.Duration {
	if len(times) == 0 {
		return 0
	}
	slices.Sort(times)
	return times[len(times)/2]
}

// Step has the numbers of a step in all runs that were read.
type Step struct {
	Workflow, Step string
	Answers        int
	Refused        int
	Took           time.Duration // the longest
}

// Add counts an answer to a step.
func (s *Step) Add(refused bool, took time.Duration) {
	s.Answers++
	if refused {
		s.Refused++
	}
	s.Took = max(s.Took, took)
}

// The size of a chart, and of the gap between two bars.
const (
	ChartWidth  = 560
	ChartHeight = 120
	gap         = 4
)

// Bar is one day of a chart.
type Bar struct {
	Day                 string // 2026-01-02
	Value               float64
	X, Y, Width, Height int
}

// Days lays out a value of runs over the days that end with now: each bar is the sum of
// those that changed last on that day, in UTC.
func Days(runs []Run, days int, now time.Time, value func(Run) float64) (bars []Bar, top float64) {
	sums := map[string]float64{}
	for _, each := range runs {
		sums[each.Ended.UTC().Format(time.DateOnly)] += value(each)
	}
	for i := range days {
		day := now.UTC().AddDate(0, 0, i-days+1).Format(time.DateOnly)
		width := ChartWidth/days - gap
		bars = append(bars, Bar{Day: day, Value: sums[day], X: i * (width + gap), Width: width})
		top = max(top, sums[day])
	}
	for i := range bars {
		if top > 0 && bars[i].Value > 0 {
			bars[i].Height = max(2, int(bars[i].Value/top*ChartHeight))
		}
		bars[i].Y = ChartHeight - bars[i].Height
	}
	return bars, top
}
