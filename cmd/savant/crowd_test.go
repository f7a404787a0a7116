package main

import (
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// A crowd of calls has twice the processors, until it was calm for a while.
func TestACrowdHasMoreProcessors(t *testing.T) {
	usual := defaultProcessors(t)
	synctest.Test(t, func(t *testing.T) {
		c := &crowd{}
		var ends []func()
		for range manyCalls - 1 {
			ends = append(ends, c.begin())
		}
		require.Equal(t, usual, runtime.GOMAXPROCS(0))
		last := c.begin()
		require.Equal(t, 2*usual, runtime.GOMAXPROCS(0))
		last()
		time.Sleep(calm + 1)
		require.Equal(t, 2*usual, runtime.GOMAXPROCS(0), "it was there a moment ago")
		time.Sleep(calm)
		synctest.Wait()
		require.Equal(t, usual, runtime.GOMAXPROCS(0))
		c.begin()
		require.Equal(t, 2*usual, runtime.GOMAXPROCS(0))
		c.end()
		require.Equal(t, usual, runtime.GOMAXPROCS(0))
		c.begin()
		require.Equal(t, usual, runtime.GOMAXPROCS(0), "it is over")
		for _, end := range ends {
			end()
		}
	})
}

// Who sets GOMAXPROCS knows better, and only a server looks at its calls.
func TestProcessorsThatAreSetStay(t *testing.T) {
	usual := defaultProcessors(t)
	for given, want := range map[string]int{"GOMAXPROCS=3": usual, "OTHER=3": 2 * usual} {
		h := &house{}
		end := newProgram([]string{given}, nil, nil, nil, (*house).addEngines).tend(h)
		for range manyCalls {
			h.crowd.Load().begin()
		}
		require.Equal(t, want, runtime.GOMAXPROCS(0), given)
		end()
		require.Equal(t, usual, runtime.GOMAXPROCS(0))
		require.Nil(t, h.crowd.Load())
		h.crowd.Load().begin()()
	}
}

// defaultProcessors is how many there are where nobody set a number.
func defaultProcessors(t *testing.T) int {
	before := runtime.GOMAXPROCS(0)
	t.Cleanup(func() { runtime.GOMAXPROCS(before) })
	runtime.SetDefaultGOMAXPROCS()
	return runtime.GOMAXPROCS(0)
}
