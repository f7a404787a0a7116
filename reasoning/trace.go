package reasoning

import (
	"context"
	"net/http"
	"strings"

	"savant/internal/pattern"
)

// trace is a place in a trace, as W3C Trace Context writes it.
type trace struct{ parent, state string }

type traceKey struct{}

// traceShape is the traceparent of W3C Trace Context, version 00.
var traceShape = pattern.Lazy(`^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$`)

// maxTraceState is how long a tracestate may be, in bytes, to be passed on.
const maxTraceState = 512

// WithTrace returns a context whose requests carry a trace: the values of the
// W3C headers traceparent and tracestate. What is no traceparent is left out
// with its state, what is no tracestate alone.
func WithTrace(ctx context.Context, parent, state string) context.Context {
	if !traceShape().MatchString(parent) {
		return ctx
	}
	if len(state) > maxTraceState || strings.ContainsFunc(state, func(r rune) bool { return r < ' ' || r > '~' }) {
		state = ""
	}
	return context.WithValue(ctx, traceKey{}, trace{parent, state})
}

// setTrace writes the trace of a context into a header.
func setTrace(ctx context.Context, header http.Header) {
	carried, is := ctx.Value(traceKey{}).(trace)
	if !is {
		return
	}
	header.Set("Traceparent", carried.parent)
	if carried.state != "" {
		header.Set("Tracestate", carried.state)
	}
}
