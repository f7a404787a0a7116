// Package graph computes layered layouts: each node is below its predecessors, with few
// crossings and no overlaps. It is pure: the same graph gives the same drawing.
package graph

// The space between nodes of a row, between rows, and around the drawing.
const (
	columnGap = 24
	rowGap    = 40
	margin    = 8
)

// Size is the size of a node.
type Size struct{ Width, Height int }

// Edge means that node To comes after node From. A barrier holds it there for another reason
// than what it reads.
type Edge struct {
	From, To int
	Barrier  bool
}

// Box is the place of a node; X and Y are its upper left corner.
type Box struct{ X, Y, Width, Height int }

// Point is a point of a drawing.
type Point struct{ X, Y int }

// Drawing is a graph with coordinates. Its parts are in the order of the input.
type Drawing struct {
	Width, Height int
	Nodes         []Box
	// Edges are the points of each edge, from the bottom of its upper node to the top
	// of its lower one. The segment between an even point and the next is straight.
	Edges [][]Point
}

// Layout lays out a graph, which has no cycles.
func Layout(nodes []Size, edges []Edge) Drawing {
	l := &layout{edges: edges}
	for _, size := range nodes {
		l.nodes = append(l.nodes, vertex{Size: size})
	}
	l.rank()
	l.split()
	l.fillRows()
	l.order()
	l.align()
	return l.drawing(len(nodes))
}

// layout is a layout in progress.
type layout struct {
	nodes []vertex // those of the graph, then the bends of long edges
	edges []Edge
	bends [][]int // of each edge, the places between its nodes
	rows  [][]int // the places of each row, from left to right
}

// vertex is a node, or the bend of an edge in a row that it crosses.
type vertex struct {
	Size
	row          int
	at           int // its index in its row
	x            float64
	bend         bool
	above, below []int
}

// rank puts each node into the row after its last predecessor.
func (l *layout) rank() {
	waits, below := make([]int, len(l.nodes)), make([][]int, len(l.nodes))
	for _, edge := range l.edges {
		waits[edge.To]++
		below[edge.From] = append(below[edge.From], edge.To)
	}
	var free []int
	for i, count := range waits {
		if count == 0 {
			free = append(free, i)
		}
	}
	for done := 0; done < len(free); done++ {
		i := free[done]
		for _, to := range below[i] {
			l.nodes[to].row = max(l.nodes[to].row, l.nodes[i].row+1)
			if waits[to]--; waits[to] == 0 {
				free = append(free, to)
			}
		}
	}
	if len(free) < len(l.nodes) {
		panic("graph: nodes wait for each other")
	}
}

// maxPlaces is the maximum number of nodes and bends in a drawing.
const maxPlaces = 20_000

// split gives long edges a bend in each row between, so that they avoid the nodes
// there. Beyond maxPlaces an edge runs behind nodes.
func (l *layout) split() {
	l.bends = make([][]int, len(l.edges))
	for i, edge := range l.edges {
		from := edge.From
		first, last := l.nodes[edge.From].row+1, l.nodes[edge.To].row
		if last > first && len(l.nodes)+last-first > maxPlaces {
			continue
		}
		for row := first; row < last; row++ {
			bend := len(l.nodes)
			l.nodes = append(l.nodes, vertex{row: row, bend: true})
			l.bends[i] = append(l.bends[i], bend)
			l.connect(from, bend)
			from = bend
		}
		l.connect(from, edge.To)
	}
}

func (l *layout) connect(from, to int) {
	l.nodes[from].below = append(l.nodes[from].below, to)
	l.nodes[to].above = append(l.nodes[to].above, from)
}

// fillRows puts the places into their rows: connected ones side by side, in the order
// of the graph.
func (l *layout) fillRows() {
	rows := 0
	for _, each := range l.nodes {
		rows = max(rows, each.row+1)
	}
	l.rows = make([][]int, rows)
	seen := make([]bool, len(l.nodes))
	var stack []int
	for first := range l.nodes {
		stack = append(stack, first)
		for len(stack) > 0 {
			i := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			if seen[i] {
				continue
			}
			seen[i] = true
			row := l.nodes[i].row
			l.rows[row] = append(l.rows[row], i)
			for k := len(l.nodes[i].below) - 1; k >= 0; k-- { // the first comes off the stack first
				stack = append(stack, l.nodes[i].below[k])
			}
		}
	}
	l.number()
}

func (l *layout) number() {
	for _, row := range l.rows {
		for at, i := range row {
			l.nodes[i].at = at
		}
	}
}

// drawing returns the result; the first nodes are those of the graph.
func (l *layout) drawing(nodes int) Drawing {
	var out Drawing
	tops, bottoms := make([]int, len(l.rows)), make([]int, len(l.rows))
	y := margin
	for i, row := range l.rows {
		tops[i], bottoms[i] = y, y
		for _, each := range row {
			bottoms[i] = max(bottoms[i], y+l.nodes[each].Height)
		}
		y = bottoms[i] + rowGap
	}
	out.Height = max(y-rowGap, 0) + margin
	for _, each := range l.nodes[:nodes] {
		box := Box{X: l.left(each), Width: each.Width, Height: each.Height}
		box.Y = tops[each.row] + (bottoms[each.row]-tops[each.row]-each.Height)/2
		out.Nodes = append(out.Nodes, box)
	}
	for _, each := range l.nodes {
		out.Width = max(out.Width, l.left(each)+each.Width+margin)
	}
	for i, edge := range l.edges {
		from, to := out.Nodes[edge.From], out.Nodes[edge.To]
		points := []Point{{from.X + from.Width/2, from.Y + from.Height}, {from.X + from.Width/2, bottoms[l.nodes[edge.From].row]}}
		for _, bend := range l.bends[i] {
			each := l.nodes[bend]
			points = append(points, Point{l.left(each), tops[each.row]}, Point{l.left(each), bottoms[each.row]})
		}
		middle := to.X + to.Width/2
		out.Edges = append(out.Edges, append(points, Point{middle, tops[l.nodes[edge.To].row]}, Point{middle, to.Y}))
	}
	return out
}
