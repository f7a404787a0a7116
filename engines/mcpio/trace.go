package mcpio

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"

	"savant/internal/jsonvalue"
	"savant/telemetry"
)

// Members of _meta that carry a trace: the headers of W3C Trace Context.
const (
	metaTraceParent = "traceparent"
	metaTraceState  = "tracestate"
)

// traceOf returns the trace that a request belongs to, empty without one.
func traceOf(meta json.RawMessage) telemetry.Trace {
	if !bytes.Contains(meta, []byte(metaTraceParent)) { // most have none
		return telemetry.Trace{}
	}
	return telemetry.Trace{Parent: jsonvalue.TextMember(meta, metaTraceParent), State: jsonvalue.TextMember(meta, metaTraceState)}
}

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
	meta[metaTraceParent] = trace.Parent
	if trace.State != "" {
		meta[metaTraceState] = trace.State
	}
}

// traced returns the context of a call within its trace, and what ends the
// span of the call.
func (c *connection) traced(ctx context.Context, r *request) (context.Context, func()) {
	ctx = telemetry.WithTrace(ctx, traceOf(r.message.Params.Meta))
	if c.server.options.Trace == nil {
		return ctx, func() {}
	}
	inside, end := c.server.options.Trace(ctx, telemetry.Event{Type: telemetry.Request, Source: telemetry.SourceMCP, ToolName: r.call.tool})
	return inside, func() {
		ended := telemetry.Event{Type: telemetry.Request, Source: telemetry.SourceMCP, ToolName: r.call.tool,
			Metadata: map[string]any{telemetry.MetaRequestID: string(bytes.Trim(r.message.ID, `"`)), telemetry.MetaProtocol: r.session.version}}
		switch {
		case errors.Is(context.Cause(ctx), errCancelledByClient):
			ended.Status, ended.Error = telemetry.StatusCanceled, &telemetry.Failure{Code: telemetry.StatusCanceled}
		case r.call.code != "":
			ended.Error = &telemetry.Failure{Code: string(r.call.code)}
		}
		end(ended)
	}
}
