package engines

import (
	"cmp"
	"context"
	"strings"
	"sync"
	"time"

	"savant/fault"
)

// Health is the state of one engine.
type Health struct {
	Engine      string `json:"engine"`
	Description string `json:"description,omitempty"`
	Status
	// Tools are the canonical names of its tools.
	Tools []string `json:"tools"`
	// Running and Waiting count its current calls.
	Running int `json:"running"`
	Waiting int `json:"waiting"`
	// Left counts the calls that still run although their caller got an answer, because
	// of a timeout or because the caller left. Each keeps its place.
	Left int `json:"left"`
}

// statusTime bounds how long an engine may take to return its status.
const statusTime = 5 * time.Second

// Health asks all engines for their status concurrently and returns them sorted by
// name. An engine that does not answer in time is offline. So is an engine without a
// Status function whose last call failed with ENGINE_OFFLINE.
func (r *Registry) Health(ctx context.Context) []Health {
	names := r.Engines()
	all := make([]Health, len(names))
	var asked sync.WaitGroup
	for i, name := range names {
		asked.Go(func() { all[i] = r.healthOf(ctx, name) })
	}
	asked.Wait()
	return all
}

func (r *Registry) healthOf(ctx context.Context, name string) Health {
	port := r.table.now().engines[name]
	if port == nil { // removed meanwhile
		return Health{Engine: name, Tools: []string{}, Status: Status{State: Offline, Reason: "the engine was removed"}}
	}
	health := Health{Engine: name, Description: port.engine.Description, Tools: []string{},
		Status: r.table.status(ctx, port), Running: len(port.places), Waiting: int(port.waiting.Load()), Left: int(port.left.Load())}
	for _, tool := range r.Engine(name) {
		health.Tools = append(health.Tools, tool.Name)
	}
	return health
}

// status returns the status of an engine. A panic counts as offline.
func (t *table) status(ctx context.Context, of *port) Status {
	if of.engine.Status == nil {
		if down := of.down.Load(); down != nil {
			return Status{State: Offline, Reason: *down}
		}
		return Status{State: Ready}
	}
	ctx, cancel := context.WithTimeout(ctx, statusTime)
	defer cancel()
	said := make(chan Status, 1)
	go func() {
		defer func() {
			if cause := recover(); cause != nil {
				t.options.Logger.ErrorContext(ctx, "asking for a status panicked", "engine", of.engine.Name, "panic", cause)
				said <- Status{State: Offline, Reason: "its status is not known; the log has the cause"}
			}
		}()
		said <- of.engine.Status(ctx)
	}()
	select {
	case status := <-said:
		if status.State != "" {
			return status
		}
	case <-ctx.Done():
	}
	return Status{State: Offline, Reason: "it did not report its status"}
}

// remember stores why the engine was offline.
func (p *port) remember(failure *fault.Error) {
	if failure.Code == fault.EngineOffline {
		p.down.Store(&failure.Details)
	}
}

// Missing returns ENGINE_OFFLINE, or the code of the engine's status, if the prefix of
// an unknown tool's name is an engine that is offline, disabled or not started yet: its
// tools may not be known. It returns UNKNOWN_TOOL if the status names the tool, which is
// then not published for the reason beside it.
func (r *Registry) Missing(ctx context.Context, name string) error {
	for _, engine := range r.Engines() {
		port := r.table.now().engines[engine]
		own, prefixed := strings.CutPrefix(name, engine+".")
		if !prefixed {
			own, prefixed = strings.CutPrefix(name, Underscored(engine)+"_")
		}
		if port == nil || !prefixed {
			continue
		}
		status := r.table.status(ctx, port)
		unseen := status.State == Idle && len(r.Engine(engine)) == 0
		if unseen || status.State == Offline || status.State == Disabled {
			return fault.New(cmp.Or(status.Code, fault.EngineOffline), "engine %s is %s: %s", engine, status.State, status.Reason)
		}
		if _, why, named := strings.Cut("; "+status.Reason, "; "+own+": "); named {
			return fault.New(fault.UnknownTool, "engine %s does not publish %s: %s", engine, own, fault.Cut(why, maxEcho))
		}
	}
	return nil
}
