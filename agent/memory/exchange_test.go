package memory_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"savant/agent/memory"
	"savant/fault"
)

// TestAnExchangeKeepsEachPartOnce: a part that stays the same is not written again, and all
// of it is read back, also by another session's store.
func TestAnExchangeKeepsEachPartOnce(t *testing.T) {
	folder := t.TempDir()
	root, err := os.OpenRoot(folder)
	require.NoError(t, err)
	t.Cleanup(func() { _ = root.Close() })
	store := memory.Open(root, time.Now)
	session, err := store.Create("r1")
	require.NoError(t, err)
	t.Cleanup(func() { _ = session.Close() })
	rules := strings.Repeat("how you work ", 1000)
	first, err := session.KeepExchange(memory.Exchange{Parts: []memory.Part{{Name: "system", Text: rules}, {Name: "memory", Text: "nothing"}}, Reply: "one"})
	require.NoError(t, err)
	second, err := session.KeepExchange(memory.Exchange{Parts: []memory.Part{{Name: "system", Text: rules}, {Name: "memory", Text: "a step"}}, Reply: "two"})
	require.NoError(t, err)
	third, err := session.KeepExchange(memory.Exchange{Parts: []memory.Part{{Name: "system", Text: rules}, {Name: "memory", Text: "a step"}}})
	require.NoError(t, err)

	for digest, most := range map[string]int64{first: 20_000, second: 500, third: 500} {
		info, err := os.Stat(filepath.Join(folder, ".savant", "sessions", "r1.outputs", digest))
		require.NoError(t, err)
		require.Less(t, info.Size(), most)
		require.True(t, store.Has("r1", digest))
	}
	read, err := store.Exchange("r1", third)
	require.NoError(t, err)
	require.Equal(t, memory.Exchange{Parts: []memory.Part{{Name: "system", Text: rules, In: first}, {Name: "memory", Text: "a step", In: second}}}, read)

	for _, unknown := range []string{strings.Repeat("0", 64), "../r1.journal", ""} {
		_, err = store.Exchange("r1", unknown)
		require.ErrorIs(t, err, fault.UnknownRun)
	}
	require.NoError(t, os.WriteFile(filepath.Join(folder, ".savant", "sessions", "r1.outputs", second), []byte("{"), 0o600))
	_, err = store.Exchange("r1", third)
	require.ErrorIs(t, err, fault.StateCorrupt)
}
