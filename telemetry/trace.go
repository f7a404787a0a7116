package telemetry

import (
	"context"

	"go.opentelemetry.io/otel/propagation"
)

// Trace is a position in a trace: the values of traceparent and tracestate (W3C
// Trace Context).
type Trace struct{ Parent, State string }

// The names of the values of a Trace.
const (
	traceParent = "traceparent"
	traceState  = "tracestate"
)

// WithTrace returns a context for work within a trace. If traceparent is invalid, it
// returns ctx; it drops an invalid tracestate.
func WithTrace(ctx context.Context, trace Trace) context.Context {
	return propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{traceParent: trace.Parent, traceState: trace.State})
}

// TraceFrom returns the trace of a context, or an empty one.
func TraceFrom(ctx context.Context) Trace {
	carried := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carried)
	return Trace{Parent: carried[traceParent], State: carried[traceState]}
}

// Tracer opens a span for the work that an event begins. It returns the context of that
// work and a function that ends the span with the final event. RunStarted,
// ReasoningStep, ToolCallStarted and Request begin work.
type Tracer func(ctx context.Context, begun Event) (context.Context, func(ended Event))

// Span opens a span if Options.Trace is set. It records no event. A span contains no
// arguments, outputs or error details; the rest is redacted. The returned function must
// be called once.
func (r *Recorder) Span(ctx context.Context, begun Event) (context.Context, func(Event)) {
	if r == nil || r.options.Trace == nil {
		return ctx, func(Event) {}
	}
	inside, end := r.options.Trace(ctx, clean(r.options.Redactor, bare(begun)))
	return inside, func(ended Event) { end(clean(r.options.Redactor, bare(ended))) }
}

// bare removes arguments and output, and error details, which may quote them.
func bare(e Event) Event {
	e.Args, e.Output = nil, ""
	if e.Error != nil {
		e.Error = &Failure{Code: e.Error.Code}
	}
	return e
}
