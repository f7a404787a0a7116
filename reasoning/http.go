package reasoning

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"savant/fault"
	"savant/telemetry"
)

// Endpoint is the path used if the address of a Reasoning API has no path.
const Endpoint = "/agent_intent"

// HTTPOptions configure HTTP.
type HTTPOptions struct {
	// URL is the address. Without a path, Endpoint is used.
	URL string
	// Token is the bearer token; "" sends none.
	Token string
	// UserAgent is the header of that name; "" keeps Go's default.
	UserAgent string
}

// HTTP is the transport POST /agent_intent. It keeps connections open and uses
// the proxies of HTTP_PROXY, HTTPS_PROXY and NO_PROXY.
type HTTP struct {
	address *url.URL
	options HTTPOptions
	client  *http.Client
}

// NewHTTP returns a transport. A bad address is INVALID_PARAMS.
func NewHTTP(options HTTPOptions) (*HTTP, error) {
	address, err := endpoint(options.URL)
	if err != nil {
		return nil, err
	}
	return &HTTP{address: address, options: options, client: NewHTTPClient()}, nil
}

// endpoint parses an address. Its errors do not quote the address, which may contain a
// secret.
func endpoint(given string) (*url.URL, error) {
	address, err := url.Parse(strings.TrimSpace(given))
	switch {
	case err != nil:
		return nil, fault.New(fault.InvalidParams, "REASONING_API_URL is not a URL")
	case address.Scheme != "http" && address.Scheme != "https" || address.Host == "":
		return nil, fault.New(fault.InvalidParams, "REASONING_API_URL: expected http://HOST or https://HOST, perhaps with a path")
	case address.User != nil:
		return nil, fault.New(fault.InvalidParams, "REASONING_API_URL holds a password; send a token instead")
	}
	address.Fragment = ""
	if address.Path == "" || address.Path == "/" {
		address.Path = Endpoint
	}
	return address, nil
}

// Name names the host, without path or credentials.
func (t *HTTP) Name() string { return "the Reasoning API at " + t.address.Host }

// Close closes idle connections.
func (t *HTTP) Close() { t.client.CloseIdleConnections() }

// patience is the fraction of an attempt's timeout that is sent as the wait preference
// (RFC 7240, respond-async). The rest is for the network.
const patience = 0.75

// RoundTrip posts the request. The Idempotency-Key is Request.Key, so that a retry
// after a lost answer has the same key. The trace context of ctx is propagated. Network
// errors and Passing statuses are Temporary; HTTP 202 is Pending.
// If the observer streams, the request accepts StreamType.
func (t *HTTP) RoundTrip(ctx context.Context, request Request, observer Observer) (json.RawMessage, error) {
	body, err := request.Encode()
	if err != nil {
		return nil, err
	}
	header := t.header(ctx)
	header.Set("Idempotency-Key", request.Key())
	if until, bounded := ctx.Deadline(); bounded {
		header.Set("Prefer", fmt.Sprintf("respond-async, wait=%d", max(1, int(time.Until(until).Seconds()*patience))))
	}
	return postForIntent(ctx, t.client, t.address.String(), header, body, observer)
}

func (t *HTTP) header(ctx context.Context) http.Header {
	header := http.Header{}
	if t.options.UserAgent != "" {
		header.Set("User-Agent", t.options.UserAgent)
	}
	if t.options.Token != "" {
		header.Set("Authorization", "Bearer "+t.options.Token)
	}
	if trace := telemetry.TraceFrom(ctx); trace.Parent != "" {
		header.Set("Traceparent", trace.Parent)
		if trace.State != "" {
			header.Set("Tracestate", trace.State)
		}
	}
	return header
}
