package filelock_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"savant/fault"
	"savant/internal/filelock"
)

func TestALockThatIsHeldIsToldAndGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		var told []time.Duration
		ctx := filelock.WithNotice(t.Context(), func(name string) {
			require.Equal(t, "the file", name)
			told = append(told, time.Since(begun))
		})
		err := filelock.Acquire(ctx, "the file", func() (bool, error) { return false, nil })
		require.ErrorIs(t, err, fault.StateConflict)
		require.EqualError(t, err, "STATE_CONFLICT: the file: another process has held its lock for 30 seconds; end that process, or let it finish, and try again")
		require.Equal(t, []time.Duration{2 * time.Second}, told)
		require.Equal(t, 30*time.Second, time.Since(begun))
	})
}

func TestALockThatComesFreeIsNotTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		ctx := filelock.WithNotice(t.Context(), func(string) { t.Error("told") })
		require.NoError(t, filelock.Acquire(ctx, "the file", func() (bool, error) { return time.Since(begun) > time.Second, nil }))
		time.Sleep(time.Minute)
	})
}

func TestWhoWaitsForALockCanBeStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.ErrorIs(t, filelock.Acquire(ctx, "the file", func() (bool, error) { return false, nil }), context.DeadlineExceeded)
	})
}
