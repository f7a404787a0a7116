package engines

import (
	"context"
	"sync"
	"sync/atomic"

	"savant/fault"
)

const (
	defaultConcurrency = 16
	// queuePerPlace is how many calls may wait per running call.
	queuePerPlace = 16
)

// port is the limiter of one engine, shared by all callers: it bounds the running and
// the waiting calls.
type port struct {
	engine Engine
	// places is a semaphore for running calls; nil: no limit.
	places  chan struct{}
	waiting atomic.Int64
	// left counts the calls that still run although their caller no longer waits.
	left atomic.Int64
	// down holds the details of the last call if it failed with ENGINE_OFFLINE.
	down atomic.Pointer[string]
}

func newPort(engine Engine) *port {
	made := &port{engine: engine}
	if engine.Concurrency == 0 && !isDriver(engine.Name) {
		engine.Concurrency = defaultConcurrency
	}
	if engine.Concurrency > 0 {
		made.places = make(chan struct{}, engine.Concurrency)
	}
	return made
}

// enter takes a place, waiting until ctx ends. A full queue and an ended wait are
// ENGINE_BUSY: the call was not started.
func (p *port) enter(ctx context.Context) (*slot, error) {
	taken := &slot{port: p}
	select {
	case p.places <- struct{}{}:
		return taken, nil
	default:
		if p.places == nil {
			return taken, nil
		}
	}
	defer p.waiting.Add(-1)
	if waiting := p.waiting.Add(1); waiting > int64(queuePerPlace*cap(p.places)) {
		return nil, fault.New(fault.EngineBusy, "engine %s has %d calls running and %d waiting; call again later", p.engine.Name, cap(p.places), waiting-1)
	}
	select {
	case p.places <- struct{}{}:
		return taken, nil
	case <-ctx.Done():
		return nil, fault.New(fault.EngineBusy, "every place of engine %s was taken until the call timed out or was cancelled: %w", p.engine.Name, ctx.Err())
	}
}

// slot is the place of one call. The call releases it while it waits for a person.
type slot struct {
	port *port

	mutex     sync.Mutex
	questions int // that are unanswered
	left      bool
}

// releaseWhileAsking returns a call that releases its place while a person is asked.
func (p *slot) releaseWhileAsking(call Call) Call {
	person := call.Person
	if person == nil || p.port.places == nil {
		return call
	}
	call.Person = PersonFunc(func(ctx context.Context, question Elicitation) (Answer, error) {
		p.count(1)
		defer p.count(-1)
		return person.Ask(ctx, question)
	})
	return call
}

// count releases the place at the first open question and takes one again after the
// last.
func (p *slot) count(questions int) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.questions == 0 && !p.left {
		<-p.port.places
	}
	p.questions += questions
	if p.questions == 0 && !p.left {
		p.port.places <- struct{}{}
	}
}

// leave releases the place; count cannot take it again.
func (p *slot) leave() {
	if p.port.places == nil {
		return
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.questions == 0 && !p.left {
		<-p.port.places
	}
	p.left = true
}
