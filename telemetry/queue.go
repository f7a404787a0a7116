package telemetry

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// maxQueue is how many events wait at most, maxBatch how many are written with
// one write.
const (
	maxQueue = 4096
	maxBatch = 256
)

// queue holds the events that a worker records in the background. The worker
// starts with the first item and ends when the recorder is closed.
type queue struct {
	items   chan item
	dropped atomic.Int64  // events that found the queue full, not yet reported
	done    chan struct{} // closed when the worker has ended

	mu              sync.Mutex
	started, closed bool
}

// item is an event, or for Flush a channel to close once the items before it are
// recorded.
type item struct {
	event    Event
	recorded chan struct{}
}

func newQueue() *queue {
	return &queue{items: make(chan item, maxQueue), done: make(chan struct{})}
}

// RecordLater is Record without waiting for the disk: a worker completes,
// redacts and writes the event, in order. An event that finds the queue full is
// dropped, and an event of the type error reports how many were. The event and
// what it points to must not be changed afterwards.
func (r *Recorder) RecordLater(e Event) {
	if r == nil {
		return
	}
	e = r.stamped(e)
	r.queue.mu.Lock()
	defer r.queue.mu.Unlock()
	if r.queue.closed {
		return
	}
	r.startWorker()
	select {
	case r.queue.items <- item{event: e}:
	default:
		r.queue.dropped.Add(1)
	}
}

// startWorker starts the worker once. The queue is locked.
func (r *Recorder) startWorker() {
	if !r.queue.started {
		r.queue.started = true
		go r.work()
	}
}

// Flush returns when every event handed over before is recorded.
func (r *Recorder) Flush() {
	if r == nil {
		return
	}
	recorded := make(chan struct{})
	if !r.flushInto(recorded) {
		recorded = r.queue.done
	}
	<-recorded
}

// flushInto puts a channel into the queue; false where the queue is closed.
func (r *Recorder) flushInto(recorded chan struct{}) bool {
	r.queue.mu.Lock()
	defer r.queue.mu.Unlock()
	if r.queue.closed {
		return false
	}
	r.startWorker()
	r.queue.items <- item{recorded: recorded} // the worker makes room without the lock
	return true
}

// closeQueue accepts no more events, and returns when the worker has ended.
func (r *Recorder) closeQueue() {
	q := r.queue
	q.mu.Lock()
	if !q.closed {
		q.closed = true
		r.startWorker()
		close(q.items)
	}
	q.mu.Unlock()
	<-q.done
}

// gathering is how long an event waits for others: what comes within it is written
// with one write, since a write with its look at the file costs more than a step's
// own work.
const gathering = 100 * time.Millisecond

// work records the items of the queue, those that come together as one batch.
func (r *Recorder) work() {
	defer close(r.queue.done)
	var batch []Event
	var due <-chan time.Time // while a batch waits
	write := func() {
		r.recordBatch(batch)
		batch, due = nil, nil
	}
	for {
		select {
		case <-due:
			write()
		case next, open := <-r.queue.items:
			switch {
			case !open:
				write()
				return
			case next.recorded != nil:
				write()
				close(next.recorded)
			default:
				if batch = append(batch, next.event); due == nil {
					due = time.After(gathering)
				}
				if len(batch) == maxBatch {
					write()
				}
			}
		}
	}
}

// recordBatch records events, and how many were dropped.
func (r *Recorder) recordBatch(events []Event) {
	for i := range events {
		if r.options.Complete != nil {
			events[i] = r.options.Complete(events[i])
		}
	}
	r.record(events)
	if dropped := r.queue.dropped.Swap(0); dropped > 0 {
		r.Record(Event{Type: Error, Error: &Failure{Code: "LIMIT_EXCEEDED",
			Details: fmt.Sprintf("%d events were not recorded: too many waited", dropped)}})
	}
}
