package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/oklog/ulid/v2"

	"savant/agent"
	"savant/engines"
	"savant/internal/jsonvalue"
	"savant/internal/redact"
	"savant/internal/settings"
	"savant/telemetry"
	"savant/telemetry/otel"
)

// maxArgsTraced is how large arguments may be, in bytes, to wait for the trace.
const maxArgsTraced = 16 << 10

// telling is what the house tells of its work with.
type telling struct {
	recorder *telemetry.Recorder
	// tracing is nil where no traces are wanted.
	tracing *otel.Tracing
	// lastSpans is how long closing may take for them.
	lastSpans time.Duration
	// process names this process in events of calls; calls numbers those.
	process string
	calls   atomic.Uint64
	// told is told of each event while a command shows them; serving: a client
	// is served.
	told    func(telemetry.Event)
	serving bool
}

// redactor knows the secrets of the environment and of the settings.
func (p *program) redactor() *redact.Redactor {
	if p.clean == nil {
		p.clean = redact.Of(p.environment, slices.Concat(p.loaded.Secrets, headerSecrets(p.settings.Telemetry.Headers))...)
	}
	return p.clean
}

// openTelemetry makes the recorder of everything that runs here.
func (p *program) openTelemetry(h *house) {
	h.process = strings.ToLower(ulid.Make().String())
	h.tracing, h.lastSpans = p.openTracing(h), flushUsually
	options := telemetry.Options{Root: h.root, Logger: h.logger, Complete: withNames,
		Redactor: p.redactor(),
		Observe: func(e telemetry.Event) {
			if h.told != nil {
				h.told(e)
			}
		}}
	if h.tracing != nil {
		options.Trace = h.tracing.Span
	}
	h.recorder = telemetry.NewRecorder(options)
}

// openTracing makes what sends traces, where a collector is named. Variables of
// OpenTelemetry are often set for a whole machine and other programs: what is
// wrong with them is a warning.
func (p *program) openTracing(h *house) *otel.Tracing {
	given := p.settings.Telemetry
	traces, _ := p.variable("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
	disabled, _ := p.variable("OTEL_SDK_DISABLED")
	if given.Endpoint == "" && traces == "" || strings.EqualFold(disabled, "true") {
		return nil
	}
	if protocol, _ := p.variable("OTEL_EXPORTER_OTLP_PROTOCOL"); protocol != "" && protocol != "http/protobuf" {
		h.logger.Warn("no traces are sent: OTEL_EXPORTER_OTLP_PROTOCOL is not http/protobuf", "address", settings.EnvOTLPEndpoint)
		return nil
	}
	tracing, err := otel.Open(context.Background(), otel.Options{Endpoint: given.Endpoint, TracesEndpoint: traces,
		Headers: given.Headers, Service: given.Service, Version: programVersion(), Logger: h.logger})
	if err != nil {
		h.logger.Warn("no traces are sent", "cause", err.Error())
		return nil
	}
	return tracing
}

// trace opens the spans of requests; nil where no traces are wanted.
func (h *house) trace() telemetry.Tracer {
	if h.tracing == nil {
		return nil
	}
	return h.recorder.Span
}

// headerSecrets are the values of headers: all of them are secrets.
func headerSecrets(headers string) []string {
	var secrets []string
	for pair := range strings.SplitSeq(headers, ",") {
		_, value, _ := strings.Cut(pair, "=")
		secrets = append(secrets, value)
		if decoded, err := url.PathUnescape(value); err == nil {
			_, credentials, _ := strings.Cut(strings.TrimSpace(decoded), " ") // of "Bearer …"
			secrets = append(secrets, decoded, credentials)
		}
	}
	return secrets
}

// beginCall tells of a call of a client, a command or a tool, and returns what
// tells of its end. Calls that the agent decides on are told of by the agent;
// they only have a span here.
func (h *house) beginCall(ctx context.Context, begun engines.Event, args json.RawMessage) (context.Context, func(engines.Event)) {
	caller, ours := agent.CallerFrom(ctx)
	event := telemetry.Event{Type: telemetry.ToolCallStarted, Source: h.source(ours), SessionID: h.process, RunID: caller.RunID, Step: caller.Step,
		ToolName: begun.Tool, CallID: strconv.FormatUint(h.calls.Add(1), 10), Args: args}
	record := h.recorder.RecordLater // nobody who asks for a call waits for its trace
	if ours {
		event.SessionID = caller.RunID
	}
	if ours && caller.Tool == begun.Tool {
		record = func(telemetry.Event) {}
	}
	if h.tracing != nil || len(args) > maxArgsTraced {
		event = withNames(event)
	}
	if len(args) > maxArgsTraced {
		event.Args, event.Metadata = nil, map[string]any{"left_out": fmt.Sprintf("args: %d bytes", len(args))}
	}
	inside, end := h.recorder.Span(ctx, event)
	event.TraceParent = telemetry.TraceFrom(inside).Parent
	if begun.Tool != stepTool {
		record(event)
	}
	return inside, func(ended engines.Event) {
		done := completed(event, ended)
		end(done)
		record(done)
	}
}

// stepTool answers a step of a run. The run's journal has the answer and when
// it came, so the trace only has that it was taken: one line, without it.
const stepTool = "think.next"

func (h *house) source(ours bool) string {
	switch {
	case ours:
		return telemetry.SourceAgent
	case h.serving:
		return telemetry.SourceMCP
	}
	return telemetry.SourceCLI
}

// completed is the event of the end of a call.
func completed(begun telemetry.Event, ended engines.Event) telemetry.Event {
	done := begun
	done.Type, done.Status, done.Timestamp = telemetry.ToolCallCompleted, "ok", ""
	done.DurationMS = float64(ended.Duration) / float64(time.Millisecond)
	done.Metadata = map[string]any{"input_bytes": ended.InputBytes, "output_bytes": ended.OutputBytes}
	if ended.Receipt != "" {
		done.Metadata["receipt"] = ended.Receipt
	}
	if ended.Outcome != engines.OutcomeOK {
		done.Status, done.Error = "failed", &telemetry.Failure{Code: ended.Outcome}
	}
	return done
}

// withNames adds to the event of a call the run, workflow and step that its
// arguments name, in the place of the arguments where a journal has them.
func withNames(e telemetry.Event) telemetry.Event {
	e = withRun(e)
	if e.ToolName == stepTool {
		e.Args = nil
	}
	return e
}

func withRun(e telemetry.Event) telemetry.Event {
	if e.RunID == "" {
		e.RunID = jsonvalue.TextMember(e.Args, "run_id")
		e.Workflow = jsonvalue.TextMember(e.Args, "workflow")
		e.StepID = jsonvalue.TextMember(e.Args, "step_id")
	}
	return e
}

// Time for the last spans at the end: when the program was told to end it has
// to be gone soon.
const (
	flushUsually = 500 * time.Millisecond
	flushHurried = 80 * time.Millisecond
)

// flushTime is how much longer closing may take for them.
func (h *house) flushTime() time.Duration {
	if h.tracing == nil {
		return 0
	}
	return flushHurried
}

// flushTraces sends the last spans. Once ctx has ended that may take no longer
// than flushHurried.
func (h *house) flushTraces(ctx context.Context) {
	if h.tracing == nil {
		return
	}
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), h.lastSpans)
	defer cancel()
	defer context.AfterFunc(ctx, func() {
		time.AfterFunc(flushHurried, cancel)
	})()
	h.tracing.Close(bounded)
}
