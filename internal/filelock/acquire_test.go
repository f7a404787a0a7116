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

func TestALockThatIsHeldIsReportedAndGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		var reported []time.Duration
		ctx := filelock.WithNotice(t.Context(), func(name string) {
			require.Equal(t, "the file", name)
			reported = append(reported, time.Since(begun))
		})
		err := filelock.Acquire(ctx, "the file", func() (bool, error) { return false, nil })
		require.ErrorIs(t, err, fault.StateConflict)
		require.ErrorContains(t, err, "the file", "what is locked")
		require.ErrorContains(t, err, "30 seconds")
		require.Equal(t, []time.Duration{2 * time.Second}, reported)
		require.Equal(t, 30*time.Second, time.Since(begun))
	})
}

func TestALockThatComesFreeIsNotReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		ctx := filelock.WithNotice(t.Context(), func(string) { t.Error("reported") })
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
