package telemetry

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// maxQueue is the maximum number of queued events, maxBatch that of events in one
// write.
const (
	maxQueue = 4096
	maxBatch = 256
)

// queue holds the events that a worker records in the background. The worker starts
// with the first item and ends when the recorder is closed.
type queue struct {
	items   chan item
	dropped atomic.Int64  // events dropped because the queue was full, not yet reported
	done    chan struct{} // closed when the worker has ended

	mu              sync.Mutex
	started, closed bool
}

// item is an event, or for Flush a channel to close once the preceding items are
// recorded.
type item struct {
	event    *Event
	recorded chan struct{}
}

func newQueue() *queue {
	return &queue{items: make(chan item, maxQueue), done: make(chan struct{})}
}

// RecordLater is Record without waiting for the disk: a worker completes, redacts and
// writes the event, in order. If the queue is full, the event is dropped, and a later
// event of type error reports the number of dropped ones. The event and what it points
// to must not be modified afterwards.
func (r *Recorder) RecordLater(e Event) {
	if r == nil {
		return
	}
	stamped := r.stamped(e)
	r.queue.mu.Lock()
	defer r.queue.mu.Unlock()
	if r.queue.closed {
		return
	}
	r.startWorker()
	select {
	case r.queue.items <- item{event: &stamped}:
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

// Flush returns when all preceding events are recorded.
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

// flushInto queues a channel; false if the queue is closed.
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

// gathering is how long an event waits for others to be written with it: a write with
// its check of the file costs more than a step's own work.
const gathering = 100 * time.Millisecond

// work records the items of the queue in batches.
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
				if batch = append(batch, *next.event); due == nil {
					due = time.After(gathering)
				}
				if len(batch) == maxBatch {
					write()
				}
			}
		}
	}
}

// recordBatch records events, and the number of dropped ones.
func (r *Recorder) recordBatch(events []Event) {
	for i := range events {
		if r.options.Complete != nil {
			events[i] = r.options.Complete(events[i])
		}
	}
	r.record(events)
	if dropped := r.queue.dropped.Swap(0); dropped > 0 {
		r.Record(Event{Type: Error, Error: &Failure{Code: "LIMIT_EXCEEDED",
			Details: fmt.Sprintf("%d events were not recorded: the queue was full", dropped)}})
	}
}
