package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"savant/agent"
	"savant/agent/fleet"
	"savant/agent/memory"
	"savant/agent/memory/mongosessions"
	"savant/engines"
	"savant/engines/guide"
	"savant/fault"
	"savant/internal/settings"
	"savant/reasoning"
	"savant/telemetry"
	"savant/think/library"
)

// cacheFor is how long the result of a local tool that only reads answers the same call
// again.
const cacheFor = 2 * time.Second

// openAgent creates the agent and its tools.
func (a *App) openAgent() error {
	client, name, err := a.Reasoner(a.settings.Reasoning, a.recordAttempt)
	if err != nil {
		return err
	}
	given := a.settings.Agent
	sessions := memory.Open(a.Root, time.Now)
	var dispatcher agent.Dispatcher
	if a.settings.Store == settings.StoreMongo {
		if sessions, err = a.openFleet(); err != nil {
			return err
		}
		dispatcher = a.Fleet
		defer func() { a.Fleet.Use(a.Agent) }()
	}
	a.Agent = agent.New(agent.Options{
		Toolbox: a.Tools, Decider: namedClient{client, name}, Project: agentProject{a}, Display: a.options.Display, Prices: a.prices(), Memory: sessions, Dispatcher: dispatcher, Recorder: a.Recorder, Runs: &guide.Runs{Engine: a.Think},
		Policy: agent.Policy{DisableTools: given.DisableTools, DisableContext: given.DisableContext, DisableSearch: given.DisableSearch,
			AllowThink: given.AllowThink, Approver: a.options.Approver},
		DisableDetect: given.DisableDetect, SnapshotPause: agent.DefaultPause, TimeoutMS: int(a.settings.Reasoning.Timeout / time.Millisecond),
		MaxSteps: given.MaxSteps, RetryLimit: given.RetryLimit, CacheFor: cacheFor, Now: time.Now, NewID: newID, Logger: a.Logger})
	return a.addAgent()
}

// addAgent adds the agent's tools to the registry.
func (a *App) addAgent() error {
	return a.Tools.AddEngine(engines.Engine{Name: "agent", Description: "works on a goal by itself"}, a.Agent.Tools()...)
}

// prices returns the prices of models; nil if the settings have none.
func (a *App) prices() agent.Prices {
	if len(a.settings.Reasoning.Prices) == 0 {
		return nil
	}
	return a.settings.Reasoning.Prices
}

// namedClient is the client of the deciding service with its name.
type namedClient struct {
	*reasoning.Client
	name string
}

// Name implements agent.Decider, as Identify does.
func (n namedClient) Name() string { return n.name }

// Identify looks for the models of the built-in service.
func (n namedClient) Identify(ctx context.Context) string {
	if late, is := n.Transport().(*lateService); is {
		return late.name(ctx)
	}
	return n.name
}

// agentProject implements agent.Project.
type agentProject struct{ *App }

// AwaitTools waits for the tools of mounted servers.
func (p agentProject) AwaitTools(ctx context.Context) { p.AwaitMounts(ctx) }

// Workflows are the workflows of the library.
func (p agentProject) Workflows(context.Context) ([]string, error) {
	return p.Think.Library.Names(), p.Think.Library.Unlisted()
}

// Repo describes the repository at SAVANT_PATH.
func (p agentProject) Repo(ctx context.Context) (*reasoning.Repo, error) { return p.repository(ctx) }

// OpenSessions opens the runs of the agent in the folder or in the database, regardless
// of the settings.
func (a *App) OpenSessions(where string) (*memory.Store, error) {
	if where != settings.StoreMongo {
		return memory.Open(a.Root, time.Now), nil
	}
	place, err := a.openPlace()
	if err != nil {
		return nil, err
	}
	return memory.Over(place, time.Now), nil
}

// openPlace opens the runs of the agent in the database.
func (a *App) openPlace() (*mongosessions.Place, error) {
	database, err := a.openDatabase()
	if err != nil {
		return nil, err
	}
	host, err := os.Hostname()
	if err != nil {
		return nil, Misconfigured(fault.New(fault.InvalidParams, "this machine has no name: %w", err))
	}
	return mongosessions.Open(context.Background(), database, fmt.Sprintf("%s/%d", host, os.Getpid())), nil // its calls have timeouts
}

// openFleet opens the runs of the agent in the database, and the fleet that assigns
// them to workers.
func (a *App) openFleet() (*memory.Store, error) {
	place, err := a.openPlace()
	if err != nil {
		return nil, err
	}
	a.Fleet = fleet.New(fleet.Options{Place: place, Database: a.database, Logger: a.Logger})
	return memory.Over(place, time.Now), nil
}

// AwaitMounts waits until the tools of mounted servers are known, so that a first run can
// use them.
func (a *App) AwaitMounts(ctx context.Context) {
	if a.Mounts == nil {
		return
	}
	a.Mounts.Reload()
	if err := a.AwaitServers(ctx, a.Tools); err != nil {
		a.Logger.DebugContext(ctx, "the wait for mounted servers ended early", "cause", err.Error())
	}
}

// recordAttempt records a failed attempt to reach a model or the Reasoning API.
func (a *App) recordAttempt(_ context.Context, failed reasoning.Attempt) {
	kind := telemetry.Retry
	if failed.Last {
		kind = telemetry.Error
	}
	a.Recorder.RecordLater(telemetry.Event{Type: kind, Source: telemetry.SourceAgent, SessionID: failed.SessionID, RunID: failed.RunID, Step: failed.Step,
		DurationMS: float64(failed.Elapsed) / float64(time.Millisecond),
		Error:      &telemetry.Failure{Code: "REASONING_UNAVAILABLE", Details: fault.From(failed.Err).Details},
		Metadata:   map[string]any{"attempt": failed.Number, "wait_ms": failed.Wait.Milliseconds()}})
}

// Prompts reads the driver prompt, the personas and the rules of the agent.
func (p agentProject) Prompts(context.Context) (agent.Prompts, error) {
	return agentPrompts(p.Think.Library)
}

func agentPrompts(files *library.Library) (agent.Prompts, error) {
	var read agent.Prompts
	driver, complex, err := files.AgentPrompt()
	if err != nil {
		return read, err
	}
	read.Driver = reasoning.Driver{Version: driver.Version, Hash: driver.Hash, Text: driver.PromptMD, Complex: complex}
	whole, err := files.Prompts()
	if err != nil {
		return read, err
	}
	raw, err := json.Marshal(whole)
	if err != nil {
		return read, err
	}
	err = json.Unmarshal(raw, &read)
	if wrong, is := errors.AsType[*json.UnmarshalTypeError](err); is {
		err = fault.New(fault.PromptNotFound, "prompts.yml: %s cannot be of the type %s", wrong.Field, wrong.Value)
	}
	return read, err
}
