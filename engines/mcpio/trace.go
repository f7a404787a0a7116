package mcpio

import (
	"bytes"
	"context"
	"errors"

	"savant/internal/jsonvalue"
	"savant/telemetry"
)

// Members of _meta that carry a trace: the headers of W3C Trace Context.
const (
	metaTraceParent = "traceparent"
	metaTraceState  = "tracestate"
)

// traced returns the context of a call within its trace, and the function that ends the
// call's span.
func (c *connection) traced(ctx context.Context, asked *call) (context.Context, func()) {
	var within telemetry.Trace
	if meta := asked.params.Meta; bytes.Contains(meta, []byte(metaTraceParent)) { // most requests have none
		within = telemetry.Trace{Parent: jsonvalue.TextMember(meta, metaTraceParent), State: jsonvalue.TextMember(meta, metaTraceState)}
	}
	ctx = telemetry.WithTrace(ctx, within)
	if c.server.options.Trace == nil {
		return ctx, func() {}
	}
	inside, end := c.server.options.Trace(ctx, telemetry.Event{Type: telemetry.Request, Source: telemetry.SourceMCP, ToolName: asked.target.Name()})
	transport := "pipe"
	if asked.Scope != "" { // an Exchange of Exchanges
		transport = "tcp"
	}
	return inside, func() {
		ended := telemetry.Event{Type: telemetry.Request, Source: telemetry.SourceMCP, ToolName: asked.target.Name(),
			Metadata: map[string]any{telemetry.MetaRequestID: string(bytes.Trim(asked.ID, `"`)), telemetry.MetaProtocol: asked.Peer.Protocol, telemetry.MetaTransport: transport}}
		switch {
		case errors.Is(context.Cause(ctx), ErrCancelledByClient):
			ended.Status, ended.Error = telemetry.StatusCanceled, &telemetry.Failure{Code: telemetry.StatusCanceled}
		case asked.code != "":
			ended.Error = &telemetry.Failure{Code: string(asked.code)}
		}
		end(ended)
	}
}
