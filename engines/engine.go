package engines

import (
	"context"
	"slices"
	"strings"
	"time"

	"savant/fault"
	"savant/internal/pattern"
)

// Engine is what the tools whose names begin with one engine's have in common.
type Engine struct {
	// Name is what stands before the first dot of its tools' names.
	Name string
	// Description is one line for a person.
	Description string
	// Concurrency is how many of its calls run at once; 0 is 16, and no bound
	// for think, agent and workflow. A call that waits for a person is not
	// counted.
	Concurrency int
	// OrderBy names a string argument: calls of one client in which it has the
	// same value run one after the other, in the order they came. "": any order.
	OrderBy string
	// Timeout is how long a call may take if its tool sets no time, including the
	// wait for a place; 0: as long as its caller waits.
	Timeout time.Duration
	// Status returns the state of the engine without starting anything; nil: it
	// is ready. It may be called by several goroutines at once.
	Status func(context.Context) Status
}

// The states of an engine.
const (
	Ready    = "ready"    // calls are answered
	Idle     = "idle"     // it starts with the first call
	Offline  = "offline"  // calls are ENGINE_OFFLINE until the cause is gone
	Disabled = "disabled" // somebody switched it off
)

// Status is the state of an engine.
type Status struct {
	// State is Ready, Idle, Offline or Disabled.
	State string `json:"state"`
	// Reason says why, and what to do; empty when ready.
	Reason string `json:"reason,omitempty"`
	// Code is that of calls while it is offline; empty is ENGINE_OFFLINE.
	Code fault.Code `json:"code,omitempty"`
}

// drivers are the engines whose calls only drive the calls of other engines.
// Their results prove nothing about the world, so they leave no receipts. They
// bound their results themselves. Unless they say otherwise, the number of their
// calls is not limited, so that calls that wait for calls cannot deadlock.
var drivers = []string{"think", "agent", "workflow"}

func isDriver(engine string) bool { return slices.Contains(drivers, engine) }

// EngineOf returns the engine of a tool's name: what stands before its first dot.
func EngineOf(name string) string {
	engine, _, _ := strings.Cut(name, ".")
	return engine
}

var engineName = pattern.Lazy(`^[A-Za-z0-9_-]+$`)

// check refuses a name that cannot be an engine's, and tools of other engines.
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
