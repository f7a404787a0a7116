// Package otel sends spans to an OpenTelemetry collector, by OTLP over HTTP in
// protobuf. Spans follow the semantic conventions for generative AI and for the Model
// Context Protocol (as of semconv 1.41). They contain names, codes, counts and times;
// never arguments, results or prompts.
//
// The exporter is not OpenTelemetry's (otlptracehttp v1.47.0), which links gRPC: it
// adds 11.5 MB to a program that uses only net/http, this one adds 4 MB.
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
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"savant/telemetry"
)

// Options say where spans are sent. They correspond to OpenTelemetry's environment
// variables.
type Options struct {
	// Endpoint is the base URL of a collector, OTEL_EXPORTER_OTLP_ENDPOINT: /v1/traces
	// is added to it. TracesEndpoint is used unchanged and takes precedence:
	// OTEL_EXPORTER_OTLP_TRACES_ENDPOINT.
	Endpoint, TracesEndpoint string
	// Headers are sent with every request: name=value, comma-separated, values
	// percent-encoded. OTEL_EXPORTER_OTLP_HEADERS; they are secret.
	Headers string
	// Service is OTEL_SERVICE_NAME; empty: the name in OTEL_RESOURCE_ATTRIBUTES, else
	// "savant". Version is the program's.
	Service, Version string
	// Logger gets one warning when the collector cannot be reached, and at the end the
	// number of unsent spans; nil discards them.
	Logger *slog.Logger
}

// The queue of spans. Spans that do not fit are dropped and counted.
const (
	gatherFor = time.Second
	exportFor = 10 * time.Second
	queueSize = 4096
)

// Tracing creates spans and sends them in the background. It is safe for concurrent
// use.
type Tracing struct {
	provider *sdktrace.TracerProvider
	tracer   trace.Tracer
	exporter *exporter
	logger   *slog.Logger
	// ended counts the sampled spans that have ended.
	ended atomic.Int64
}

// Open returns a Tracing. It does not connect yet. An invalid address or header is
// INVALID_PARAMS; the error contains neither.
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

// Span is a telemetry.Tracer. The parent is the span of ctx, which telemetry.WithTrace may
// have set. The returned context has the new span.
func (t *Tracing) Span(ctx context.Context, begun telemetry.Event) (context.Context, func(telemetry.Event)) {
	ctx, span := t.tracer.Start(ctx, nameOf(begun.Type, begun), trace.WithSpanKind(kindOf(begun.Type)),
		trace.WithAttributes(attributesOf(begun.Type, begun)...))
	return ctx, func(ended telemetry.Event) { t.end(span, begun, ended) }
}

// end completes a span with the final event.
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

// Close sends the queued spans, until ctx ends. It logs how many were not sent.
func (t *Tracing) Close(ctx context.Context) {
	t.exporter.closing.Store(true)
	defer context.AfterFunc(ctx, t.exporter.stop)()     // then sending fails at once
	_ = t.provider.Shutdown(context.WithoutCancel(ctx)) // unsent spans are counted below
	if missing := t.ended.Load() - t.exporter.delivered.Load(); missing > 0 {
		t.logger.Warn("the trace collector did not receive every span", "missing", missing)
	}
}
