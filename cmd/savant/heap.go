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

// leastGrowth and mostGrowth bound what the heap may grow by between two
// collections, in percent of what is in use.
const leastGrowth, mostGrowth = 50, 400

// growthFor returns the percentage by which a heap may grow. The larger it is
// the less room it has, for memory counts then, until it has half of itself.
func growthFor(live uint64) int {
	if live*mostGrowth <= heapRoom*100 {
		return mostGrowth
	}
	room := heapRoom - min(live*5/8, heapRoom)
	return max(leastGrowth, int(room*100/live))
}

// heapTender adapts the garbage collector to the heap, after each collection.
type heapTender struct {
	mu     sync.Mutex
	growth int
	ended  bool
}

// cycle is garbage as soon as it is made: it tells of the next collection.
type cycle struct{ of *heapTender }

// tendHeap gives the heap its room until the returned function is called.
// Who has set GOGC knows better.
func (p *program) tendHeap() (end func()) {
	if _, set := p.variable("GOGC"); set {
		return func() {}
	}
	tended := &heapTender{growth: leastGrowth}
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
	if wanted := growthFor(live[0].Value.Uint64()); wanted < c.growth*9/10 || wanted > c.growth*11/10 {
		c.growth = wanted
		debug.SetGCPercent(wanted)
	}
	return true
}
