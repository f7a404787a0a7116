package engines

import (
	"context"
	"slices"
	"strings"
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
	// for think, agent and workflow. A call that waits for a person is not
	// counted.
	Concurrency int
	// OrderBy names a string argument: calls of one client in which it has the
	// same value run one after the other, in the order they came. "": any order.
	OrderBy string
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
