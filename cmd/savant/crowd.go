package main

import (
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"
)

// Many calls at once are a crowd, for as long as there was one within calm.
const (
	manyCalls = 8
	calm      = time.Second
)

// crowd makes a server ready for many calls at once, for as long as there are.
//
// It has twice the processors of Go's scheduler then: a thread that waits for
// the disk holds one until the scheduler notices, which takes longer than the
// disk, and with few processors that is a fifth of the time (BenchmarkRuns). With
// few calls more of them gain nothing. And its heap has more room.
type crowd struct {
	calls atomic.Int64 // in flight
	// met is set by many calls, and taken back by each look.
	met   atomic.Bool
	lasts atomic.Bool

	mu    sync.Mutex // while it comes or goes
	fixed bool       // the processors stay as they are
	ended bool
}

// begin tells of a call, and returns what tells of its end. A nil crowd takes
// no notice.
func (c *crowd) begin() (end func()) {
	if c == nil {
		return func() {}
	}
	if c.calls.Add(1) >= manyCalls {
		if !c.met.Load() {
			c.met.Store(true)
		}
		if !c.lasts.Load() {
			c.come()
		}
	}
	return func() { c.calls.Add(-1) }
}

func (c *crowd) come() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended || c.lasts.Load() {
		return
	}
	c.lasts.Store(true)
	if !c.fixed {
		runtime.GOMAXPROCS(2 * runtime.GOMAXPROCS(0))
	}
	time.AfterFunc(calm, c.look)
}

// look sees whether the crowd is still there. The memory it needed is given
// back when it is not.
func (c *crowd) look() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return
	}
	if c.met.Swap(false) {
		time.AfterFunc(calm, c.look)
		return
	}
	c.leave()
	debug.FreeOSMemory()
}

// leave gives the processors back, by what limits the process has now.
func (c *crowd) leave() {
	if c.lasts.Swap(false) && !c.fixed {
		runtime.SetDefaultGOMAXPROCS()
	}
}

func (c *crowd) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	c.leave()
}
