package graph

import (
	"cmp"
	"math"
	"slices"
)

// sweeps is how often the rows are ordered and moved, down and up.
const sweeps = 8

// order sorts each row by the positions of its neighbours in the previous row, down and
// up, and keeps the order with the fewest crossings.
func (l *layout) order() {
	best, fewest := l.copied(), l.crossings()
	for sweep := 0; sweep < sweeps && fewest > 0; sweep++ {
		if sweep%2 == 0 {
			for row := 1; row < len(l.rows); row++ {
				l.sort(row, func(p vertex) []int { return p.above })
			}
		} else {
			for row := len(l.rows) - 2; row >= 0; row-- {
				l.sort(row, func(p vertex) []int { return p.below })
			}
		}
		if crossings := l.crossings(); crossings < fewest {
			best, fewest = l.copied(), crossings
		}
	}
	l.rows = best
	l.number()
}

func (l *layout) copied() [][]int {
	rows := make([][]int, len(l.rows))
	for i, row := range l.rows {
		rows[i] = slices.Clone(row)
	}
	return rows
}

// sort orders a row by the mean of the neighbours' positions. A place without
// neighbours keeps its position.
func (l *layout) sort(row int, neighbours func(vertex) []int) {
	wanted := make(map[int]float64, len(l.rows[row]))
	for at, i := range l.rows[row] {
		wanted[i] = float64(at)
		if near := neighbours(l.nodes[i]); len(near) > 0 {
			sum := 0
			for _, each := range near {
				sum += l.nodes[each].at
			}
			wanted[i] = float64(sum) / float64(len(near))
		}
	}
	slices.SortStableFunc(l.rows[row], func(a, b int) int { return cmp.Compare(wanted[a], wanted[b]) })
	for at, i := range l.rows[row] {
		l.nodes[i].at = at
	}
}

// crossings counts how often edges cross: for each row, the pairs of edges to the next
// one that are in another order there.
func (l *layout) crossings() int {
	count := 0
	for row := 0; row+1 < len(l.rows); row++ {
		var ends []int
		for _, i := range l.rows[row] {
			first := len(ends)
			for _, to := range l.nodes[i].below {
				ends = append(ends, l.nodes[to].at)
			}
			slices.Sort(ends[first:])
		}
		count += inversions(ends, len(l.rows[row+1]))
	}
	return count
}

// inversions counts the pairs of numbers below most of which the first is the larger.
func inversions(numbers []int, most int) int {
	counts, sum := make([]int, most+1), 0 // a Fenwick tree
	for seen, number := range numbers {
		notLarger := 0
		for at := number + 1; at > 0; at -= at & -at {
			notLarger += counts[at]
		}
		sum += seen - notLarger
		for at := number + 1; at <= most; at += at & -at {
			counts[at]++
		}
	}
	return sum
}

// align moves each row to its neighbours, down and up, so that edges run straight.
func (l *layout) align() {
	for row := range l.rows {
		l.position(row, func(vertex) []int { return nil })
	}
	for range sweeps / 2 {
		for row := 1; row < len(l.rows); row++ {
			l.position(row, func(p vertex) []int { return p.above })
		}
		for row := len(l.rows) - 2; row >= 0; row-- {
			l.position(row, func(p vertex) []int { return p.below })
		}
	}
	leftmost := math.Inf(1)
	for _, each := range l.nodes {
		leftmost = min(leftmost, each.x-float64(each.Width)/2)
	}
	shift := margin - math.Floor(leftmost)
	for i := range l.nodes {
		l.nodes[i].x += shift
	}
}

// left is where a place begins, on whole pixels.
func (l *layout) left(p vertex) int { return int(math.Floor(p.x - float64(p.Width)/2)) }

// group is a run of neighbouring places without free space between them; x is the best
// position of its first place for the whole group.
type group struct {
	x, weight float64
	count     int
}

// position moves the places of a row as near to their neighbours as the order and the
// gaps allow: it minimises the sum of squared distances (isotonic regression). Bends
// have a small weight, so that long edges make room for nodes.
func (l *layout) position(row int, neighbours func(vertex) []int) {
	var groups []group
	offset := 0.0 // of a place from the first of the row, without free space between them
	offsets := make([]float64, len(l.rows[row]))
	for at, i := range l.rows[row] {
		p := &l.nodes[i]
		if at > 0 {
			before := l.nodes[l.rows[row][at-1]]
			offset += float64(before.Width+p.Width)/2 + l.gap(before, *p)
		}
		offsets[at] = offset
		wanted, weight := p.x, 1000.0
		if near := neighbours(*p); len(near) > 0 {
			wanted = l.mean(near)
		}
		if p.bend {
			weight = 1
		}
		groups = append(groups, group{wanted - offset, weight, 1})
		for n := len(groups); n > 1 && groups[n-2].x > groups[n-1].x; n-- {
			groups[n-2] = groups[n-2].joined(groups[n-1])
			groups = groups[:n-1]
		}
	}
	at := 0
	for _, each := range groups {
		for range each.count {
			l.nodes[l.rows[row][at]].x = each.x + offsets[at]
			at++
		}
	}
}

func (g group) joined(other group) group {
	weight := g.weight + other.weight
	return group{(g.x*g.weight + other.x*other.weight) / weight, weight, g.count + other.count}
}

func (l *layout) gap(a, b vertex) float64 {
	if a.bend || b.bend {
		return columnGap / 2
	}
	return columnGap
}

// mean is the mean position of places, without the bends if there is a node.
func (l *layout) mean(places []int) float64 {
	sum, weight := 0.0, 0.0
	nodes := slices.ContainsFunc(places, func(i int) bool { return !l.nodes[i].bend })
	for _, each := range places {
		if nodes && l.nodes[each].bend {
			continue
		}
		sum, weight = sum+l.nodes[each].x, weight+1
	}
	return sum / weight
}
