package main

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
)

// heapRoom is how much a server with an empty heap may allocate between two
// collections, in bytes: a step leaves about 35 KB to be collected, and the
// collector's default lets the small heap of a server grow by 6 MB only. It then
// runs every 170 steps, and the steps that meet it are what the slowest
// hundredth consists of.
const heapRoom = 24 << 20

// crowdedRoom is heapRoom while many calls are made at once: the collector is
// an eighth of the work then.
const crowdedRoom = 4 * heapRoom

// leastGrowth and mostGrowth bound what the heap may grow by between two
// collections, in percent of what is in use.
const leastGrowth, mostGrowth = 50, 400

// growthFor returns the percentage by which a heap may grow that has some room
// while it is small. The larger it is the less it has, for memory counts then,
// until it has half of itself.
func growthFor(live, room uint64) int {
	if live*mostGrowth <= room*100 {
		return mostGrowth
	}
	room -= min(live*5/8, room)
	return max(leastGrowth, int(room*100/live))
}

// heapTender adapts the garbage collector to the heap, after each collection.
type heapTender struct {
	crowd  *crowd
	mu     sync.Mutex
	growth int
	ended  bool
}

// cycle is garbage as soon as it is made: it tells of the next collection.
type cycle struct{ of *heapTender }

// tend fits the process to what a server does, until the returned function is
// called: its heap, and its processors. Who has set GOGC or GOMAXPROCS knows
// better.
func (p *program) tend(h *house) (end func()) {
	_, fixed := p.variable("GOMAXPROCS")
	calls := &crowd{fixed: fixed}
	h.crowd.Store(calls)
	endHeap := p.tendHeap(calls)
	return func() {
		endHeap()
		h.crowd.Store(nil)
		calls.end()
	}
}

// tendHeap gives the heap its room until the returned function is called.
func (p *program) tendHeap(calls *crowd) (end func()) {
	if _, set := p.variable("GOGC"); set {
		return func() {}
	}
	tended := &heapTender{crowd: calls, growth: leastGrowth}
	before := debug.SetGCPercent(leastGrowth)
	tended.adapt()
	tended.await()
	return func() {
		tended.mu.Lock()
		defer tended.mu.Unlock()
		tended.ended = true
		debug.SetGCPercent(before)
	}
}

func (c *heapTender) await() {
	runtime.SetFinalizer(&cycle{c}, func(over *cycle) {
		if over.of.adapt() {
			over.of.await()
		}
	})
}

// adapt sets what the live heap asks for, and says whether to go on. Setting
// stops all goroutines for a moment, so that small changes are left alone.
func (c *heapTender) adapt() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return false
	}
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	if live[0].Value.Kind() != metrics.KindUint64 || live[0].Value.Uint64() == 0 {
		return true
	}
	room := uint64(heapRoom)
	if c.crowd.lasts.Load() {
		room = crowdedRoom
	}
	if wanted := growthFor(live[0].Value.Uint64(), room); wanted < c.growth*9/10 || wanted > c.growth*11/10 {
		c.growth = wanted
		debug.SetGCPercent(wanted)
	}
	return true
}
