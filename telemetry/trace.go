package telemetry

import (
	"context"
	"strings"
)

// Trace is a position in a trace: the values of traceparent and tracestate (W3C
// Trace Context).
type Trace struct{ Parent, State string }

type traceKey struct{}

// WithTrace returns a context for work within a trace. If traceparent is invalid, it
// returns ctx; it drops an invalid tracestate.
func WithTrace(ctx context.Context, trace Trace) context.Context {
	if !isTraceParent(trace.Parent) {
		return ctx
	}
	if len(trace.State) > maxTraceState || strings.ContainsFunc(trace.State, func(r rune) bool { return r < ' ' || r > '~' }) {
		trace.State = ""
	}
	return context.WithValue(ctx, traceKey{}, trace)
}

// maxTraceState is the size limit of a tracestate in bytes.
const maxTraceState = 512

// isTraceParent accepts version 00 of W3C Trace Context: 00, a trace id, a span
// id and flags in lower-case hex. An id of zeros is invalid.
func isTraceParent(text string) bool {
	fields := strings.Split(text, "-")
	return len(fields) == 4 && fields[0] == "00" && isHex(fields[1], 32) && isHex(fields[2], 16) && isHex(fields[3], 2) &&
		strings.Trim(fields[1], "0") != "" && strings.Trim(fields[2], "0") != ""
}

func isHex(text string, length int) bool {
	return len(text) == length && strings.Trim(text, "0123456789abcdef") == ""
}

// TraceFrom returns the trace of a context, or an empty one.
func TraceFrom(ctx context.Context) Trace {
	trace, _ := ctx.Value(traceKey{}).(Trace)
	return trace
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
