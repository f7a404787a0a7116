package otel_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	collector "go.opentelemetry.io/proto/slim/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/slim/otlp/common/v1"
	spans "go.opentelemetry.io/proto/slim/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// receiver is a collector: it reads OTLP over HTTP by the published protocol.
type receiver struct {
	*httptest.Server
	// answer is what it says to a request, before it reads it; nil: 200.
	answer func(number int) (status int, header http.Header)

	mu       sync.Mutex
	requests int
	headers  http.Header
	raw      []byte
	resource map[string]any
	got      []*spans.Span
	wrong    []string
}

func newReceiver(t testing.TB) *receiver {
	r := &receiver{}
	r.Server = httptest.NewServer(r)
	t.Cleanup(func() {
		r.Close()
		require.Empty(t, r.wrong)
	})
	return r
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, asked *http.Request) {
	body, err := io.ReadAll(asked.Body)
	if err != nil {
		return // who sent it gave up
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requests++
	if r.answer != nil {
		if status, header := r.answer(r.requests); status != http.StatusOK {
			for name := range header {
				w.Header().Set(name, header.Get(name))
			}
			w.WriteHeader(status)
			return
		}
	}
	var request collector.ExportTraceServiceRequest
	switch {
	case asked.Method != http.MethodPost || asked.URL.Path != "/v1/traces" || asked.Header.Get("Content-Type") != "application/x-protobuf":
		r.wrong = append(r.wrong, asked.Method+" "+asked.URL.Path+" "+asked.Header.Get("Content-Type"))
	default:
		if err := proto.Unmarshal(body, &request); err != nil {
			r.wrong = append(r.wrong, err.Error())
		}
	}
	r.headers, r.raw = asked.Header, append(r.raw, body...)
	r.keep(&request)
}

func (r *receiver) keep(request *collector.ExportTraceServiceRequest) {
	for _, from := range request.GetResourceSpans() {
		r.resource = values(from.GetResource().GetAttributes())
		for _, scope := range from.GetScopeSpans() {
			if scope.GetScope().GetName() != "savant" {
				r.wrong = append(r.wrong, "scope "+scope.GetScope().GetName())
			}
			r.got = append(r.got, scope.GetSpans()...)
		}
	}
}

// span returns the one span of a name.
func (r *receiver) span(t testing.TB, name string) *spans.Span {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	var found []*spans.Span
	names := []string{}
	for _, each := range r.got {
		names = append(names, each.GetName())
		if each.GetName() == name {
			found = append(found, each)
		}
	}
	require.Len(t, found, 1, "%s among %v", name, names)
	return found[0]
}

func values(list []*common.KeyValue) map[string]any {
	all := map[string]any{}
	for _, each := range list {
		switch value := each.GetValue().GetValue().(type) {
		case *common.AnyValue_StringValue:
			all[each.GetKey()] = value.StringValue
		case *common.AnyValue_IntValue:
			all[each.GetKey()] = value.IntValue
		default:
			all[each.GetKey()] = each.GetValue().String()
		}
	}
	return all
}
