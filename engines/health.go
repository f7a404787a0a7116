package engines

import (
	"context"
	"strings"
	"sync"
	"time"

	"savant/fault"
)

// Health is one engine and how it is.
type Health struct {
	Engine      string `json:"engine"`
	Description string `json:"description,omitempty"`
	Status
	// Tools are the canonical names of its tools.
	Tools []string `json:"tools"`
	// Running and Waiting are its calls at this moment.
	Running int `json:"running"`
	Waiting int `json:"waiting"`
	// Left are calls whose caller was answered when their time was over, or who
	// went away, and whose tool goes on all the same. Each holds its place.
	Left int `json:"left"`
}

// statusTime is how long an engine may take to say how it is.
const statusTime = 5 * time.Second

// Health asks every engine at once how it is, and returns them sorted by name.
// One that does not answer in time is offline; so is one without a Status of
// its own whose last call was ENGINE_OFFLINE.
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
	if port == nil { // it went while it was asked
		return Health{Engine: name, Tools: []string{}, Status: Status{State: Offline, Reason: "it is gone"}}
	}
	health := Health{Engine: name, Description: port.engine.Description, Tools: []string{},
		Status: r.table.status(ctx, port), Running: len(port.places), Waiting: int(port.waiting.Load()), Left: int(port.left.Load())}
	for _, tool := range r.Engine(name) {
		health.Tools = append(health.Tools, tool.Name)
	}
	return health
}

// status asks an engine how it is; what it does wrong is its own status.
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
				said <- Status{State: Offline, Reason: "its status cannot be told; the log has the cause"}
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
	return Status{State: Offline, Reason: "it did not say how it is"}
}

// remember keeps why an engine could not be reached.
func (p *port) remember(failed *fault.Error) {
	if failed.Code == fault.EngineOffline {
		p.down.Store(&failed.Details)
	}
}

// missing is ENGINE_OFFLINE when a name that no tool has belongs to an engine
// that is not there to have it: a server that was never reached has no tools.
func (r *Registry) missing(ctx context.Context, name string) error {
	for _, engine := range r.Engines() {
		port := r.table.now().engines[engine]
		if port == nil {
			continue
		}
		if !strings.HasPrefix(name, engine+".") && !strings.HasPrefix(name, Underscored(engine)+"_") {
			continue
		}
		status := r.table.status(ctx, port)
		unseen := status.State == Idle && len(r.Engine(engine)) == 0
		if unseen || status.State == Offline || status.State == Disabled {
			return fault.New(fault.EngineOffline, "engine %s is %s: %s", engine, status.State, status.Reason)
		}
	}
	return nil
}
