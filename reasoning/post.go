package reasoning

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"

	"savant/fault"
	"savant/internal/httpclient"
	"savant/internal/pattern"
	"savant/internal/redact"
)

// NewHTTPClient returns a client for Post. It keeps connections open, uses the
// proxies of the environment and follows no redirect to another origin.
func NewHTTPClient() *http.Client {
	network := http.DefaultTransport.(*http.Transport).Clone()
	network.MaxIdleConnsPerHost = 16 // parallel runs keep their connections
	return &http.Client{Transport: network, CheckRedirect: httpclient.SameOrigin}
}

// Post sends JSON and returns the body of a good answer, at most MaxAnswer bytes.
// Errors are REASONING_UNAVAILABLE, *Temporary for network errors and Passing statuses,
// *Pending for HTTP 202, *Refused for any other;
// INVALID_INTENT and LIMIT_EXCEEDED if a refusal has one of these codes. They contain
// neither the address nor credentials of the header.
func Post(ctx context.Context, client *http.Client, address string, header http.Header, body []byte) (json.RawMessage, error) {
	response, err := send(ctx, client, http.MethodPost, address, header, body)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	return readAnswer(ctx, response, header)
}

// Get returns the body of a successful GET, with the errors of Post.
func Get(ctx context.Context, client *http.Client, address string, header http.Header) (json.RawMessage, error) {
	response, err := send(ctx, client, http.MethodGet, address, header, nil)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	return readAnswer(ctx, response, header)
}

// maxStream bounds a streamed answer in bytes. Each part of a few letters has an
// overhead of some hundred bytes.
const maxStream = 64 << 20

// PostStream sends JSON and streams the body of a successful answer, at most maxStream
// bytes, to read. The errors are those of Post and of read. A body that ends early is a
// network error.
func PostStream(ctx context.Context, client *http.Client, address string, header http.Header, body []byte, read func(io.Reader) error) error {
	response, err := send(ctx, client, http.MethodPost, address, header, body)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode/100 != 2 {
		_, err = readAnswer(ctx, response, header)
		return err
	}
	stream := &watchedReader{Reader: io.LimitReader(response.Body, maxStream)}
	if err = read(stream); stream.broken != nil {
		return networkError(ctx, stream.broken)
	}
	return err
}

// watchedReader remembers the error that ended reading.
type watchedReader struct {
	io.Reader
	broken error
}

func (w *watchedReader) Read(into []byte) (int, error) {
	n, err := w.Reader.Read(into)
	if err != nil && !errors.Is(err, io.EOF) {
		w.broken = err
	}
	return n, err
}

// send sends a request and returns the answer, whatever its status.
func send(ctx context.Context, client *http.Client, method, address string, header http.Header, body []byte) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
	if err != nil {
		return nil, fault.New(fault.ReasoningUnavailable, "the address cannot be used")
	}
	request.Header = header
	if method == http.MethodPost {
		header.Set("Content-Type", "application/json")
	}
	if header.Get("Accept") == "" {
		header.Set("Accept", "application/json")
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, networkError(ctx, err)
	}
	return response, nil
}

// readAnswer returns the body of a successful answer, or the error of any other. It
// reads one byte over the limit so that ParseIntent detects an answer that is too
// large.
func readAnswer(ctx context.Context, response *http.Response, sent http.Header) (json.RawMessage, error) {
	if response.ContentLength > MaxAnswer {
		return nil, invalid(nil, fmt.Sprintf("it is larger than %d bytes", MaxAnswer))
	}
	if response.StatusCode == http.StatusAccepted {
		return nil, &Pending{After: RetryAfter(response.Header.Get("Retry-After"), time.Now())}
	}
	good := response.StatusCode/100 == 2
	limit := int64(MaxAnswer)
	if !good {
		limit = maxRefusal
	}
	answer, err := io.ReadAll(io.LimitReader(response.Body, limit+1))
	switch {
	case err != nil && good:
		return nil, networkError(ctx, err)
	case good:
		return answer, nil
	}
	return nil, statusError(response, hide(string(answer), sent))
}

// maxRefusal bounds the bytes read of a refusal. An error of Savant is smaller.
const maxRefusal = 20_000

// Statuses of Cloudflare for a certificate of the service behind it, which stays as it is.
const (
	statusHandshake   = 525
	statusCertificate = 526
)

// IsTemporaryStatus reports whether what a status says may pass by itself.
func IsTemporaryStatus(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return true
	case http.StatusNotImplemented, http.StatusHTTPVersionNotSupported, statusHandshake, statusCertificate:
		return false
	}
	return status/100 == 5
}

// statusError is the error of a refusal, with the beginning of its body.
func statusError(response *http.Response, body string) error {
	said := strings.Join(strings.Fields(body), " ")
	if strings.HasPrefix(said, "<") {
		said = "a page of HTML"
	}
	err := fault.New(fault.ReasoningUnavailable, "it answered %s", strings.TrimSuffix(fmt.Sprintf("HTTP %d: %s", response.StatusCode,
		fault.Cut(strings.ToValidUTF8(said, "\uFFFD"), maxReceived)), ": "))
	if coded := refusal(response.StatusCode, body); coded != nil {
		return coded
	}
	refused := &Refused{Status: response.StatusCode, After: cmp.Or(Patience(response.Header, time.Now()), AskedWait(body)), Body: body, Err: err}
	if IsTemporaryStatus(response.StatusCode) && !quotaUsedUp().MatchString(body) {
		return &Temporary{Err: refused, After: refused.After}
	}
	return refused
}

// quotaUsedUp matches what services say of an exhausted budget. It has the status of a rate
// limit, but a retry cannot succeed.
var quotaUsedUp = pattern.Lazy(`(?i)insufficient_quota|exceeded_current_quota|billing_error|(?:out of|insufficient) (?:credits|balance)`)

// Refused is the error of a request answered with an error status: the pause that the
// answer asked for, and its beginning, redacted.
type Refused struct {
	Status int
	After  time.Duration
	Body   string
	Err    error
}

func (r *Refused) Error() string { return r.Err.Error() }

// Unwrap makes the cause visible to errors.As.
func (r *Refused) Unwrap() error { return r.Err }

// refusal is the error of a Savant service about the question or its answer, which a
// retry would repeat; nil for other errors.
func refusal(status int, body string) error {
	var failure fault.Error
	if status/100 != 4 || json.Unmarshal([]byte(body), &failure) != nil || failure.Code != fault.InvalidIntent && failure.Code != fault.LimitExceeded {
		return nil
	}
	return fault.New(failure.Code, "%s", failure.Details)
}

// hide redacts the credentials that were sent, however short, and anything that looks
// like a secret.
func hide(text string, sent http.Header) string {
	return redact.FromLength(1, strings.TrimPrefix(sent.Get("Authorization"), "Bearer "), sent.Get("X-Api-Key")).Text(text)
}

// wait matches a duration, or a number and its unit.
const wait = `([0-9][0-9.]*[hms][0-9.hms]*|[0-9.]+(?: [a-z]+)?)`

var (
	// pause matches a number with its unit: 2, 1.5s, 7 seconds; of several the first.
	pause = pattern.Lazy(`(?i)^\s*([0-9.]+)\s*([a-z]*)\s*(?:,.*)?$`)
	// retryMember matches a pause as a member of an error: "retryDelay": "34s", "retry_after": 2.
	retryMember = pattern.Lazy(`(?i)"retry[_-]?(?:delay|after)(?:[_-]?(ms|milliseconds)|[_-]?(?:s|seconds))?"\s*:\s*(?:\{\s*"seconds"\s*:\s*)?"?` + wait)
	// retrySentence matches it in a sentence: "Please try again in 6m0s."
	retrySentence = pattern.Lazy(`(?i)(?:try again|retry|retrying|resets?|wait)(?: (?:in|after|for|about))* ` + wait)
)

// Larger numbers of seconds, or of milliseconds, are times and not durations.
const (
	secondsOfTime      = 1e9
	millisecondsOfTime = 1e12
)

// RetryAfter reads how long a service asks to wait: a duration ("6m0s"), a number of seconds
// or of another unit, Unix time in seconds or milliseconds, or a date. It is 0 for anything
// else and for the past.
func RetryAfter(value string, now time.Time) time.Duration {
	if duration, err := time.ParseDuration(value); err == nil {
		return max(duration, 0)
	}
	if found := pause().FindStringSubmatch(value); found != nil {
		number, _ := strconv.ParseFloat(found[1], 64) // out of range: the largest value
		switch {
		case number >= millisecondsOfTime:
			return max(time.UnixMilli(int64(min(number, 1e15))).Sub(now), 0)
		case number >= secondsOfTime:
			return max(time.Unix(int64(number), 0).Sub(now), 0)
		}
		given := strings.ToLower(found[2]) + " "
		unit := cmp.Or(map[byte]time.Duration{'m': time.Minute, 'h': time.Hour, 'd': 24 * time.Hour}[given[0]], time.Second)
		if given == "ms " || strings.HasPrefix(given, "milli") {
			unit = time.Millisecond
		}
		return time.Duration(min(number*float64(unit), 1<<62))
	}
	for _, layout := range []string{time.RFC3339, time.RFC1123Z} {
		if at, err := time.Parse(layout, value); err == nil {
			return max(at.Sub(now), 0)
		}
	}
	if date, err := http.ParseTime(value); err == nil {
		return max(date.Sub(now), 0)
	}
	return 0
}

// AskedWait is how long the body of an error asks to wait; 0 if it does not say.
func AskedWait(body string) time.Duration {
	value, unit := "", ""
	if found := retryMember().FindStringSubmatch(body); found != nil {
		value, unit = found[2], found[1]
	} else if found := retrySentence().FindStringSubmatch(body); found != nil {
		value = found[1]
	}
	return RetryAfter(strings.TrimRight(value, ".")+unit, time.Now())
}

// Patience is how long a service asks to wait: Retry-After in seconds or milliseconds,
// or the time until an exhausted rate limit is reset. It is 0 if the service does not say.
func Patience(header http.Header, now time.Time) time.Duration {
	if wait := RetryAfter(header.Get("Retry-After-Ms")+"ms", now); wait > 0 {
		return wait
	}
	if given := header.Get("Retry-After"); given != "" {
		return RetryAfter(given, now)
	}
	var usedUp, unlimited time.Duration // times until the reset of exhausted limits, and of limits without a remaining count
	for name := range header {
		if !strings.Contains(name, "Ratelimit") || !strings.Contains(name, "Reset") {
			continue
		}
		wait := RetryAfter(header.Get(name), now)
		switch header.Get(strings.Replace(name, "Reset", "Remaining", 1)) {
		case "0":
			usedUp = max(usedUp, wait)
		case "":
			unlimited = max(unlimited, wait)
		}
	}
	return cmp.Or(usedUp, unlimited)
}

// networkError is the error of a request that got no answer, without the address.
func networkError(ctx context.Context, err error) error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	coded := fault.New(fault.ReasoningUnavailable, "%w", err)
	if errors.Is(err, httpclient.ErrRedirected) || errors.As(err, new(*tls.CertificateVerificationError)) ||
		errors.As(err, new(x509.UnknownAuthorityError)) || errors.As(err, new(tls.RecordHeaderError)) {
		return coded // a retry would fail the same way
	}
	return &Temporary{Err: &Away{coded}, Refused: refusedHere(err)}
}

// refusedHere reports whether nothing listens at an address of this machine. Waiting
// starts no program there.
func refusedHere(err error) bool {
	var failed *net.OpError
	if !errors.Is(err, syscall.ECONNREFUSED) || !errors.As(err, &failed) {
		return false
	}
	address, isTCP := failed.Addr.(*net.TCPAddr)
	return isTCP && address.IP.IsLoopback()
}
