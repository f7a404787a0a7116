package reasoning

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

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
}

// maxRedirects is how often a request may be sent elsewhere on its host.
const maxRedirects = 3

// NewHTTP returns a transport; an address that is none is INVALID_PARAMS.
func NewHTTP(options HTTPOptions) (*HTTP, error) {
	address, err := endpoint(options.URL)
	if err != nil {
		return nil, err
	}
	network := http.DefaultTransport.(*http.Transport).Clone()
	network.MaxIdleConnsPerHost = 16 // parallel runs keep their connections
	return &HTTP{address: address, options: options,
		client: &http.Client{Transport: network, CheckRedirect: checkRedirect}}, nil
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

// checkRedirect follows only to the same host, and only with the same body:
// the token and the request are for one host.
func checkRedirect(next *http.Request, before []*http.Request) error {
	first := before[0].URL
	switch {
	case next.URL.Scheme != first.Scheme || next.URL.Host != first.Host:
		return fault.New(fault.ReasoningUnavailable, "it redirects to another host, %s, which is refused", next.URL.Host)
	case next.Method != http.MethodPost:
		return fault.New(fault.ReasoningUnavailable, "it redirects without the request; only 307 and 308 are followed")
	case len(before) > maxRedirects:
		return fault.New(fault.ReasoningUnavailable, "it redirects more than %d times", maxRedirects)
	}
	return nil
}

// RoundTrip posts the request. Network errors and HTTP 429, 502, 503 and 504
// are Temporary.
func (t *HTTP) RoundTrip(ctx context.Context, request Request) (json.RawMessage, error) {
	body, err := request.Encode()
	if err != nil {
		return nil, err
	}
	post, err := http.NewRequestWithContext(ctx, http.MethodPost, t.address.String(), bytes.NewReader(body))
	if err != nil {
		return nil, fault.New(fault.ReasoningUnavailable, "the request cannot be made")
	}
	t.setHeader(ctx, post.Header)
	response, err := t.client.Do(post)
	if err != nil {
		return nil, networkError(ctx, err)
	}
	defer response.Body.Close()
	return readAnswer(ctx, response)
}

func (t *HTTP) setHeader(ctx context.Context, header http.Header) {
	header.Set("Content-Type", "application/json")
	header.Set("Accept", "application/json")
	if t.options.UserAgent != "" {
		header.Set("User-Agent", t.options.UserAgent)
	}
	if t.options.Token != "" {
		header.Set("Authorization", "Bearer "+t.options.Token)
	}
	if parent := traceparent(ctx); parent != "" {
		header.Set("Traceparent", parent)
	}
}

// readAnswer returns the body of a good answer, and the error of any other.
// The body is read to its end so that the connection can be used again, but no
// further than one byte beyond what is taken.
func readAnswer(ctx context.Context, response *http.Response) (json.RawMessage, error) {
	if response.ContentLength > MaxAnswer {
		return nil, invalid(nil, fmt.Sprintf("it is larger than %d bytes", MaxAnswer))
	}
	good := response.StatusCode/100 == 2
	limit := int64(MaxAnswer)
	if !good {
		limit = 4 * maxReceived
	}
	answer, err := io.ReadAll(io.LimitReader(response.Body, limit+1))
	switch {
	case err != nil && good:
		return nil, networkError(ctx, err)
	case good:
		return answer, nil
	}
	return nil, statusError(response, answer)
}

// statusError is a refusal, with the beginning of what it says.
func statusError(response *http.Response, body []byte) error {
	said := strings.Join(strings.Fields(string(body)), " ")
	if strings.HasPrefix(said, "<") {
		said = "a page of HTML"
	}
	err := fault.New(fault.ReasoningUnavailable, "it answered %s", strings.TrimSuffix(fmt.Sprintf("HTTP %d: %s", response.StatusCode,
		fault.Cut(Redact(strings.ToValidUTF8(said, "\uFFFD")), maxReceived)), ": "))
	switch response.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return &Temporary{Err: err, After: RetryAfter(response.Header.Get("Retry-After"), time.Now())}
	}
	return err
}

// RetryAfter reads the header of that name: seconds or a date (RFC 9110,
// 10.2.3). What is none, or past, is 0.
func RetryAfter(value string, now time.Time) time.Duration {
	if seconds, err := strconv.Atoi(value); err == nil {
		return time.Duration(min(max(seconds, 0), 1<<31)) * time.Second
	}
	if date, err := http.ParseTime(value); err == nil {
		return max(date.Sub(now), 0)
	}
	return 0
}

// networkError is what went wrong on the way. The address is left out of it.
func networkError(ctx context.Context, err error) error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	if coded := (*fault.Error)(nil); errors.As(err, &coded) {
		return coded
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	coded := fault.New(fault.ReasoningUnavailable, "%w", err)
	if untrusted(err) {
		return coded
	}
	return &Temporary{Err: coded}
}

// untrusted says that another attempt would meet the same certificate.
func untrusted(err error) bool {
	return errors.As(err, new(*tls.CertificateVerificationError)) || errors.As(err, new(x509.UnknownAuthorityError)) ||
		errors.As(err, new(tls.RecordHeaderError))
}
