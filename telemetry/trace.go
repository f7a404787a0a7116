package telemetry

import (
	"context"
	"strings"
)

// Trace is a place in a trace, as W3C Trace Context writes it: the values of
// traceparent and tracestate.
type Trace struct{ Parent, State string }

type traceKey struct{}

// WithTrace returns a context for work that belongs to a trace. What is no
// traceparent leaves ctx as it is; what is no tracestate is left out.
func WithTrace(ctx context.Context, trace Trace) context.Context {
	if !isTraceParent(trace.Parent) {
		return ctx
	}
	if len(trace.State) > maxTraceState || strings.ContainsFunc(trace.State, func(r rune) bool { return r < ' ' || r > '~' }) {
		trace.State = ""
	}
	return context.WithValue(ctx, traceKey{}, trace)
}

// maxTraceState is how long a tracestate may be, in bytes, to be passed on.
const maxTraceState = 512

// isTraceParent knows version 00 of W3C Trace Context: 00, a trace, a span and
// flags in lower-case hex. A trace or a span of zeros is none.
func isTraceParent(text string) bool {
	fields := strings.Split(text, "-")
	return len(fields) == 4 && fields[0] == "00" && isHex(fields[1], 32) && isHex(fields[2], 16) && isHex(fields[3], 2) &&
		strings.Trim(fields[1], "0") != "" && strings.Trim(fields[2], "0") != ""
}

func isHex(text string, length int) bool {
	return len(text) == length && strings.Trim(text, "0123456789abcdef") == ""
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

// Span opens a span where spans are wanted. It records nothing; arguments,
// outputs and details of errors are not shown, and secrets are taken out of the
// rest. The function it
// returns has to be called once.
func (r *Recorder) Span(ctx context.Context, begun Event) (context.Context, func(Event)) {
	if r == nil || r.options.Trace == nil {
		return ctx, func(Event) {}
	}
	inside, end := r.options.Trace(ctx, clean(r.options.Redactor, bare(begun)))
	return inside, func(ended Event) { end(clean(r.options.Redactor, bare(ended))) }
}

// bare is an event without what was worked on. Details of errors may quote it.
func bare(e Event) Event {
	e.Args, e.Output = nil, ""
	if e.Error != nil {
		e.Error = &Failure{Code: e.Error.Code}
	}
	return e
}
