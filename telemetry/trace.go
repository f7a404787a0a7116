package telemetry

import (
	"context"
	"regexp"
)

// Trace is a place in a trace, as W3C Trace Context writes it: the values of
// traceparent and tracestate.
type Trace struct{ Parent, State string }

// traceParent is the form of version 00; a trace or span of zeros is none.
var (
	traceParent = regexp.MustCompile(`^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$`)
	traceZeros  = regexp.MustCompile(`^00-(0{32}-|[0-9a-f]{32}-0{16})`)
	traceState  = regexp.MustCompile(`^[ -~]{1,512}$`)
)

type traceKey struct{}

// WithTrace returns a context for work that belongs to a trace. What is no
// traceparent leaves ctx as it is; what is no tracestate is left out.
func WithTrace(ctx context.Context, trace Trace) context.Context {
	if !traceParent.MatchString(trace.Parent) || traceZeros.MatchString(trace.Parent) {
		return ctx
	}
	if !traceState.MatchString(trace.State) {
		trace.State = ""
	}
	return context.WithValue(ctx, traceKey{}, trace)
}

// TraceFrom returns the place in a trace that work has, empty where it has none.
func TraceFrom(ctx context.Context) Trace {
	trace, _ := ctx.Value(traceKey{}).(Trace)
	return trace
}

// Tracer opens a span for the work that an event begins. It returns the
// context of that work, and what ends the span, given how it went. The types
// RunStarted, ReasoningStep, ToolCallStarted and Request begin work.
type Tracer func(ctx context.Context, begun Event) (context.Context, func(ended Event))

// Span opens a span where spans are wanted. It records nothing; arguments and
// outputs are not shown, and secrets are taken out of the rest. The function it
// returns has to be called once.
func (r *Recorder) Span(ctx context.Context, begun Event) (context.Context, func(Event)) {
	if r == nil || r.options.Trace == nil {
		return ctx, func(Event) {}
	}
	inside, end := r.options.Trace(ctx, r.options.Redactor.event(bare(begun)))
	return inside, func(ended Event) { end(r.options.Redactor.event(bare(ended))) }
}

// bare is an event without what was worked on.
func bare(e Event) Event {
	e.Args, e.Output = nil, ""
	return e
}
