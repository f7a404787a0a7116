package app

import (
	"context"
	"slices"
	"time"

	"savant/cmd/savant/terminal"
	"savant/engines"
	"savant/engines/guide"
	"savant/engines/mcpio"
	"savant/telemetry"
)

// Server returns an MCP server of the engines that are published.
func (a *App) Server(ctx context.Context, published *engines.Registry) (_ *mcpio.Server, err error) {
	var offer engines.Offer // prompts and resources are Think's
	if slices.Contains(published.Engines(), "think") {
		if offer, err = guide.Catalog(ctx, a.Think); err != nil {
			return nil, err
		}
		offer.ReadResource = withHints(offer.ReadResource)
	}
	return mcpio.New(mcpio.Options{
		Name:       "savant",
		Title:      "Savant",
		Version:    a.options.Version,
		Registry:   published,
		BeforeList: a.Mounts.Reload,
		Offer:      offer,
		Logger:     a.Logger,
		ToolNames:  a.settings.ToolNames,
		SlowCall:   a.settings.SlowCall,
		Trace:      a.trace(),
	})
}

// trace opens the spans of requests; nil where no traces are wanted.
func (a *App) trace() telemetry.Tracer {
	if a.calls.tracing == nil {
		return nil
	}
	return a.Recorder.Span
}

// healthPatience bounds what asking the engines may add to a start: clients give
// up on a server that is silent for seconds.
const healthPatience = 250 * time.Millisecond

// LogHealth writes one line of how the published engines are.
func (a *App) LogHealth(ctx context.Context, published *engines.Registry) {
	asking, cancel := context.WithTimeout(ctx, healthPatience)
	defer cancel()
	var states []any
	for _, each := range published.Health(asking) {
		state := each.State
		if each.Reason != "" {
			state += ": " + each.Reason
		}
		if each.Left > 0 {
			state += ", " + terminal.Count(each.Left, "call") + " left behind"
		}
		states = append(states, each.Engine, state)
	}
	a.Logger.InfoContext(ctx, "engines", states...)
}
