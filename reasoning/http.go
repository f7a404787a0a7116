package reasoning

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"savant/fault"
)

// Endpoint is the path of a Reasoning API whose address has none.
const Endpoint = "/agent_intent"

// HTTPOptions say where a Reasoning API is.
type HTTPOptions struct {
	// URL is its address. A path is used as it is; without one it is
	// Endpoint.
	URL string
	// Token is sent as a bearer token, where there is one.
	Token string
	// UserAgent is sent as such.
	UserAgent string
}

// HTTP is the transport POST /agent_intent. Connections are kept and used
// again; proxies are those of HTTP_PROXY, HTTPS_PROXY and NO_PROXY.
type HTTP struct {
	address *url.URL
	options HTTPOptions
	client  *http.Client
	encoder encoder
}

// NewHTTP returns a transport; an address that is none is INVALID_PARAMS.
func NewHTTP(options HTTPOptions) (*HTTP, error) {
	address, err := endpoint(options.URL)
	if err != nil {
		return nil, err
	}
	return &HTTP{address: address, options: options, client: NewHTTPClient()}, nil
}

// endpoint reads an address. Its errors do not repeat it: it may hold a secret.
func endpoint(given string) (*url.URL, error) {
	address, err := url.Parse(strings.TrimSpace(given))
	switch {
	case err != nil:
		return nil, fault.New(fault.InvalidParams, "the address of the Reasoning API is not a URL")
	case address.Scheme != "http" && address.Scheme != "https" || address.Host == "":
		return nil, fault.New(fault.InvalidParams, "the address of the Reasoning API: expected http://HOST or https://HOST, perhaps with a path")
	case address.User != nil:
		return nil, fault.New(fault.InvalidParams, "the address of the Reasoning API holds a password: send a token instead")
	}
	address.Fragment = ""
	if address.Path == "" || address.Path == "/" {
		address.Path = Endpoint
	}
	return address, nil
}

// Name says where the transport leads, without what an address may hide.
func (t *HTTP) Name() string { return "the Reasoning API at " + t.address.Host }

// Close lets go of idle connections.
func (t *HTTP) Close() { t.client.CloseIdleConnections() }

// RoundTrip posts the request. Its Idempotency-Key is RUN_ID/STEP: a question
// that was answered before, and is asked again since the answer was lost, has
// the same. Network errors and HTTP 429, 502, 503 and 504
// are Temporary.
func (t *HTTP) RoundTrip(ctx context.Context, request Request) (json.RawMessage, error) {
	body, err := t.encoder.encode(request)
	if err != nil {
		return nil, err
	}
	header := t.header(ctx)
	header.Set("Idempotency-Key", request.RunID+"/"+strconv.Itoa(request.Step))
	return Post(ctx, t.client, t.address.String(), header, body)
}

func (t *HTTP) header(ctx context.Context) http.Header {
	header := http.Header{}
	if t.options.UserAgent != "" {
		header.Set("User-Agent", t.options.UserAgent)
	}
	if t.options.Token != "" {
		header.Set("Authorization", "Bearer "+t.options.Token)
	}
	setTrace(ctx, header)
	return header
}
