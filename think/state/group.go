package state

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// group lets runs that move at once share a sync: the records of all of them
// go into a common log, and one sync of that makes them durable. Each is in its
// journal too, written but not synced; the log goes when the journals are. An
// append that is alone, or nearly, syncs its journal and knows of no log.
type group struct {
	dir *Dir
	// fewest appends share a sync: below, each has its own.
	fewest int
	// resting is how long a log waits for more; 0 for until end.
	resting time.Duration
	// broken is set for good when a sync failed: what the system then tells of
	// a file may not be what the disk has. Logs are left to the next process
	// that opens the store, and no append relies on a new one.
	broken atomic.Bool
	// tidying counts the logs whose journals are being synced.
	tidying sync.WaitGroup

	mu      sync.Mutex // guards what follows
	waiting []*waiter
	ended   bool
	// led is set while an append syncs for others. Who leads has the rest; while
	// nobody does it is guarded by mu.
	led bool
	log *commonLog // nil where none is in use
	// touched is when the log was written to last; armed is set while its end
	// is waited for.
	touched time.Time
	armed   bool
}

const (
	fewestTogether = 4
	restingLog     = time.Second
	// maxLog bounds a log, in bytes: it is what a process has to read that
	// comes after a crash.
	maxLog = 4 << 20
	// maxShared bounds a record that goes into a log, in bytes: a larger one
	// costs less to sync where it is than to write twice.
	maxShared = 64 << 10
)

// waiter is an append that waits for a sync.
type waiter struct {
	key  Key
	line []byte
	told chan verdict
}

// verdict is what one who waits is told: that its record is durable, to sync
// its own journal, or to lead those who wait now.
type verdict int

const (
	durable verdict = iota
	alone
	lead
)

// share makes a record durable together with others and returns true, or
// returns false where its journal is to be synced instead. The record is in the
// journal already.
func (g *group) share(key Key, line []byte) bool {
	w := &waiter{key, line, make(chan verdict, 1)}
	g.mu.Lock()
	g.waiting = append(g.waiting, w)
	first := !g.led
	g.led = true
	g.mu.Unlock()
	if !first {
		if told := <-w.told; told != lead {
			return told == durable
		}
	}
	// Whatever can run does so first, up to its own append: a group is made of
	// all that are under way, and nobody waits for a clock.
	runtime.Gosched()
	return g.settle(w) == durable
}

// settle syncs for all who wait, tells the others, and hands on the lead.
func (g *group) settle(leader *waiter) verdict {
	g.mu.Lock()
	together := g.waiting
	g.waiting = nil
	g.mu.Unlock()
	told := alone
	if len(together) >= g.fewest && g.logged(together) {
		told = durable
	}
	g.handOn()
	for _, other := range together {
		if other != leader {
			other.told <- told
		}
	}
	return told
}

func (g *group) handOn() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.led = len(g.waiting) > 0; g.led {
		g.waiting[0].told <- lead
	}
}

// logged writes the records of all to the log and syncs it. Where it returns
// false they have to become durable without.
func (g *group) logged(together []*waiter) bool {
	if g.broken.Load() || slices.ContainsFunc(together, func(w *waiter) bool { return len(w.line) > maxShared }) {
		return false
	}
	if g.log == nil {
		made, err := newCommonLog(g.dir)
		if err != nil {
			return false
		}
		g.log = made
	}
	if err := g.log.add(together); err != nil {
		if g.log.takeBack() != nil {
			g.distrust()
		}
		return false
	}
	g.touched = time.Now()
	if g.log.size > maxLog {
		g.retire()
	}
	if !g.armed && g.resting > 0 {
		g.armed = true
		time.AfterFunc(g.resting, g.rest)
	}
	return true
}

// rest retires a log that was not written to for a while.
func (g *group) rest() {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.ended:
	case g.led || time.Since(g.touched) < g.resting:
		time.AfterFunc(g.resting, g.rest)
	default:
		g.armed = false
		g.retire()
	}
}

// retire puts the log out of use, and removes it once its journals are synced.
func (g *group) retire() {
	if old := g.log; old != nil {
		g.log = nil
		g.tidying.Go(func() { g.dispense(old) })
	}
}

func (g *group) dispense(old *commonLog) {
	defer old.close()
	for key := range old.runs {
		if err := g.dir.syncJournal(key); err != nil {
			g.distrust()
		}
	}
	if !g.broken.Load() {
		_ = old.remove() // what stays is found to be in the journals
	}
}

// distrust ends the use of logs, for good.
func (g *group) distrust() { g.broken.Store(true) }

// end leaves no log behind. No append is under way.
func (g *group) end() {
	g.mu.Lock()
	g.ended = true
	g.retire()
	g.mu.Unlock()
	g.tidying.Wait()
}
