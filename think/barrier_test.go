package think_test

import (
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"savant/think/flow"
)

// holders says which checks hold which steps of a graph, as docs/language.md says it:
// each step below a check in the file, but for those that the check depends on,
// directly or through what holds it.
func holders(shape flow.Picture) map[string][]string {
	before := map[string][]string{}
	for _, node := range shape.Nodes {
		before[node.ID] = slices.Clone(node.Deps)
	}
	var reaches func(from, to string, seen map[string]bool) bool
	reaches = func(from, to string, seen map[string]bool) bool {
		if from == to || seen[from] {
			return from == to
		}
		seen[from] = true
		return slices.ContainsFunc(before[from], func(next string) bool { return reaches(next, to, seen) })
	}
	held := map[string][]string{}
	for i, node := range shape.Nodes {
		for _, above := range shape.Nodes[:i] {
			if above.Barrier && !reaches(above.ID, node.ID, map[string]bool{}) {
				held[node.ID] = append(held[node.ID], above.ID)
				before[node.ID] = append(before[node.ID], above.ID)
			}
		}
	}
	return held
}

var rootStep = regexp.MustCompile(`^s\d+`)

// Nothing below a check is issued, or could be, before the check has settled; whatever
// else the workflow has, it comes to an end.
func TestBarriersHold(t *testing.T) {
	t.Parallel()
	check(t, 500, func(t *rapid.T) {
		g := generate(t, false)
		graph := g.compile(t)
		held := holders(graph.Picture())
		for _, node := range graph.Picture().Nodes {
			require.Equal(t, node.HeldBy != "", len(held[node.ID]) > 0, "%s: %s", node.ID, g)
			if node.HeldBy != "" {
				require.Contains(t, held[node.ID], node.HeldBy, "%s", g)
			}
		}
		client := respond{seed: rapid.Uint64().Draw(t, "seed"), failures: true}
		choose := cycle(rapid.SliceOfN(rapid.IntRange(0, 3), 1, 20).Draw(t, "choices"))
		run, now := graph.Start("r", g.params, flow.Terms{PlainFailures: true})
		for now.Final == nil && now.Blocked == nil {
			steps := byID(t, run)
			open := slices.Clone(now.Ready)
			for _, next := range now.Instructions {
				open = append(open, next.StepID)
			}
			require.NotEmpty(t, open, "%s", g)
			for _, id := range open {
				for _, above := range held[rootStep.FindString(id)] {
					require.Contains(t, []flow.Status{flow.Done, flow.Skipped, flow.Failed}, steps[above].Status, "%s is issued below %s: %s", id, above, g)
				}
			}
			var err error
			next := now.Instructions[choose(len(now.Instructions))]
			now, err = run.Settle(handleOf(t, run, next.StepID), client.settling(t, next))
			require.NoError(t, err)
		}
	})
}
