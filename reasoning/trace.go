package reasoning

import (
	"context"
	"regexp"
)

type traceKey struct{}

// traceShape is the traceparent of W3C Trace Context, version 00.
var traceShape = regexp.MustCompile(`^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$`)

// WithTraceparent returns a context whose requests carry a trace: the value of
// the W3C header traceparent. What is not one is left out.
func WithTraceparent(ctx context.Context, parent string) context.Context {
	if !traceShape.MatchString(parent) {
		return ctx
	}
	return context.WithValue(ctx, traceKey{}, parent)
}

func traceparent(ctx context.Context) string {
	parent, _ := ctx.Value(traceKey{}).(string)
	return parent
}
