package graph_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"savant/hub/graph"
)

// drawn returns a random acyclic graph and its drawing.
func drawn(t *rapid.T) (edges []graph.Edge, drawing graph.Drawing) {
	var nodes []graph.Size
	for range rapid.IntRange(0, 40).Draw(t, "nodes") {
		nodes = append(nodes, graph.Size{Width: rapid.IntRange(0, 300).Draw(t, "width"), Height: rapid.IntRange(0, 200).Draw(t, "height")})
	}
	if len(nodes) > 1 {
		names := rapid.Permutation(numbers(len(nodes))).Draw(t, "names") // so that edges lead to earlier nodes, too
		for range rapid.IntRange(0, 80).Draw(t, "edges") {
			from := rapid.IntRange(0, len(nodes)-2).Draw(t, "from")
			to := rapid.IntRange(from+1, len(nodes)-1).Draw(t, "to")
			edges = append(edges, graph.Edge{From: names[from], To: names[to]})
		}
	}
	drawing = graph.Layout(nodes, edges)
	require.Equal(t, drawing, graph.Layout(nodes, edges))
	require.Len(t, drawing.Nodes, len(nodes))
	require.Len(t, drawing.Edges, len(edges))
	for i, box := range drawing.Nodes {
		require.Equal(t, nodes[i], graph.Size{Width: box.Width, Height: box.Height})
	}
	return edges, drawing
}

func numbers(count int) []int {
	out := make([]int, count)
	for i := range out {
		out[i] = i
	}
	return out
}

// TestNodesDoNotOverlap also checks that everything is within the drawing.
func TestNodesDoNotOverlap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		_, drawing := drawn(t)
		for i, a := range drawing.Nodes {
			require.True(t, a.X >= 0 && a.Y >= 0 && a.X+a.Width <= drawing.Width && a.Y+a.Height <= drawing.Height, "%v in %v", a, drawing)
			for _, b := range drawing.Nodes[:i] {
				require.True(t, a.X+a.Width < b.X || b.X+b.Width < a.X || a.Y+a.Height < b.Y || b.Y+b.Height < a.Y, "%v %v", a, b)
			}
		}
	})
}

// TestEdgesLeadDown checks that each edge leads down from its first node to its second
// and crosses no other node.
func TestEdgesLeadDown(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		edges, drawing := drawn(t)
		for i, points := range drawing.Edges {
			from, to := drawing.Nodes[edges[i].From], drawing.Nodes[edges[i].To]
			require.Less(t, from.Y+from.Height, to.Y)
			require.Equal(t, graph.Point{X: from.X + from.Width/2, Y: from.Y + from.Height}, points[0])
			require.Equal(t, graph.Point{X: to.X + to.Width/2, Y: to.Y}, points[len(points)-1])
			require.Zero(t, len(points)%2)
			require.True(t, slices.IsSortedFunc(points, func(a, b graph.Point) int { return a.Y - b.Y }), "%v", points)
			for k := 1; k < len(points); k++ {
				a, b := points[k-1], points[k]
				for _, box := range drawing.Nodes {
					if k%2 == 1 { // a straight part
						require.Equal(t, a.X, b.X)
						require.False(t, a.X > box.X && a.X < box.X+box.Width && b.Y > box.Y && a.Y < box.Y+box.Height, "%v %v", points, box)
					} else { // a part between two rows
						require.False(t, b.Y > box.Y && a.Y < box.Y+box.Height, "%v %v", points, box)
					}
				}
			}
		}
	})
}

// TestAChainIsStraight checks that the nodes of a chain are centered below each other,
// whatever their widths.
func TestAChainIsStraight(t *testing.T) {
	drawing := graph.Layout([]graph.Size{{Width: 40, Height: 10}, {Width: 200, Height: 10}, {Width: 80, Height: 10}}, []graph.Edge{{From: 0, To: 1}, {From: 1, To: 2}, {From: 0, To: 2}})
	require.InDelta(t, drawing.Nodes[0].X+20, drawing.Nodes[2].X+40, 1)
	require.InDelta(t, drawing.Nodes[0].X+20, drawing.Nodes[1].X+100, 1)
	require.Equal(t, 8, drawing.Nodes[0].Y)
	require.Equal(t, 58, drawing.Nodes[1].Y)
	long := drawing.Edges[2]
	require.Len(t, long, 6, "the long edge has a bend beside the node between")
}

// TestEdgesOfATreeDoNotCross checks trees whose nodes are in any order.
func TestEdgesOfATreeDoNotCross(t *testing.T) {
	// 0 has 1 and 2; of their children 3 and 4, the first named comes last.
	drawing := graph.Layout(make([]graph.Size, 5), []graph.Edge{{From: 0, To: 1}, {From: 0, To: 2}, {From: 2, To: 3}, {From: 1, To: 4}})
	require.Equal(t, drawing.Nodes[1].X < drawing.Nodes[2].X, drawing.Nodes[4].X < drawing.Nodes[3].X)
}

func TestWhatIsNotLaidOut(t *testing.T) {
	require.Panics(t, func() {
		graph.Layout(make([]graph.Size, 3), []graph.Edge{{From: 0, To: 1}, {From: 1, To: 2}, {From: 2, To: 1}})
	}, "a cycle")
	require.Empty(t, graph.Layout(nil, nil).Nodes)
}

// large returns a graph of many nodes. Each has edges from the node before it, from one
// some way up and from one far above, so that its long edges need more bends than are
// allowed.
func large(count int) ([]graph.Size, []graph.Edge) {
	nodes, edges := make([]graph.Size, count), []graph.Edge{}
	for i := range nodes {
		nodes[i] = graph.Size{Width: 200, Height: 60}
		for _, back := range []int{7, 31 + i%13, 400} {
			if i >= back {
				edges = append(edges, graph.Edge{From: i - back, To: i})
			}
		}
	}
	return nodes, edges
}

// TestALargeGraph checks that bends are bounded. BenchmarkLayout measures the time.
func TestALargeGraph(t *testing.T) {
	t.Parallel()
	nodes, edges := large(2000)
	drawing := graph.Layout(nodes, edges)
	points := 0
	for _, each := range drawing.Edges {
		points += len(each)
	}
	require.Less(t, points, 4*len(edges)+2*20_000)
}

func BenchmarkLayout(b *testing.B) {
	for _, count := range []int{20, 200, 2000} {
		b.Run(fmt.Sprint(count), func(b *testing.B) {
			nodes, edges := large(count)
			for b.Loop() {
				graph.Layout(nodes, edges)
			}
		})
	}
}

// TestReducedEdgesImplyTheOthers checks that no remaining edge is implied by others,
// and that the same nodes are reachable as before.
func TestReducedEdgesImplyTheOthers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		count := rapid.IntRange(2, 12).Draw(t, "nodes")
		var edges []graph.Edge
		for from := range count {
			for to := from + 1; to < count; to++ {
				if rapid.Bool().Draw(t, "edge") {
					edges = append(edges, graph.Edge{From: from, To: to})
				}
			}
		}
		reduced := graph.Reduce(count, edges)
		require.Equal(t, after(count, edges), after(count, reduced))
		for i := range reduced {
			without := slices.Delete(slices.Clone(reduced), i, i+1)
			require.NotEqual(t, after(count, edges), after(count, without), "%v is implied", reduced[i])
		}
	})
}

// after returns the pairs of nodes of which the second is reachable from the first.
func after(count int, edges []graph.Edge) map[graph.Edge]bool {
	out := map[graph.Edge]bool{}
	for _, edge := range edges {
		out[edge] = true
	}
	for by := range count {
		for from := range count {
			for to := range count {
				if out[graph.Edge{From: from, To: by}] && out[graph.Edge{From: by, To: to}] {
					out[graph.Edge{From: from, To: to}] = true
				}
			}
		}
	}
	return out
}
