// Package otel sends spans to an OpenTelemetry collector, by OTLP over HTTP in
// protobuf. Spans are named and described by the semantic conventions for
// generative AI and for the Model Context Protocol (as of semconv 1.41). They
// show names, codes, counts and times; never arguments, results or prompts.
//
// The exporter is our own because that of OpenTelemetry (otlptracehttp v1.47.0)
// links gRPC: with it a program that only knew net/http grew by 11.5 MB, with this
// one by 4 MB.
package otel

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"savant/telemetry"
)

// Options say where spans go, as the environment variables of OpenTelemetry do.
type Options struct {
	// Endpoint is the address of a collector, OTEL_EXPORTER_OTLP_ENDPOINT:
	// /v1/traces is added to it. TracesEndpoint is used as it is, and before
	// Endpoint: OTEL_EXPORTER_OTLP_TRACES_ENDPOINT.
	Endpoint, TracesEndpoint string
	// Headers go with every request: name=value, comma-separated, values
	// percent-encoded. OTEL_EXPORTER_OTLP_HEADERS; they are secret.
	Headers string
	// Service is OTEL_SERVICE_NAME; empty: that of OTEL_RESOURCE_ATTRIBUTES,
	// else "savant". Version is the program's.
	Service, Version string
	// Logger is told once when the collector cannot be reached, and at the end
	// how many spans it did not get; nil discards it.
	Logger *slog.Logger
}

// How spans are gathered. Spans that do not fit into the queue are dropped and
// counted.
const (
	gatherFor = time.Second
	exportFor = 10 * time.Second
	queueSize = 4096
)

// Tracing makes spans and sends them in the background. It may be used by
// several goroutines at once.
type Tracing struct {
	provider *sdktrace.TracerProvider
	tracer   trace.Tracer
	exporter *exporter
	logger   *slog.Logger
	// ended counts the spans that were to be sent.
	ended atomic.Int64
}

// Open returns a Tracing. It connects to nothing yet. A bad address or header is
// INVALID_PARAMS, which repeats neither.
func Open(ctx context.Context, options Options) (*Tracing, error) {
	if options.Logger == nil {
		options.Logger = slog.New(slog.DiscardHandler)
	}
	sending, err := newExporter(options)
	if err != nil {
		return nil, err
	}
	described, err := describe(ctx, options)
	if err != nil && !errors.Is(err, resource.ErrPartialResource) {
		return nil, err
	}
	provider := sdktrace.NewTracerProvider(sdktrace.WithResource(described), sdktrace.WithBatcher(sending,
		sdktrace.WithBatchTimeout(gatherFor), sdktrace.WithExportTimeout(exportFor), sdktrace.WithMaxQueueSize(queueSize)))
	tracer := provider.Tracer("savant", trace.WithInstrumentationVersion(options.Version))
	return &Tracing{provider: provider, tracer: tracer, exporter: sending, logger: options.Logger}, nil
}

// describe returns the resource of the spans. OTEL_RESOURCE_ATTRIBUTES adds to it.
func describe(ctx context.Context, options Options) (*resource.Resource, error) {
	usual := resource.WithAttributes(attribute.String("service.name", "savant"), attribute.String("service.version", options.Version))
	given := []resource.Option{usual, resource.WithTelemetrySDK(), resource.WithFromEnv()}
	if options.Service != "" {
		given = append(given, resource.WithAttributes(attribute.String("service.name", options.Service)))
	}
	return resource.New(ctx, given...)
}

// Span is a telemetry.Tracer. The parent of the span is the span of ctx, else the
// one that telemetry.WithTrace put into ctx. The context returned has the new span.
func (t *Tracing) Span(ctx context.Context, begun telemetry.Event) (context.Context, func(telemetry.Event)) {
	if !trace.SpanContextFromContext(ctx).IsValid() {
		from := telemetry.TraceFrom(ctx)
		ctx = propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{"traceparent": from.Parent, "tracestate": from.State})
	}
	ctx, span := t.tracer.Start(ctx, nameOf(begun.Type, begun), trace.WithSpanKind(kindOf(begun.Type)),
		trace.WithAttributes(attributesOf(begun.Type, begun)...))
	place := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, place)
	ctx = telemetry.WithTrace(ctx, telemetry.Trace{Parent: place["traceparent"], State: place["tracestate"]})
	return ctx, func(ended telemetry.Event) { t.end(span, begun, ended) }
}

// end completes a span with what is known at its end.
func (t *Tracing) end(span trace.Span, begun, ended telemetry.Event) {
	ended.ToolName, ended.Model = cmp.Or(ended.ToolName, begun.ToolName), cmp.Or(ended.Model, begun.Model)
	span.SetName(nameOf(begun.Type, ended))
	span.SetAttributes(attributesOf(begun.Type, ended)...)
	if kind := errorType(begun.Type, ended); kind != "" {
		span.SetAttributes(attribute.String("error.type", kind))
		span.SetStatus(codes.Error, ended.Error.Code)
	}
	if span.SpanContext().IsSampled() && span.IsRecording() {
		t.ended.Add(1)
	}
	span.End()
}

// Close sends the spans that wait, until ctx ends. The log says how many were not
// sent.
func (t *Tracing) Close(ctx context.Context) {
	t.exporter.closing.Store(true)
	defer context.AfterFunc(ctx, t.exporter.stop)()     // then what is still being sent fails at once
	_ = t.provider.Shutdown(context.WithoutCancel(ctx)) // spans that were not sent are counted below
	if missing := t.ended.Load() - t.exporter.delivered.Load(); missing > 0 {
		t.logger.Warn("the collector of traces did not get every span", "missing", missing)
	}
}
