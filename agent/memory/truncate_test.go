package memory_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"savant/agent/memory"
)

// However many calls a step has, and however large, it holds a bounded part of
// them, and the whole is in a file.
func TestAStepOfManyCallsIsBounded(t *testing.T) {
	store, folder := open(t)
	session := create(t, store, "r1")
	rapid.Check(t, func(t *rapid.T) {
		sizes := rapid.SliceOfN(rapid.IntRange(0, 40_000), 1, 64).Draw(t, "sizes")
		calls := make([]memory.Call, len(sizes))
		for i, size := range sizes {
			calls[i] = memory.Call{Tool: "a.b", Args: json.RawMessage(`{"x":"` + strings.Repeat("y", size/8) + `"}`), Output: called(i, size).Calls[0].Output}
		}
		fitted, err := session.Fit(calls)
		require.NoError(t, err)
		held, all, smallest := 0, 0, len(calls[0].Output)
		for i, each := range fitted {
			held += len(each.Output)
			all += len(calls[i].Output)
			smallest = min(smallest, len(calls[i].Output))
			require.True(t, json.Valid(each.Output))
			require.True(t, json.Valid(each.Args))
			if !each.Cut {
				require.Equal(t, calls[i].Output, each.Output)
				continue
			}
			whole, err := os.ReadFile(filepath.Join(folder, filepath.FromSlash(each.Artifact)))
			require.NoError(t, err)
			require.Equal(t, string(calls[i].Output), string(whole))
			require.Contains(t, each.Note, "whole in "+each.Artifact)
		}
		require.LessOrEqual(t, held, 33<<10)
		require.Equal(t, all > 32<<10, held < all, "only what has no room is cut")
		for i, each := range fitted {
			require.False(t, each.Cut && len(calls[i].Output) == smallest && smallest <= 32<<10/len(calls), "a small one stays")
		}
	})
}
