package engines

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"savant/fault"
	"savant/internal/pattern"
)

// Engine is what is common to the tools of one name before the dot.
type Engine struct {
	// Name is what the names of its tools begin with.
	Name string
	// Description is one line for a person.
	Description string
	// Concurrency is how many of its calls run at once; 0 is 16, and no bound
	// for a conductor.
	Concurrency int
	// Timeout is how long a call of a tool that sets none may take, waiting
	// for its place included; 0: as long as its caller waits.
	Timeout time.Duration
	// Status says how the engine is now, without starting anything; nil: it is
	// ready. It may be called by several goroutines at once.
	Status func(context.Context) Status
}

// The states of an engine.
const (
	Ready    = "ready"    // calls are answered
	Idle     = "idle"     // it starts with the first call
	Offline  = "offline"  // calls are ENGINE_OFFLINE until it is mended
	Disabled = "disabled" // somebody switched it off
)

// Status is how an engine is.
type Status struct {
	// State is Ready, Idle, Offline or Disabled.
	State string `json:"state"`
	// Reason says why, and what to do; empty when ready.
	Reason string `json:"reason,omitempty"`
}

// conductors are the engines whose calls only drive the calls of others. Their
// results are no witness of the world, so they leave no receipts; they bound
// their results themselves; and they take no place while they wait for the
// calls they make, so that no circle of waiting can form.
var conductors = []string{"think", "agent", "workflow"}

func conducts(engine string) bool { return slices.Contains(conductors, engine) }

// EngineOf returns what stands before the first dot of a tool's name.
func EngineOf(name string) string {
	engine, _, _ := strings.Cut(name, ".")
	return engine
}

var engineName = pattern.Lazy(`^[A-Za-z0-9_-]+$`)

// check reports a name that is none, and tools that are not the engine's.
func (e Engine) check(tools []Tool) error {
	if !engineName().MatchString(e.Name) || len(e.Name) > maxName || strings.Contains(e.Name, "__") {
		return fault.New(fault.InvalidParams, "%q is not a name of an engine: expected letters, digits, - and single _", fault.Cut(e.Name, maxName))
	}
	for _, tool := range tools {
		if EngineOf(tool.Name) != e.Name {
			return fault.New(fault.InvalidParams, "%q is not a tool of engine %s: its name has to begin with %s.", fault.Cut(tool.Name, maxName), e.Name, e.Name)
		}
	}
	return nil
}

const (
	defaultConcurrency = 16
	// queuePerPlace is how many calls may wait for each that runs.
	queuePerPlace = 16
)

// port is where the calls of one engine pass.
type port struct {
	engine Engine
	// places holds one value for each call that runs; nil: there is no bound.
	places  chan struct{}
	waiting atomic.Int64
	// left are the calls that go on although nobody waits for them any more.
	left atomic.Int64
	// down is the details of the last call when it was ENGINE_OFFLINE.
	down atomic.Pointer[string]
}

func newPort(engine Engine) *port {
	made := &port{engine: engine}
	if engine.Concurrency == 0 && !conducts(engine.Name) {
		engine.Concurrency = defaultConcurrency
	}
	if engine.Concurrency > 0 {
		made.places = make(chan struct{}, engine.Concurrency)
	}
	return made
}

// enter takes a place, or waits for one until ctx ends. A queue that is full,
// and a wait that is over, is ENGINE_BUSY: the call was not begun.
func (p *port) enter(ctx context.Context) error {
	if p.places == nil {
		return nil
	}
	select {
	case p.places <- struct{}{}:
		return nil
	default:
	}
	defer p.waiting.Add(-1)
	if waiting := p.waiting.Add(1); waiting > int64(queuePerPlace*cap(p.places)) {
		return fault.New(fault.EngineBusy, "engine %s has %d calls running and %d waiting; call again later", p.engine.Name, cap(p.places), waiting-1)
	}
	select {
	case p.places <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fault.New(fault.EngineBusy, "engine %s had no place for the call while it could wait: %w", p.engine.Name, ctx.Err())
	}
}

func (p *port) leave() {
	if p.places != nil {
		<-p.places
	}
}
