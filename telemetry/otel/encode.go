package otel

import (
	"encoding/binary"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/protobuf/encoding/protowire"
)

// message is a message of protobuf. Numbers of fields are those of
// opentelemetry-proto 1.11; a field with its zero value is left out.
type message []byte

func (m message) text(field protowire.Number, value string) message {
	if value == "" {
		return m
	}
	return m.always(field, value)
}

// always writes a text that may be empty. What is no UTF-8 would cost the whole
// request.
func (m message) always(field protowire.Number, value string) message {
	return protowire.AppendString(protowire.AppendTag(m, field, protowire.BytesType), strings.ToValidUTF8(value, "\uFFFD"))
}

func (m message) bytes(field protowire.Number, value []byte) message {
	return protowire.AppendBytes(protowire.AppendTag(m, field, protowire.BytesType), value)
}

func (m message) number(field protowire.Number, value uint64) message {
	if value == 0 {
		return m
	}
	return protowire.AppendVarint(protowire.AppendTag(m, field, protowire.VarintType), value)
}

func (m message) time(field protowire.Number, at time.Time) message {
	return protowire.AppendFixed64(protowire.AppendTag(m, field, protowire.Fixed64Type), uint64(at.UnixNano()))
}

// encodeRequest is ExportTraceServiceRequest. The spans of one provider have
// one resource and one scope.
func encodeRequest(spans []sdktrace.ReadOnlySpan) []byte {
	scope := spans[0].InstrumentationScope()
	scoped := message(nil).bytes(1, message(nil).text(1, scope.Name).text(2, scope.Version))
	for _, span := range spans {
		scoped = scoped.bytes(2, encodeSpan(span))
	}
	from := encodeAttributes(nil, 1, spans[0].Resource().Attributes())
	return message(nil).bytes(1, message(nil).bytes(1, from).bytes(2, scoped))
}

// Bits of Span.flags beyond those of W3C: whether the parent is in another
// process, and that this is known.
const (
	flagRemoteKnown = 0x100
	flagRemote      = 0x200
)

func encodeSpan(span sdktrace.ReadOnlySpan) message {
	own, parent := span.SpanContext(), span.Parent()
	traceID, spanID := own.TraceID(), own.SpanID()
	m := message(nil).bytes(1, traceID[:]).bytes(2, spanID[:]).text(3, own.TraceState().String())
	flags := uint32(own.TraceFlags()) | flagRemoteKnown
	if parent.HasSpanID() {
		parentID := parent.SpanID()
		m = m.bytes(4, parentID[:])
	}
	if parent.IsRemote() {
		flags |= flagRemote
	}
	m = m.text(5, span.Name()).number(6, kindNumber(span.SpanKind())).time(7, span.StartTime()).time(8, span.EndTime())
	m = encodeAttributes(m, 9, span.Attributes()).number(10, uint64(span.DroppedAttributes()))
	m = binary.LittleEndian.AppendUint32(protowire.AppendTag(m, 16, protowire.Fixed32Type), flags)
	return m.bytes(15, encodeStatus(span.Status()))
}

// kindNumber is Span.SpanKind; those of the SDK are numbered alike.
func kindNumber(kind trace.SpanKind) uint64 { return uint64(kind) }

func encodeStatus(status sdktrace.Status) message {
	m := message(nil).text(2, status.Description)
	switch status.Code {
	case codes.Ok:
		return m.number(3, 1)
	case codes.Error:
		return m.number(3, 2)
	}
	return m
}

func encodeAttributes(m message, field protowire.Number, list []attribute.KeyValue) message {
	for _, each := range list {
		m = m.bytes(field, message(nil).text(1, string(each.Key)).bytes(2, encodeValue(each.Value)))
	}
	return m
}

// encodeValue is AnyValue. The spans have texts and whole numbers; what else a
// resource may have is shown as text.
func encodeValue(value attribute.Value) message {
	if value.Type() == attribute.INT64 {
		return protowire.AppendVarint(protowire.AppendTag(nil, 3, protowire.VarintType), uint64(value.AsInt64()))
	}
	return message(nil).always(1, value.String())
}

// rejectedSpans reads ExportTraceServiceResponse: how many spans the collector
// did not want.
func rejectedSpans(answer []byte) int64 {
	partial, _ := protowire.ConsumeBytes(field(answer, 1, protowire.BytesType))
	rejected, size := protowire.ConsumeVarint(field(partial, 1, protowire.VarintType))
	if size < 0 {
		return 0
	}
	return int64(rejected)
}

// field returns what begins with the value of the first field of a number and
// kind; nothing where there is none.
func field(m []byte, wanted protowire.Number, of protowire.Type) []byte {
	for len(m) > 0 {
		found, kind, size := protowire.ConsumeTag(m)
		if size < 0 {
			return nil
		}
		m = m[size:]
		length := protowire.ConsumeFieldValue(found, kind, m)
		if length < 0 {
			return nil
		}
		if found == wanted && kind == of {
			return m
		}
		m = m[length:]
	}
	return nil
}
