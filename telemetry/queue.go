package telemetry

import (
	"fmt"
	"sync"
	"time"
)

// Bounds of the queue: how many events wait at most, how many are written
// together, and how long they are gathered for that.
const (
	maxQueue    = 4096
	maxTogether = 256
	gatherFor   = 100 * time.Millisecond
)

// queue holds what is recorded later, by one worker. The worker starts with the
// first event and ends when the recorder is closed.
type queue struct {
	start sync.Once
	items chan Event
	flush chan chan struct{} // each is closed when the items before it are recorded
	stop  chan struct{}      // closed: record what is left, and end
	done  chan struct{}      // closed when the worker has ended

	mu     sync.Mutex
	closed bool
	lost   int // events that found no place, and are not counted in the log yet
}

func newQueue() *queue {
	return &queue{items: make(chan Event, maxQueue), flush: make(chan chan struct{}), stop: make(chan struct{}), done: make(chan struct{})}
}

// RecordLater is Record for who must not wait, not even for a disk: the event
// is completed, cleaned, kept and written by another goroutine, in order. Where
// too many wait already it is left out, and an event of the type error says how
// many were. The event and what it points to belong to the recorder then.
func (r *Recorder) RecordLater(e Event) {
	if r == nil {
		return
	}
	e = r.stamped(e)
	q := r.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return
	}
	q.start.Do(func() { go r.work() })
	select {
	case q.items <- e:
	default:
		q.lost++
	}
}

// Flush returns when every event that was handed over before is recorded.
func (r *Recorder) Flush() {
	if r == nil {
		return
	}
	q, written := r.queue, make(chan struct{})
	q.start.Do(func() { close(q.done) }) // no event was ever handed over
	select {
	case q.flush <- written:
		<-written
	case <-q.done:
	}
}

// closeQueue lets no more events in, and returns when all are recorded.
func (r *Recorder) closeQueue() {
	q := r.queue
	q.mu.Lock()
	if !q.closed {
		q.closed = true
		close(q.stop)
	}
	q.start.Do(func() { close(q.done) })
	q.mu.Unlock()
	<-q.done
}

// work records what is in the queue. It gathers first: what is written while a
// run waits for its disk makes that slower.
func (r *Recorder) work() {
	q := r.queue
	defer close(q.done)
	pause := time.NewTimer(gatherFor)
	defer pause.Stop()
	var batch []Event
	for {
		var written chan struct{}
		stopped := false
		select {
		case e := <-q.items:
			if batch = append(batch, e); len(batch) == 1 {
				pause.Reset(gatherFor)
			}
			if len(batch) < maxTogether {
				continue
			}
		case <-pause.C:
		case written = <-q.flush:
		case <-q.stop:
			stopped = true
		}
		for (stopped || written != nil) && len(q.items) > 0 {
			batch = append(batch, <-q.items)
		}
		r.recordQueued(batch)
		batch = nil
		if written != nil {
			close(written)
		}
		if stopped {
			return
		}
	}
}

// recordQueued records events that waited, and how many were lost.
func (r *Recorder) recordQueued(events []Event) {
	if r.options.Complete != nil {
		for i := range events {
			events[i] = r.options.Complete(events[i])
		}
	}
	if len(events) > 0 {
		r.record(events)
	}
	r.queue.mu.Lock()
	lost := r.queue.lost
	r.queue.lost = 0
	r.queue.mu.Unlock()
	if lost > 0 {
		r.Record(Event{Type: Error, Error: &Failure{Code: "LIMIT_EXCEEDED",
			Details: fmt.Sprintf("%d events were not recorded: too many waited", lost)}})
	}
}
