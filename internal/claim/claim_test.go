//go:build unix

package claim_test

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"savant/internal/claim"
)

func folder(t *testing.T) *os.Root {
	t.Helper()
	root, err := os.OpenRoot(t.TempDir())
	require.NoError(t, err)
	t.Cleanup(func() { _ = root.Close() })
	return root
}

func TestAClaimIsForOne(t *testing.T) {
	root := folder(t)
	release, err := claim.Take(t.Context(), root, "a/b")
	require.NoError(t, err)
	other, err := claim.Take(t.Context(), root, "../a")
	require.NoError(t, err, "another thing")
	other()
	_, err = claim.Take(t.Context(), root, "a/b")
	require.ErrorIs(t, err, claim.ErrTaken)
	ended, end := context.WithCancel(t.Context())
	end()
	_, err = claim.Take(ended, root, "a/b")
	require.ErrorIs(t, err, context.Canceled)

	release()
	again, err := claim.Take(t.Context(), root, "a/b")
	require.NoError(t, err)
	again()
	left, err := filepath.Glob(filepath.Join(root.Name(), claim.Folder, "*"))
	require.NoError(t, err)
	require.Empty(t, left, "nothing is left of it")
}

// Only one holder has a claim at a time.
func TestManyTakeTurns(t *testing.T) {
	root := folder(t)
	var having, had atomic.Int32
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for had.Load() < 40 {
				release, err := claim.Take(t.Context(), root, "x")
				if err != nil {
					continue
				}
				if having.Add(1) != 1 {
					t.Error("two have it")
				}
				time.Sleep(time.Millisecond)
				having.Add(-1)
				had.Add(1)
				release()
			}
		})
	}
	all.Wait()
}

// GC removes what a killed process left. It keeps a claim that somebody holds,
// and a file that is no claim.
func TestAbandonedClaimsAreRemoved(t *testing.T) {
	root := folder(t)
	removed, err := claim.GC(t.Context(), root, nil, false)
	require.NoError(t, err)
	require.Zero(t, removed, "there was never a claim")

	release, err := claim.Take(t.Context(), root, "held")
	require.NoError(t, err)
	held, err := filepath.Glob(filepath.Join(root.Name(), claim.Folder, "*"))
	require.NoError(t, err)
	for _, name := range []string{"a.lock", "b.lock", "notes.txt"} {
		require.NoError(t, root.WriteFile(claim.Folder+"/"+name, nil, 0o600))
	}
	require.NoError(t, root.Symlink("notes.txt", claim.Folder+"/link.lock"))
	for _, dry := range []bool{true, false} {
		removed, err = claim.GC(t.Context(), root, nil, dry)
		require.NoError(t, err)
		require.Equal(t, 2, removed)
	}
	left, err := filepath.Glob(filepath.Join(root.Name(), claim.Folder, "*"))
	require.NoError(t, err)
	folder := filepath.Join(root.Name(), claim.Folder)
	require.ElementsMatch(t, append(held, filepath.Join(folder, "notes.txt"), filepath.Join(folder, "link.lock")), left)
	_, err = claim.Take(t.Context(), root, "held")
	require.ErrorIs(t, err, claim.ErrTaken)
	release()
}

// State tells a claim that is held from work that was left, and makes nothing.
func TestTheStateOfAClaim(t *testing.T) {
	root := folder(t)
	standing := func() [2]bool {
		held, left := claim.State(root, "a/b")
		return [2]bool{held, left}
	}
	require.Equal(t, [2]bool{false, false}, standing())
	release, err := claim.Take(t.Context(), root, "a/b")
	require.NoError(t, err)
	require.Equal(t, [2]bool{true, false}, standing())
	release()
	require.Equal(t, [2]bool{false, false}, standing())
	claim.Leave(root, "a/b")
	require.Equal(t, [2]bool{false, true}, standing())
	release, err = claim.Take(t.Context(), root, "a/b")
	require.NoError(t, err, "a mark keeps nobody out")
	release()
	require.Equal(t, [2]bool{false, false}, standing())
}

// GC never gives a claim to two holders, and never keeps everybody out.
func TestTurnsAreTakenDuringGC(t *testing.T) {
	root := folder(t)
	var having, had atomic.Int32
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for had.Load() < 100 {
				release, err := claim.Take(t.Context(), root, "x")
				if err == nil {
					if having.Add(1) != 1 {
						t.Error("two have it")
					}
					time.Sleep(100 * time.Microsecond)
					having.Add(-1)
					had.Add(1)
					release()
				}
				if _, err := claim.GC(t.Context(), root, nil, false); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
}

func TestAFolderThatCannotBeWritten(t *testing.T) {
	root := folder(t)
	require.NoError(t, root.WriteFile(".savant", nil, 0o600))
	_, err := claim.Take(t.Context(), root, "x")
	require.Error(t, err)
	require.NotErrorIs(t, err, claim.ErrTaken)
}
