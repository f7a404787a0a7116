package mcpio

import (
	"sync"
	"sync/atomic"
)

// maxResting bounds the goroutines that a connection keeps between calls.
const maxResting = 64

// crew does jobs on goroutines that stay for the next one. The stack that a
// call needs is then there: growing one anew, for each, is a twentieth of what
// a step costs (BenchmarkRuns).
type crew struct {
	jobs    chan func()
	resting atomic.Int64
	// gone ends those that rest.
	gone <-chan struct{}
	// busy counts the jobs that are not done.
	busy sync.WaitGroup
}

func newCrew(gone <-chan struct{}) *crew {
	return &crew{jobs: make(chan func()), gone: gone}
}

// Go does a job at once, on one that rests or on a new one.
func (c *crew) Go(job func()) {
	c.busy.Add(1)
	select {
	case c.jobs <- job:
	default:
		go c.work(job)
	}
}

// Wait waits until all jobs are done.
func (c *crew) Wait() { c.busy.Wait() }

func (c *crew) work(job func()) {
	for job != nil {
		c.do(job)
		job = c.next()
	}
}

func (c *crew) do(job func()) {
	defer c.busy.Done()
	job()
}

// next returns nil where there is no reason to stay.
func (c *crew) next() func() {
	defer c.resting.Add(-1)
	if c.resting.Add(1) > maxResting {
		return nil
	}
	select {
	case job := <-c.jobs:
		return job
	case <-c.gone:
		return nil
	}
}
