package otel

import (
	"strings"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	collector "go.opentelemetry.io/proto/slim/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/slim/otlp/common/v1"
	source "go.opentelemetry.io/proto/slim/otlp/resource/v1"
	otlp "go.opentelemetry.io/proto/slim/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// encodeRequest encodes an ExportTraceServiceRequest. The spans of one provider share
// one resource and one scope.
func encodeRequest(spans []sdktrace.ReadOnlySpan) ([]byte, error) {
	scope := spans[0].InstrumentationScope()
	scoped := &otlp.ScopeSpans{Scope: &common.InstrumentationScope{Name: scope.Name, Version: scope.Version}}
	for _, span := range spans {
		scoped.Spans = append(scoped.Spans, encodeSpan(span))
	}
	return proto.Marshal(&collector.ExportTraceServiceRequest{ResourceSpans: []*otlp.ResourceSpans{{
		Resource: &source.Resource{Attributes: encodeAttributes(spans[0].Resource().Attributes())}, ScopeSpans: []*otlp.ScopeSpans{scoped}}}})
}

// encodeSpan encodes a Span. SDK and OTLP number the kinds alike.
func encodeSpan(span sdktrace.ReadOnlySpan) *otlp.Span {
	own, parent := span.SpanContext(), span.Parent()
	traceID, spanID, parentID := own.TraceID(), own.SpanID(), parent.SpanID()
	made := &otlp.Span{TraceId: traceID[:], SpanId: spanID[:], TraceState: own.TraceState().String(),
		Flags: uint32(own.TraceFlags()) | uint32(otlp.SpanFlags_SPAN_FLAGS_CONTEXT_HAS_IS_REMOTE_MASK),
		Name:  validText(span.Name()), Kind: otlp.Span_SpanKind(span.SpanKind()), Attributes: encodeAttributes(span.Attributes()),
		StartTimeUnixNano: uint64(span.StartTime().UnixNano()), EndTimeUnixNano: uint64(span.EndTime().UnixNano()),
		DroppedAttributesCount: uint32(span.DroppedAttributes()), Status: encodeStatus(span.Status())}
	if parent.HasSpanID() {
		made.ParentSpanId = parentID[:]
	}
	if parent.IsRemote() {
		made.Flags |= uint32(otlp.SpanFlags_SPAN_FLAGS_CONTEXT_IS_REMOTE_MASK)
	}
	return made
}

func encodeStatus(status sdktrace.Status) *otlp.Status {
	return &otlp.Status{Code: map[string]otlp.Status_StatusCode{"Ok": 1, "Error": 2}[status.Code.String()], Message: validText(status.Description)}
}

// encodeAttributes encodes KeyValues. The spans have only texts and integers; other
// values of a resource are written as text.
func encodeAttributes(list []attribute.KeyValue) []*common.KeyValue {
	made := make([]*common.KeyValue, len(list))
	for i, each := range list {
		value := &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: validText(each.Value.String())}}
		if each.Value.Type() == attribute.INT64 {
			value.Value = &common.AnyValue_IntValue{IntValue: each.Value.AsInt64()}
		}
		made[i] = &common.KeyValue{Key: validText(string(each.Key)), Value: value}
	}
	return made
}

// validText replaces invalid UTF-8: the collector would refuse the whole request.
func validText(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

// rejectedSpans returns the number of rejected spans in an ExportTraceServiceResponse.
func rejectedSpans(answer []byte) int64 {
	var response collector.ExportTraceServiceResponse
	if proto.Unmarshal(answer, &response) != nil {
		return 0
	}
	return response.GetPartialSuccess().GetRejectedSpans()
}
