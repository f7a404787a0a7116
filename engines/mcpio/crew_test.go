package mcpio

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

// All jobs are done at once; those who did them stay, up to a number, until
// the client is gone. synctest fails where one stays for longer.
func TestACrewStaysForMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gone := make(chan struct{})
		c := newCrew(gone)
		var done atomic.Int64
		for range 3 {
			release := make(chan struct{})
			for range 2 * maxResting {
				c.Go(func() {
					<-release
					done.Add(1)
				})
			}
			synctest.Wait()
			close(release)
			c.Wait()
			synctest.Wait()
			require.EqualValues(t, maxResting, c.resting.Load())
		}
		require.EqualValues(t, 6*maxResting, done.Load())
		close(gone)
		synctest.Wait()
		require.Zero(t, c.resting.Load())
		c.Go(func() { done.Store(0) })
		c.Wait()
		require.Zero(t, done.Load(), "a job that comes late is done too")
	})
}

// A job may hand over others.
func TestJobsOfJobs(t *testing.T) {
	gone := make(chan struct{})
	defer close(gone)
	c := newCrew(gone)
	var seen sync.Map
	for i := range 100 {
		c.Go(func() { c.Go(func() { seen.Store(i, true) }) })
	}
	c.Wait()
	count := 0
	seen.Range(func(any, any) bool { count++; return true })
	require.Equal(t, 100, count)
}
