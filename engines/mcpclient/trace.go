package mcpclient

import (
	"context"

	"savant/telemetry"
)

// carryTrace puts the trace of ctx, where there is one, into the parameters of
// a request to another server.
func carryTrace(ctx context.Context, params map[string]any) {
	trace := telemetry.TraceFrom(ctx)
	if trace.Parent == "" {
		return
	}
	meta, has := params["_meta"].(map[string]any)
	if !has {
		meta = map[string]any{}
		params["_meta"] = meta
	}
	meta["traceparent"] = trace.Parent
	if trace.State != "" {
		meta["tracestate"] = trace.State
	}
}
