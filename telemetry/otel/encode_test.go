package otel

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	collector "go.opentelemetry.io/proto/slim/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"
)

// TestAnySpanIsReadAsItWas decodes spans with the published decoder and compares them.
func TestAnySpanIsReadAsItWas(t *testing.T) {
	text := rapid.OneOf(rapid.String(), rapid.Just("\xff\xfe"), rapid.Just(""))
	rapid.Check(t, func(t *rapid.T) {
		recorded := tracetest.NewSpanRecorder()
		provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorded))
		name, value, number, told := text.Draw(t, "name"), text.Draw(t, "value"), rapid.Int64().Draw(t, "number"), text.Draw(t, "told")
		_, span := provider.Tracer("savant").Start(context.Background(), name)
		span.SetAttributes(attribute.String("text", value), attribute.Int64("number", number), attribute.Bool("flag", true))
		span.SetStatus(codes.Error, told)
		span.End()
		var request collector.ExportTraceServiceRequest
		body, err := encodeRequest(recorded.Ended())
		require.NoError(t, err)
		require.NoError(t, proto.Unmarshal(body, &request))
		require.Empty(t, request.ProtoReflect().GetUnknown())
		scoped := request.GetResourceSpans()[0].GetScopeSpans()[0]
		require.Equal(t, "savant", scoped.GetScope().GetName())
		got, sent := scoped.GetSpans()[0], recorded.Ended()[0]
		require.Equal(t, valid(name), got.GetName())
		require.Equal(t, valid(told), got.GetStatus().GetMessage())
		require.Equal(t, valid(value), got.GetAttributes()[0].GetValue().GetStringValue())
		require.Equal(t, number, got.GetAttributes()[1].GetValue().GetIntValue())
		require.Equal(t, "true", got.GetAttributes()[2].GetValue().GetStringValue())
		id := sent.SpanContext().SpanID()
		require.Equal(t, id[:], got.GetSpanId())
		require.Equal(t, uint64(sent.EndTime().UnixNano()), got.GetEndTimeUnixNano())
	})
}

// valid returns a text as it should arrive.
func valid(text string) string {
	if text == "\xff\xfe" {
		return "\uFFFD"
	}
	return text
}

func TestWhatACollectorRejectsIsRead(t *testing.T) {
	for _, rejected := range []int64{0, 1, 512} {
		answer, err := proto.Marshal(&collector.ExportTraceServiceResponse{PartialSuccess: &collector.ExportTracePartialSuccess{
			RejectedSpans: rejected, ErrorMessage: "too old"}})
		require.NoError(t, err)
		require.Equal(t, rejected, rejectedSpans(answer))
	}
	require.Zero(t, rejectedSpans(nil))
	require.Zero(t, rejectedSpans([]byte("<html>")))
}
