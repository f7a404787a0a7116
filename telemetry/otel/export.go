package otel

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"savant/fault"
)

// exporter posts spans to a collector. It never fails: unsent spans are counted, and
// the first failure is logged.
type exporter struct {
	address   string
	header    http.Header
	client    *http.Client
	logger    *slog.Logger
	warnOnce  sync.Once
	life      context.Context
	stop      context.CancelFunc
	delivered atomic.Int64
	// closing: no more attempts if the collector is unreachable.
	closing atomic.Bool
}

// maxAnswer bounds how much of a collector's response is read, in bytes.
const maxAnswer = 64 << 10

func newExporter(options Options) (*exporter, error) {
	address, err := endpoint(options)
	if err != nil {
		return nil, err
	}
	header, err := headers(options.Headers)
	if err != nil {
		return nil, err
	}
	header.Set("Content-Type", "application/x-protobuf")
	header.Set("User-Agent", "savant/"+options.Version)
	e := &exporter{address: address, header: header, logger: options.Logger,
		client: &http.Client{Transport: http.DefaultTransport.(*http.Transport).Clone(), CheckRedirect: refuseRedirect}}
	e.life, e.stop = context.WithCancel(context.Background())
	return e, nil
}

// refuseRedirect refuses redirects: the headers are for one host, and OTLP has no
// redirects.
func refuseRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// endpoint returns the URL to post to, by the OTLP exporter specification.
func endpoint(options Options) (string, error) {
	given, name := options.TracesEndpoint, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
	if given == "" {
		given, name = options.Endpoint, "OTEL_EXPORTER_OTLP_ENDPOINT"
	}
	address, err := url.Parse(strings.TrimSpace(given))
	if err != nil || address.Scheme != "http" && address.Scheme != "https" || address.Host == "" {
		return "", fault.New(fault.InvalidParams, "%s: expected http://HOST:PORT or https://HOST:PORT, a collector that takes OTLP over HTTP", name)
	}
	if options.TracesEndpoint == "" {
		address = address.JoinPath("v1", "traces")
	}
	return address.String(), nil
}

// Characters that a header must not contain.
const (
	badInValue = "\r\n\x00"
	badInName  = badInValue + " \t:"
)

// headers parses comma-separated name=value pairs.
func headers(given string) (http.Header, error) {
	header := http.Header{}
	for pair := range strings.SplitSeq(given, ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		name, value, found := strings.Cut(pair, "=")
		name = strings.TrimSpace(name)
		decoded, err := url.PathUnescape(strings.TrimSpace(value))
		if !found || err != nil || name == "" || strings.ContainsAny(name, badInName) || strings.ContainsAny(decoded, badInValue) {
			return nil, fault.New(fault.InvalidParams, "OTEL_EXPORTER_OTLP_HEADERS: expected name=value,name=value with values percent-encoded")
		}
		header.Set(name, decoded)
	}
	return header, nil
}

// ExportSpans sends spans, repeating the attempt after temporary errors.
func (e *exporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	if len(spans) == 0 {
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(e.life, cancel)()
	rejected, err := e.send(ctx, spans)
	if err != nil {
		e.warnOnce.Do(func() {
			e.logger.Warn("traces cannot be sent; spans are dropped until it works again", "cause", err.Error())
		})
		return nil
	}
	sent := int64(len(spans))
	e.delivered.Add(sent - min(max(rejected, 0), sent))
	return nil
}

// Shutdown is called after the last export.
func (e *exporter) Shutdown(context.Context) error {
	e.client.CloseIdleConnections()
	return nil
}

// Attempts and the back-off between them; a collector may request a longer one.
const (
	attempts   = 3
	firstPause = 200 * time.Millisecond
)

func (e *exporter) send(ctx context.Context, spans []sdktrace.ReadOnlySpan) (rejected int64, err error) {
	body, err := encodeRequest(spans)
	if err != nil {
		return 0, err
	}
	for attempt, pause := 1, firstPause; ; attempt, pause = attempt+1, 2*pause {
		answer, again, err := e.post(ctx, body)
		if err == nil {
			return rejectedSpans(answer), nil
		}
		if again < 0 || attempt == attempts {
			return 0, err
		}
		timer := time.NewTimer(max(pause, again))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return 0, err
		}
	}
}

// post makes one attempt. again is the back-off before the next one; negative: no
// further attempt.
func (e *exporter) post(ctx context.Context, body []byte) (answer []byte, again time.Duration, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, e.address, bytes.NewReader(body))
	if err != nil {
		return nil, -1, errors.New("the address cannot be used")
	}
	request.Header = e.header.Clone()
	response, err := e.client.Do(request)
	if err != nil {
		if wrapped := (*url.Error)(nil); errors.As(err, &wrapped) { // it repeats the address
			err = wrapped.Err
		}
		if e.closing.Load() {
			return nil, -1, err
		}
		return nil, 0, err
	}
	defer response.Body.Close()
	answer, err = io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if response.StatusCode/100 == 2 {
		return answer, 0, nil // accepted, even if the rest of the response is lost
	}
	return nil, retryAfter(response), errors.Join(err, fmt.Errorf("the collector answered HTTP %d", response.StatusCode))
}

// retryAfter returns the back-off before another attempt, by the OTLP specification;
// negative: no further attempt.
func retryAfter(response *http.Response) time.Duration {
	switch response.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		seconds, _ := strconv.Atoi(response.Header.Get("Retry-After"))
		return time.Duration(min(max(seconds, 0), 60)) * time.Second
	}
	return -1
}
