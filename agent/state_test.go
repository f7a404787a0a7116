package agent

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"savant/fault"
)

func states() []State {
	var list []State
	for each := range rules {
		list = append(list, each)
	}
	return list
}

// TestEveryWayEnds: from every state an end is reached, and every state from
// the beginning; only ends lead nowhere.
func TestEveryWayEnds(t *testing.T) {
	table := rules
	reached := map[State]bool{}
	var visit func(State)
	visit = func(from State) {
		if reached[from] {
			return
		}
		reached[from] = true
		for _, to := range table[from].next {
			require.Contains(t, table, to)
			visit(to)
		}
	}
	visit(Boot)
	require.Len(t, reached, len(table))
	for _, each := range states() {
		if each.isEnd() {
			require.Contains(t, []State{Finish, Error, Cancel}, each)
			continue
		}
		require.Equal(t, Cancel, table[each].next[canceled], "%s can be canceled", each)
	}
}

func TestWhatStatesAllow(t *testing.T) {
	for state, rule := range rules {
		require.Equal(t, state == Tool || state == ForcedTool, rule.calls, state)
	}
}

// TestOtherSignalsAreRefused: whatever signals come, a state is only left by
// one that its row allows.
func TestOtherSignalsAreRefused(t *testing.T) {
	signals := []Signal{booted, resumed, forced, begin, ask, exhausted, tool, reason, done, saved, stuck, finish, failed, canceled}
	rapid.Check(t, func(t *rapid.T) {
		state := Boot
		for range 50 {
			signal := rapid.SampledFrom(signals).Draw(t, "signal")
			to, err := next(state, signal)
			allowed, known := rules[state].next[signal]
			if known {
				require.NoError(t, err)
				require.Equal(t, allowed, to)
			} else {
				require.ErrorIs(t, err, fault.Internal)
				require.Equal(t, Error, to)
			}
			if state = to; state.isEnd() {
				return
			}
		}
	})
}

// diagram returns the machine as a Mermaid state diagram.
func diagram() string {
	table := rules
	var out strings.Builder
	out.WriteString("stateDiagram-v2\n  [*] --> Boot\n")
	for _, from := range slices.Sorted(maps.Keys(table)) {
		for _, signal := range slices.Sorted(maps.Keys(table[from].next)) {
			fmt.Fprintf(&out, "  %s --> %s: %s\n", from, table[from].next[signal], signal)
		}
		if from.isEnd() {
			fmt.Fprintf(&out, "  %s --> [*]\n", from)
		}
	}
	return out.String()
}

// TestTheDiagramIsTheTable keeps docs/agent.md true.
func TestTheDiagramIsTheTable(t *testing.T) {
	page, err := os.ReadFile("../docs/agent.md")
	require.NoError(t, err)
	require.True(t, strings.Contains(string(page), "```mermaid\n"+diagram()+"```"), "put this into docs/agent.md:\n%s", diagram())
}
