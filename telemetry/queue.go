package telemetry

import (
	"fmt"
	"sync"
	"time"
)

// maxQueue is how many events wait to be recorded, at most.
const maxQueue = 4096

// queue holds what is recorded later. A goroutine works on it while there is
// anything in it, and then ends.
type queue struct {
	mu      sync.Mutex
	waiting []waiting
	working bool
	closed  bool
	// lost counts the events that found no place since this was last told.
	lost int
}

// waiting is an event that waits, or who waits for those before it.
type waiting struct {
	event   Event
	reached chan<- struct{}
}

// RecordLater is Record for who must not wait, not even for a disk: the event
// is completed, cleaned, kept and written by another goroutine, in order. Where
// too many wait already it is left out, and an event of the type error says how
// many were. The event and what it points to belong to the recorder then.
func (r *Recorder) RecordLater(e Event) {
	if r == nil {
		return
	}
	if e.Timestamp == "" {
		e.Timestamp = r.options.Now().UTC().Format(time.RFC3339Nano)
	}
	if r.queue.add(e) {
		go r.work()
	}
}

// Flush returns when every event that was handed over before is recorded.
func (r *Recorder) Flush() {
	if r == nil {
		return
	}
	reached := make(chan struct{})
	if r.queue.wait(reached) {
		<-reached
	}
}

// add puts an event into the queue, and says whether work has to be begun.
func (q *queue) add(e Event) (begin bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.closed:
		return false
	case len(q.waiting) >= maxQueue:
		q.lost++
		return false
	}
	q.waiting = append(q.waiting, waiting{event: e})
	begin = !q.working
	q.working = true
	return begin
}

// wait has reached closed when what is in the queue is done; false: nothing is.
func (q *queue) wait(reached chan<- struct{}) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.working {
		q.waiting = append(q.waiting, waiting{reached: reached})
	}
	return q.working
}

// take empties the queue; nothing is taken when the work is over.
func (q *queue) take() (batch []waiting, lost int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	batch, lost = q.waiting, q.lost
	q.waiting, q.lost = nil, 0
	q.working = len(batch) > 0
	return batch, lost
}

func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
}

// work records what is in the queue until there is nothing more.
func (r *Recorder) work() {
	for {
		batch, lost := r.queue.take()
		if len(batch) == 0 {
			return
		}
		for _, each := range batch {
			if each.reached != nil {
				close(each.reached)
				continue
			}
			if r.options.Complete != nil {
				each.event = r.options.Complete(each.event)
			}
			r.Record(each.event)
		}
		if lost > 0 {
			r.Record(Event{Type: Error, Error: &Failure{Code: "LIMIT_EXCEEDED",
				Details: fmt.Sprintf("%d events were not recorded: too many waited", lost)}})
		}
	}
}
