package otel_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	spans "go.opentelemetry.io/proto/slim/otlp/trace/v1"
	"go.uber.org/goleak"

	"savant/fault"
	"savant/internal/redact"
	"savant/telemetry"
	"savant/telemetry/otel"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

// world is a recorder whose spans go to a receiver, and its log.
type world struct {
	*telemetry.Recorder
	tracing *otel.Tracing
	log     *bytes.Buffer
}

func newWorld(t testing.TB, options otel.Options, secrets ...string) *world {
	t.Helper()
	w := &world{log: new(bytes.Buffer)}
	options.Logger, options.Version = slog.New(slog.NewTextHandler(w.log, nil)), "1.2.3"
	var err error
	w.tracing, err = otel.Open(t.Context(), options)
	require.NoError(t, err)
	w.Recorder = telemetry.NewRecorder(telemetry.Options{Redactor: redact.New(secrets...), Trace: w.tracing.Span})
	return w
}

// close sends all spans, however long that takes.
func (w *world) close(t testing.TB) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	w.tracing.Close(ctx)
}

// run records an agent's run as a client starts it: request, call, run, decision, and
// the call that follows.
func run(w *world, ctx context.Context, decide func(context.Context)) {
	ctx, request := w.Span(ctx, telemetry.Event{Type: telemetry.Request, ToolName: "agent.run",
		Metadata: map[string]any{telemetry.MetaRequestID: "7", telemetry.MetaProtocol: "2025-06-18", telemetry.MetaTransport: "pipe"}})
	ctx, call := w.Span(ctx, telemetry.Event{Type: telemetry.ToolCallStarted, ToolName: "agent.run", CallID: "c1"})
	ctx, whole := w.Span(ctx, telemetry.Event{Type: telemetry.RunStarted, RunID: "r1"})
	decision, decided := w.Span(ctx, telemetry.Event{Type: telemetry.ReasoningStep, RunID: "r1", Step: 1})
	decide(decision)
	decided(telemetry.Event{Model: "ollama:qwen2:7b", Action: "tool", RunID: "r1", Step: 1, PromptTokens: 120, OutputTokens: 9})
	_, tool := w.Span(ctx, telemetry.Event{Type: telemetry.ToolCallStarted, RunID: "r1", Step: 1})
	tool(telemetry.Event{ToolName: "git.log", Status: "failed", Error: &telemetry.Failure{Code: "TOOL_FAILED", Details: "it broke"}})
	whole(telemetry.Event{RunID: "r1", Status: "ok", Model: "ollama:qwen2:7b", PromptTokens: 120, OutputTokens: 9})
	call(telemetry.Event{ToolName: "agent.run", CallID: "c1"})
	request(telemetry.Event{ToolName: "agent.run"})
}

func TestARunAsACollectorSeesIt(t *testing.T) {
	r := newReceiver(t)
	w := newWorld(t, otel.Options{Endpoint: r.URL, Headers: "x-team=a%20b, authorization=Bearer%20t", Service: "ours"})
	var carried telemetry.Trace
	run(w, telemetry.WithTrace(t.Context(), telemetry.Trace{Parent: parent, State: "vendor=1"}), func(ctx context.Context) { carried = telemetry.TraceFrom(ctx) })
	w.close(t)

	require.Equal(t, "a b", r.headers.Get("X-Team"))
	require.Equal(t, "Bearer t", r.headers.Get("Authorization"))
	require.Equal(t, "ours", r.resource["service.name"])
	require.Equal(t, "1.2.3", r.resource["service.version"])
	require.Len(t, r.got, 5)
	names := []string{"tools/call agent.run", "execute_tool agent.run", "invoke_agent savant", "chat qwen2:7b", "execute_tool git.log"}
	parents := []string{"00f067aa0ba902b7", names[0], names[1], names[2], names[2]}
	for i, name := range names {
		span := r.span(t, name)
		require.Equal(t, "4bf92f3577b34da6a3ce929d0e0e4736", hex.EncodeToString(span.GetTraceId()), name)
		require.Equal(t, "vendor=1", span.GetTraceState())
		require.LessOrEqual(t, span.GetStartTimeUnixNano(), span.GetEndTimeUnixNano())
		above := parents[i]
		if i > 0 {
			above = hex.EncodeToString(r.span(t, parents[i]).GetSpanId())
		}
		require.Equal(t, above, hex.EncodeToString(span.GetParentSpanId()), name)
	}
	require.Equal(t, uint32(0x301), r.span(t, names[0]).GetFlags(), "sampled, its parent elsewhere")
	require.Equal(t, uint32(0x101), r.span(t, names[1]).GetFlags(), "sampled, its parent here")
	chat := hex.EncodeToString(r.span(t, names[3]).GetSpanId())
	require.Equal(t, telemetry.Trace{Parent: "00-4bf92f3577b34da6a3ce929d0e0e4736-" + chat + "-01", State: "vendor=1"}, carried)
	require.Empty(t, w.log.String())
}

func TestAttributesAreThoseOfTheConventions(t *testing.T) {
	r := newReceiver(t)
	w := newWorld(t, otel.Options{Endpoint: r.URL + "/"})
	run(w, t.Context(), func(context.Context) {})
	w.close(t)
	for name, expected := range map[string]struct {
		kind       spans.Span_SpanKind
		attributes map[string]any
	}{
		"tools/call agent.run": {spans.Span_SPAN_KIND_SERVER, map[string]any{"mcp.method.name": "tools/call", "mcp.protocol.version": "2025-06-18",
			"jsonrpc.request.id": "7", "network.transport": "pipe", "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "agent.run"}},
		"execute_tool agent.run": {spans.Span_SPAN_KIND_INTERNAL, map[string]any{"gen_ai.operation.name": "execute_tool",
			"gen_ai.tool.name": "agent.run", "gen_ai.tool.type": "function", "gen_ai.tool.call.id": "c1"}},
		"invoke_agent savant": {spans.Span_SPAN_KIND_INTERNAL, map[string]any{"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "savant",
			"gen_ai.conversation.id": "r1", "gen_ai.provider.name": "ollama", "gen_ai.request.model": "qwen2:7b",
			"gen_ai.usage.input_tokens": int64(120), "gen_ai.usage.output_tokens": int64(9), "savant.status": "ok"}},
		"chat qwen2:7b": {spans.Span_SPAN_KIND_CLIENT, map[string]any{"gen_ai.operation.name": "chat", "gen_ai.provider.name": "ollama",
			"gen_ai.request.model": "qwen2:7b", "gen_ai.usage.input_tokens": int64(120), "gen_ai.usage.output_tokens": int64(9),
			"gen_ai.conversation.id": "r1", "savant.step": int64(1), "savant.action": "tool"}},
		"execute_tool git.log": {spans.Span_SPAN_KIND_INTERNAL, map[string]any{"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "git.log",
			"gen_ai.tool.type": "function", "gen_ai.conversation.id": "r1", "savant.step": int64(1), "error.type": "TOOL_FAILED", "savant.error.code": "TOOL_FAILED"}},
	} {
		span := r.span(t, name)
		require.Equal(t, expected.attributes, values(span.GetAttributes()), name)
		require.Equal(t, expected.kind, span.GetKind(), name)
	}
	failed := r.span(t, "execute_tool git.log").GetStatus()
	require.Equal(t, spans.Status_STATUS_CODE_ERROR, failed.GetCode())
	require.Equal(t, "TOOL_FAILED", failed.GetMessage())
	require.Equal(t, "savant", r.resource["service.name"])
}

func TestErrorsOfRequests(t *testing.T) {
	r := newReceiver(t)
	w := newWorld(t, otel.Options{TracesEndpoint: r.URL + "/v1/traces", Endpoint: "http://not.asked.invalid"})
	for _, e := range []telemetry.Event{
		{ToolName: "a.failed", Error: &telemetry.Failure{Code: "TOOL_FAILED"}},
		{ToolName: "b.canceled", Status: telemetry.StatusCanceled, Error: &telemetry.Failure{Code: "canceled"}},
		{ToolName: "whatever a client made up", Error: &telemetry.Failure{Code: "UNKNOWN_TOOL"}},
	} {
		_, end := w.Span(t.Context(), telemetry.Event{Type: telemetry.Request, ToolName: e.ToolName})
		end(e)
	}
	w.close(t)
	require.Equal(t, "tool_error", values(r.span(t, "tools/call a.failed").GetAttributes())["error.type"])
	require.Equal(t, "canceled", values(r.span(t, "tools/call b.canceled").GetAttributes())["error.type"])
	require.Equal(t, "UNKNOWN_TOOL", values(r.span(t, "tools/call").GetAttributes())["savant.error.code"])
}

// TestNoSecretReachesACollector puts a secret into every field of an event.
func TestNoSecretReachesACollector(t *testing.T) {
	const secret = "planted-secret-value"
	r := newReceiver(t)
	w := newWorld(t, otel.Options{Endpoint: r.URL}, secret)
	for _, kind := range []telemetry.Type{telemetry.Request, telemetry.RunStarted, telemetry.ReasoningStep, telemetry.ToolCallStarted} {
		e := telemetry.Event{Type: kind, SessionID: secret, RunID: secret, Workflow: secret, StepID: secret, Model: secret, Action: secret,
			ToolName: "tool." + secret, CallID: secret, Args: json.RawMessage(`{"a":"` + secret + `"}`), Output: secret, Status: secret,
			Error:    &telemetry.Failure{Code: secret, Details: "Bearer abcdef123456 " + secret},
			Metadata: map[string]any{telemetry.MetaRequestID: secret, telemetry.MetaProtocol: secret, "goal": secret}}
		_, end := w.Span(t.Context(), e)
		end(e)
	}
	w.close(t)
	require.Len(t, r.got, 4)
	require.NotContains(t, string(r.raw), secret)
	require.NotContains(t, string(r.raw), "abcdef123456")
	require.Contains(t, string(r.raw), redact.Mark)
}

func TestATraceThatIsNotSampledIsPassedOnAndNotSent(t *testing.T) {
	r := newReceiver(t)
	w := newWorld(t, otel.Options{Endpoint: r.URL})
	ctx, end := w.Span(telemetry.WithTrace(t.Context(), telemetry.Trace{Parent: strings.TrimSuffix(parent, "01") + "00"}), telemetry.Event{Type: telemetry.Request})
	end(telemetry.Event{})
	w.close(t)
	require.Regexp(t, `^00-4bf92f3577b34da6a3ce929d0e0e4736-[0-9a-f]{16}-00$`, telemetry.TraceFrom(ctx).Parent)
	require.Zero(t, r.requests)
	require.Empty(t, w.log.String())
}

func TestACollectorThatAsksForPatienceGetsTheSpansLater(t *testing.T) {
	r := newReceiver(t)
	r.answer = func(number int) (int, http.Header) {
		if number < 3 {
			return http.StatusServiceUnavailable, http.Header{"Retry-After": {"0"}}
		}
		return http.StatusOK, nil
	}
	w := newWorld(t, otel.Options{Endpoint: r.URL})
	run(w, t.Context(), func(context.Context) {})
	w.close(t)
	require.Len(t, r.got, 5)
	require.Equal(t, 3, r.requests)
	require.Empty(t, w.log.String())
}

func TestWhatACollectorDoesNotTakeIsLoggedOnceAndCounted(t *testing.T) {
	r := newReceiver(t)
	for _, status := range []int{http.StatusBadRequest, http.StatusUnauthorized, http.StatusFound} {
		r.answer = func(int) (int, http.Header) {
			return status, http.Header{"Location": {"http://elsewhere.invalid/"}}
		}
		w := newWorld(t, otel.Options{Endpoint: r.URL, Headers: "authorization=Bearer%20hidden-token"})
		run(w, t.Context(), func(context.Context) {})
		w.close(t)
		require.Equal(t, 1, strings.Count(w.log.String(), "traces cannot be sent"), w.log)
		require.Contains(t, w.log.String(), "missing=5")
		require.NotContains(t, w.log.String(), "hidden-token")
		require.NotContains(t, w.log.String(), r.URL)
	}
}

// TestACollectorThatNeverAnswersHoldsNobodyUp checks that calls are not delayed, and
// that closing ends with its context.
func TestACollectorThatNeverAnswersHoldsNobodyUp(t *testing.T) {
	r := newReceiver(t)
	blocked := make(chan struct{})
	r.answer = func(int) (int, http.Header) { <-blocked; return http.StatusOK, nil }
	defer close(blocked)
	w := newWorld(t, otel.Options{Endpoint: r.URL})
	for range 2000 { // far more than a batch
		run(w, t.Context(), func(context.Context) {})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w.tracing.Close(ctx)
	require.Contains(t, w.log.String(), "missing=10000")
}

func TestAddressesAndHeadersThatAreNone(t *testing.T) {
	for _, options := range []otel.Options{
		{Endpoint: "localhost:4318"}, {Endpoint: "grpc://user:hidden-token@host"}, {TracesEndpoint: "http://"}, {},
		{Endpoint: "http://host", Headers: "hidden-token"}, {Endpoint: "http://host", Headers: "a=%zz"},
		{Endpoint: "http://host", Headers: "a=x%0d%0ab:hidden-token"}, {Endpoint: "http://host", Headers: "a b=hidden-token"},
	} {
		_, err := otel.Open(t.Context(), options)
		require.ErrorIs(t, err, fault.InvalidParams, options)
		require.ErrorContains(t, err, "OTEL_EXPORTER_OTLP_", options)
		require.NotContains(t, err.Error(), "hidden-token")
	}
}

// TestAGuidedRunHasItsWaits has the times of the journal, and why a step failed.
func TestAGuidedRunHasItsWaits(t *testing.T) {
	r := newReceiver(t)
	w := newWorld(t, otel.Options{Endpoint: r.URL})
	at := func(minute int) time.Time { return time.Date(2026, 11, 26, 12, minute, 0, 0, time.UTC) }
	w.tracing.Run(t.Context(), otel.GuidedRun{Workflow: "ship", RunID: "r1", Status: "failed", Begun: at(0), Ended: at(9), Steps: []otel.GuidedStep{
		{ID: "look", Call: "git.log", Status: "failed", Code: "TOOL_FAILED", Attempts: 2, Begun: at(1), Ended: at(2)},
		{ID: "agree", Call: "human.approve", Status: "done", Person: true, Begun: at(3), Ended: at(8)}}})
	w.close(t)
	require.Len(t, r.got, 3)
	whole := r.span(t, "invoke_workflow ship")
	require.Equal(t, uint64(at(0).UnixNano()), whole.GetStartTimeUnixNano())
	require.Equal(t, uint64(at(9).UnixNano()), whole.GetEndTimeUnixNano())
	wait := r.span(t, "wait_for_person agree")
	require.Equal(t, uint64(5*time.Minute), wait.GetEndTimeUnixNano()-wait.GetStartTimeUnixNano())
	require.Equal(t, whole.GetSpanId(), wait.GetParentSpanId())
	require.Equal(t, "TOOL_FAILED", r.span(t, "step look").GetStatus().GetMessage())
}
