package graph_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"savant/fault"
	"savant/hub/graph"
)

// Lines join by + and cross where the vertical one goes on; a long edge passes a row.
func TestTextDrawing(t *testing.T) {
	text, err := graph.Text([][]string{{"a"}, {"b"}, {"c", "second line"}, {"d"}},
		[]graph.Edge{{From: 0, To: 1}, {From: 0, To: 2}, {From: 1, To: 3}, {From: 2, To: 3}})
	require.NoError(t, err)
	require.Equal(t, strings.TrimPrefix(`
      +---+
      | a |
      +---+
  +------+-----+
  v            v
+---+   +-------------+
| b |   | c           |
|   |   | second line |
+---+   +-------------+
  +------+     |
         +-----+
         v
      +---+
      | d |
      +---+
`, "\n"), text)

	text, err = graph.Text([][]string{{"a"}, {"b"}, {"c"}}, []graph.Edge{{From: 0, To: 1}, {From: 1, To: 2}, {From: 0, To: 2}})
	require.NoError(t, err)
	require.Contains(t, text, "| b |")
	require.Regexp(t, `(?m)(^\||\| b \| +\||\| +\| b \|)`, text, "the long edge passes beside b")
}

// Whatever the graph: each box is whole, and each node with a predecessor has an arrow.
func TestTextDrawingsAreWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes, edges := [][]string{}, []graph.Edge{}
		ends := map[int]bool{}
		for i := range rapid.IntRange(1, 25).Draw(t, "nodes") {
			nodes = append(nodes, []string{fmt.Sprintf("node%d", i), strings.Repeat("x", rapid.IntRange(0, 30).Draw(t, "width"))})
			for range rapid.IntRange(0, 2).Draw(t, "edges") {
				if i > 0 {
					edges = append(edges, graph.Edge{From: rapid.IntRange(0, i-1).Draw(t, "from"), To: i})
					ends[i] = true
				}
			}
		}
		text, err := graph.Text(nodes, edges)
		require.NoError(t, err)
		for _, lines := range nodes {
			require.Contains(t, text, "| "+lines[0]+" ")
			require.Contains(t, text, "| "+lines[1])
		}
		require.Equal(t, len(ends), strings.Count(text, "v"), text)
	})
	_, err := graph.Text(make([][]string, 401), nil)
	require.ErrorIs(t, err, fault.LimitExceeded)
}
