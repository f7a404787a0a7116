package telemetry

import (
	"fmt"
	"slices"
	"sync"
	"time"
)

// Bounds of the queue: how many events wait at most, how long they do so, how
// many are written together, and how long the others are left the processor
// before the next are: in one go, a tenth of a second's events take long enough
// to be felt by one call in ten.
const (
	maxQueue    = 4096
	gatherFor   = 100 * time.Millisecond
	maxTogether = 16
	breath      = time.Millisecond
)

// queue holds what is recorded later. A goroutine works on it while there is
// anything in it, and then ends.
type queue struct {
	mu      sync.Mutex
	waiting []waiting
	working bool
	closed  bool
	// hurry holds something when the work cannot wait.
	hurry chan struct{}
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
	if r.queue.add(r.stamped(e)) {
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
	if len(q.waiting) >= maxQueue/2 {
		q.hasten()
	}
	begin = !q.working
	q.working = true
	return begin
}

// hasten is called with mu held.
func (q *queue) hasten() {
	if q.closed {
		return
	}
	select {
	case q.hurry <- struct{}{}:
	default: // somebody is in a hurry already
	}
}

// wait has reached closed when what is in the queue is done; false: nothing is.
func (q *queue) wait(reached chan<- struct{}) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.working {
		q.waiting = append(q.waiting, waiting{reached: reached})
		q.hasten()
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

// close lets nothing more in; what is in the queue is in a hurry.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.closed {
		q.closed = true
		close(q.hurry)
	}
}

// work records what is in the queue until there is nothing more. It gathers
// first: what is written while a run waits for its disk makes that slower.
func (r *Recorder) work() {
	for hurried := false; ; {
		hurried = hurried || r.queue.pause(gatherFor)
		batch, lost := r.queue.take()
		if len(batch) == 0 {
			return
		}
		hurried = r.recordBatch(batch, hurried)
		if lost > 0 {
			r.Record(Event{Type: Error, Error: &Failure{Code: "LIMIT_EXCEEDED",
				Details: fmt.Sprintf("%d events were not recorded: too many waited", lost)}})
		}
		reach(batch)
	}
}

// reach tells those who waited for what was before them. Nobody is told before
// it is recorded how many events were lost: who closes would miss that.
func reach(batch []waiting) {
	for _, each := range batch {
		if each.reached != nil {
			close(each.reached)
		}
	}
}

// recordBatch records what was taken, with pauses unless that is in a hurry,
// and says whether what came meanwhile is.
func (r *Recorder) recordBatch(batch []waiting, hurried bool) (overtaken bool) {
	for part := range slices.Chunk(batch, maxTogether) {
		r.recordWaiting(part)
		if !hurried && !overtaken {
			overtaken = r.queue.pause(breath)
		}
	}
	return overtaken
}

// pause waits a while, or until somebody is in a hurry: then it returns true.
func (q *queue) pause(long time.Duration) (hurried bool) {
	patience := time.NewTimer(long)
	defer patience.Stop()
	select {
	case <-patience.C:
		return false
	case <-q.hurry:
		return true
	}
}

// recordWaiting records some of what waited.
func (r *Recorder) recordWaiting(part []waiting) {
	events := make([]Event, 0, len(part))
	for _, each := range part {
		switch {
		case each.reached != nil:
		case r.options.Complete != nil:
			events = append(events, r.options.Complete(each.event))
		default:
			events = append(events, each.event)
		}
	}
	if len(events) > 0 {
		r.record(events)
	}
}
