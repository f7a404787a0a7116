package engines

import (
	"context"
	"slices"
	"strings"
	"time"

	"savant/fault"
	"savant/internal/pattern"
)

// Engine describes a group of tools whose names share a prefix.
type Engine struct {
	// Name is the prefix of its tools' names, without the dot.
	Name string
	// Description is one line for people.
	Description string
	// Concurrency is the maximum number of concurrent calls; 0 means 16, and no limit
	// for think, agent and workflow. A call that waits for a person does not count.
	Concurrency int
	// OrderBy names a string argument. Calls of one client with the same value of it
	// run sequentially, in the order of arrival. Empty: calls are not ordered.
	OrderBy string
	// Timeout bounds a call whose tool sets no timeout, including the wait for a place;
	// 0: no bound.
	Timeout time.Duration
	// Status returns the engine's state without starting anything; nil means always
	// ready. It may be called concurrently.
	Status func(context.Context) Status
}

// The states of an engine.
const (
	Ready    = "ready"    // calls are served
	Idle     = "idle"     // it starts with the first call
	Offline  = "offline"  // calls fail with ENGINE_OFFLINE until the cause is gone
	Disabled = "disabled" // switched off by configuration
)

// Status is the state of an engine.
type Status struct {
	// State is Ready, Idle, Offline or Disabled.
	State string `json:"state"`
	// Reason says why, and what to do; empty if ready.
	Reason string `json:"reason,omitempty"`
	// Code is the code of calls while the engine is offline; empty means
	// ENGINE_OFFLINE.
	Code fault.Code `json:"code,omitempty"`
}

// drivers are the engines whose calls only make calls of other engines, or judge a text. They leave no
// receipts, since their results prove nothing about the world, and they bound their
// results themselves. By default their concurrency is unlimited, so that calls waiting
// for calls cannot deadlock.
var drivers = []string{"think", "agent", "author", "workflow"}

func isDriver(engine string) bool { return slices.Contains(drivers, engine) }

// authorTools begins the names of the tools of the engine author. They stand beside those
// of think, whose words they are about, and are published by themselves.
const authorTools = "think.author."

// EngineOf returns the engine's name in a tool's name: the part before the first dot, and
// author for think.author.*.
func EngineOf(name string) string {
	if strings.HasPrefix(name, authorTools) {
		return "author"
	}
	engine, _, _ := strings.Cut(name, ".")
	return engine
}

var engineName = pattern.Lazy(`^[A-Za-z0-9_-]+$`)

// check refuses an invalid engine name and tools of other engines.
func (e Engine) check(tools []Tool) error {
	if !engineName().MatchString(e.Name) || len(e.Name) > maxName || strings.Contains(e.Name, "__") {
		return fault.New(fault.InvalidParams, "%q is not a name of an engine: expected letters, digits, - and single _", fault.Cut(e.Name, maxName))
	}
	for _, tool := range tools {
		if EngineOf(tool.Name) != e.Name {
			return fault.New(fault.InvalidParams, "%q is not a tool of engine %s: its name must begin with %s.", fault.Cut(tool.Name, maxName), e.Name, e.Name)
		}
	}
	return nil
}
