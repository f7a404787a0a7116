package mcpio_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/engines"
	"savant/engines/mcpclient"
	"savant/engines/mcpio"
	"savant/fault"
	"savant/telemetry"
)

const parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

// tracing is a registry whose one tool says in which trace it was called.
func tracing(t *testing.T) *engines.Registry {
	t.Helper()
	registry := engines.NewRegistry(engines.Options{})
	type in struct {
		Fail bool `json:"fail,omitempty"`
	}
	tool := engines.Bind("test.trace", "Says its trace.", func(ctx context.Context, given in) (map[string]any, error) {
		trace := telemetry.TraceFrom(ctx)
		if given.Fail {
			return nil, fault.New(fault.ToolFailed, "as asked")
		}
		return map[string]any{"trace": trace.Parent + "/" + trace.State}, nil
	})
	tool.Title = "Trace"
	require.NoError(t, registry.Add(tool))
	return registry
}

func TestTheTraceOfARequestReachesItsTool(t *testing.T) {
	w := dial(t, mcpio.Options{Registry: tracing(t)})
	for meta, expected := range map[string]string{
		`{"traceparent":"` + parent + `","tracestate":"a=1"}`: parent + "/a=1",
		`{"traceparent":"` + parent + `"}`:                    parent + "/",
		`{"traceparent":"` + parent + `","tracestate":7}`:     parent + "/",
		`{"traceparent":["` + parent + `"]}`:                  "/",
		`{"traceparent":"no"}`:                                "/",
		`{}`:                                                  "/",
	} {
		w.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"test_trace","_meta":` + meta + `}}`)
		var result struct {
			Structured struct{ Trace string } `json:"structuredContent"`
		}
		require.NoError(t, json.Unmarshal(w.nextMessage().Result, &result))
		require.Equal(t, expected, result.Structured.Trace, meta)
	}
}

// TestASpanForEachCall: it begins within the trace of the request, its context
// is that of the tool, and it is told how the call went.
func TestASpanForEachCall(t *testing.T) {
	const inner = "00-4bf92f3577b34da6a3ce929d0e0e4736-aaaaaaaaaaaaaaaa-01"
	var seen []string
	w := dial(t, mcpio.Options{Registry: tracing(t), Trace: func(ctx context.Context, begun telemetry.Event) (context.Context, func(telemetry.Event)) {
		seen = append(seen, fmt.Sprint(begun.Type, " ", begun.ToolName, " ", telemetry.TraceFrom(ctx).Parent))
		return telemetry.WithTrace(ctx, telemetry.Trace{Parent: inner}), func(ended telemetry.Event) {
			seen = append(seen, fmt.Sprint(ended.ToolName, " ", ended.Metadata[telemetry.MetaRequestID], " ", ended.Error))
		}
	}})
	w.send(`{"jsonrpc":"2.0","id":"a-1","method":"tools/call","params":{"name":"test_trace","_meta":{"traceparent":"`+parent+`"}}}`,
		`{"jsonrpc":"2.0","id":2,"method":"ping"}`)
	require.Contains(t, string(w.nextMessage().Result)+string(w.nextMessage().Result), inner)
	w.send(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"test_trace","arguments":{"fail":true}}}`)
	w.nextMessage()
	_, err := w.rest()
	require.NoError(t, err)
	require.Equal(t, []string{"request test.trace " + parent, "test.trace a-1 <nil>", "request test.trace ", "test.trace 3 &{TOOL_FAILED }"}, seen)
}

// TestASpanSaysHowTheCallCame: its transport, and the revision, which each request may name.
func TestASpanSaysHowTheCallCame(t *testing.T) {
	var seen []string
	options := mcpio.Options{Registry: tracing(t), Trace: func(ctx context.Context, _ telemetry.Event) (context.Context, func(telemetry.Event)) {
		return ctx, func(ended telemetry.Event) {
			seen = append(seen, fmt.Sprint(ended.Metadata[telemetry.MetaTransport], " ", ended.Metadata[telemetry.MetaProtocol]))
		}
	}}
	w := dial(t, options)
	w.greet(helloForms)
	w.send(callLine(1, "test.trace", `{}`))
	w.nextMessage()
	modern := modernCall(2, "test.trace", "")
	w.send(modern)
	_, err := w.rest()
	require.NoError(t, err)
	server, err := mcpio.New(options)
	require.NoError(t, err)
	exchanges := server.Exchanges()
	defer exchanges.Close()
	_, err = exchanges.Handle(t.Context(), mcpio.Exchange{Data: []byte(modern), Send: func(any) error { return nil }})
	require.NoError(t, err)
	require.Equal(t, []string{"pipe 2025-06-18", "pipe 2026-07-28", "tcp 2026-07-28"}, seen)
}

func TestAClientPassesItsTraceOn(t *testing.T) {
	w := connect(t, mcpio.Options{Registry: tracing(t)}, mcpclient.Options{})
	ctx := telemetry.WithTrace(t.Context(), telemetry.Trace{Parent: parent, State: "a=1"})
	for _, progress := range []func(float64, float64, string){nil, func(float64, float64, string) {}} {
		result, err := w.Invoke(ctx, "test_trace", map[string]any{}, progress)
		require.NoError(t, err)
		require.JSONEq(t, `{"trace":"`+parent+`/a=1"}`, string(result.Structured))
	}
	result, err := w.Invoke(t.Context(), "test_trace", map[string]any{}, nil)
	require.NoError(t, err)
	require.JSONEq(t, `{"trace":"/"}`, string(result.Structured))
}
