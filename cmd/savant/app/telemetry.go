package app

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"savant/engines"
	"savant/internal/jsonvalue"
	"savant/internal/redact"
	"savant/internal/settings"
	"savant/telemetry"
	"savant/telemetry/otel"
	"savant/think"
	"savant/think/flow"
	"savant/think/state"
)

// maxArgsTraced is the maximum size of arguments held for the trace in the background,
// in bytes.
const maxArgsTraced = 16 << 10

// callTracing is the state for events and spans of calls.
type callTracing struct {
	// tracing is nil without a collector.
	tracing *otel.Tracing
	// process identifies this process in events of calls; numbers counts the calls.
	process string
	numbers atomic.Uint64
	// runs are the runs whose spans are being made.
	runs sync.WaitGroup
	// begun are the traces of the clients that began the open runs, by state.Key.
	begun sync.Map
}

// tracedStore is a store with the spans of each run sent when it ends.
type tracedStore struct {
	state.Backend
	app *App
}

// Append implements state.Store.
func (s tracedStore) Append(ctx context.Context, key state.Key, record state.Record) (state.Record, error) {
	written, err := s.Backend.Append(ctx, key, record)
	if err != nil {
		return written, err
	}
	began, _ := s.app.calls.begun.LoadOrStore(key, telemetry.TraceFrom(ctx))
	if slices.Contains([]flow.Status{flow.Done, flow.Failed, flow.Cancelled}, flow.Status(record.Status)) {
		s.app.calls.begun.Delete(key)
		ctx = telemetry.WithTrace(context.WithoutCancel(ctx), began.(telemetry.Trace)) //nolint:forcetypeassert // see above
		s.app.calls.runs.Go(func() { s.app.traceRun(ctx, key) })                       // the run is locked now
	}
	return written, err
}

// storeOfRuns returns the store for Think.
func (a *App) storeOfRuns() state.Backend {
	if a.calls.tracing == nil {
		return a.Store
	}
	return tracedStore{a.Store, a}
}

// traceRun sends the spans of a run that has ended.
func (a *App) traceRun(ctx context.Context, key state.Key) {
	records, err := a.Store.Records(ctx, key, 0, 0)
	if err != nil || len(records) == 0 {
		return // whoever ended it was told
	}
	at := func(version int) time.Time {
		written, _ := time.Parse(time.RFC3339Nano, records[min(max(version, 1), len(records))-1].Time)
		return written
	}
	run := otel.GuidedRun{Workflow: key.Workflow, RunID: key.Run, Status: records[len(records)-1].Status, Begun: at(1), Ended: at(len(records))}
	err = a.Think.View(ctx, key, len(records), func(view *think.View) error {
		for each := range view.Steps() {
			handle, err := view.Step(each.ID)
			if err != nil || handle.IssuedAt() == 0 || len(handle.Answers()) == 0 {
				continue // the engine settled it, or nobody answered
			}
			attempts := handle.Answers()
			run.Steps = append(run.Steps, otel.GuidedStep{ID: each.ID, Call: handle.Call(), Status: string(each.Status), Code: each.Code, Person: handle.Person(),
				Attempts: len(attempts), Begun: at(handle.IssuedAt()), Ended: at(attempts[len(attempts)-1])})
		}
		return nil
	})
	if err != nil {
		a.Logger.Debug("the spans of a run were not made", "run", key.String(), "cause", err.Error())
		return
	}
	a.calls.tracing.Run(ctx, run)
}

// Redactor returns a redactor for the secrets of the environment and of the settings.
func Redactor(environment []string, loaded *settings.Loaded) *redact.Redactor {
	return redact.FromEnvironment(environment, slices.Concat(loaded.Secrets, headerSecrets(loaded.Telemetry.Headers))...)
}

// openTelemetry creates the recorder of all events.
func (a *App) openTelemetry() {
	a.calls.process, a.calls.tracing = newID(), a.openTracing()
	options := telemetry.Options{Root: a.Root, Folder: a.logs, ReadOnly: a.log.file == nil, Logger: a.Logger, Causes: &a.log.causes, Complete: withNames, Redactor: a.redactor, Watcher: a.options.Watcher}
	if a.calls.tracing != nil {
		options.Trace = a.calls.tracing.Span
	}
	a.Recorder = telemetry.NewRecorder(options)
}

// openTracing opens tracing if a collector is configured. OpenTelemetry's variables are
// often set for a whole machine and other programs, so an error in them is only a
// warning.
func (a *App) openTracing() *otel.Tracing {
	given := a.settings.Telemetry
	traces, _ := a.variable("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
	disabled, _ := a.variable("OTEL_SDK_DISABLED")
	service, _ := a.variable("OTEL_SERVICE_NAME")
	if given.Endpoint == "" && traces == "" || strings.EqualFold(disabled, "true") {
		return nil
	}
	if protocol, _ := a.variable("OTEL_EXPORTER_OTLP_PROTOCOL"); protocol != "" && protocol != "http/protobuf" {
		a.Logger.Warn("no traces are sent: OTEL_EXPORTER_OTLP_PROTOCOL is not http/protobuf", "address", settings.EnvOTLPEndpoint)
		return nil
	}
	tracing, err := otel.Open(context.Background(), otel.Options{Endpoint: given.Endpoint, TracesEndpoint: traces,
		Headers: given.Headers, Service: service, Version: a.options.Version, Logger: a.Logger})
	if err != nil {
		a.Logger.Warn("no traces are sent", "cause", err.Error())
		return nil
	}
	return tracing
}

// headerSecrets returns the values of headers, all of which are secret.
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

// callObserver implements engines.Observer.
type callObserver struct{ *App }

// Begin records the start of a call by a client, a command or a tool, and returns a
// function that records its end. Calls decided by the agent only get a span here, since
// the agent records them.
func (a callObserver) Begin(ctx context.Context, call engines.Call, begun engines.Event, args json.RawMessage) (context.Context, func(engines.Event)) {
	step, ours := call.Agent, call.Agent != engines.AgentStep{}
	event := telemetry.Event{Type: telemetry.ToolCallStarted, Source: a.source(ours), Who: telemetry.WhoIs(cmp.Or(call.Name, think.ByLocal), call.Client), SessionID: a.calls.process, RunID: step.RunID, Step: step.Step,
		ToolName: begun.Tool, CallID: strconv.FormatUint(a.calls.numbers.Add(1), 10), Args: args}
	record := a.Recorder.RecordLater // the caller does not wait for the disk
	if ours {
		event.SessionID = step.RunID
	}
	if at := call.Step; at.RunID != "" {
		event.RunID, event.Workflow, event.StepID = at.RunID, at.Workflow, at.StepID
	}
	if ours && step.Tool == begun.Tool {
		record = func(telemetry.Event) {}
	}
	if a.calls.tracing != nil || len(args) > maxArgsTraced {
		event = withNames(event)
	}
	if len(args) > maxArgsTraced {
		event.Args, event.Metadata = nil, map[string]any{"left_out": fmt.Sprintf("args: %d bytes", len(args))}
	}
	inside, end := a.Recorder.Span(ctx, event)
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

// stepTool answers a step of a run. The trace has one line for it without the answer,
// which is in the run's journal.
const stepTool = "think.next"

func (a *App) source(ours bool) string {
	switch {
	case ours:
		return telemetry.SourceAgent
	case a.options.Serving:
		return telemetry.SourceMCP
	}
	return telemetry.SourceCLI
}

// completed is the event for the end of a call.
func completed(begun telemetry.Event, event engines.Event) telemetry.Event {
	done := begun
	done.Type, done.Status, done.Timestamp = telemetry.ToolCallCompleted, "ok", ""
	done.DurationMS = float64(event.Duration) / float64(time.Millisecond)
	done.Metadata = map[string]any{"input_bytes": event.InputBytes, "output_bytes": event.OutputBytes}
	if event.Receipt != "" {
		done.Metadata["receipt"] = event.Receipt
	}
	if event.Rules != "" {
		done.Metadata[telemetry.MetaRules] = event.Rules
	}
	if event.Outcome != engines.OutcomeOK {
		done.Status, done.Error = "failed", &telemetry.Failure{Code: event.Outcome}
	}
	return done
}

// withNames adds the run, workflow and step in a call's arguments to its event. They
// replace the arguments if a journal has those.
func withNames(e telemetry.Event) telemetry.Event {
	if e.RunID == "" {
		e.RunID = jsonvalue.TextMember(e.Args, "run_id")
		e.Workflow = jsonvalue.TextMember(e.Args, "workflow")
		e.StepID = jsonvalue.TextMember(e.Args, "step_id")
	}
	if e.ToolName == stepTool {
		e.Args = nil
	}
	return e
}

// How long closing waits for the last spans, normally and after a signal. To a collector
// behind a slow network the TLS handshake alone may take half a second; after a signal the
// connection is usually open.
const (
	flushUsually = 3 * time.Second
	flushHurried = 500 * time.Millisecond
)

// flushTraces sends the last spans. After the end of ctx it takes at most flushHurried.
func (a *App) flushTraces(ctx context.Context) {
	if a.calls.tracing == nil {
		return
	}
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), a.FlushTime)
	defer cancel()
	defer context.AfterFunc(ctx, func() {
		time.AfterFunc(flushHurried, cancel)
	})()
	a.calls.tracing.Close(bounded)
}
