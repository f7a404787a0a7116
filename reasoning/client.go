package reasoning

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/cenkalti/backoff/v5"

	"savant/fault"
	"savant/internal/redact"
)

// Options are what a Client is made of.
type Options struct {
	// Transport is required. Name says in errors where it leads ("the
	// Reasoning API at api.example"); it holds no secret.
	Transport Transport
	Name      string
	// Timeout bounds one attempt; 0 is none.
	Timeout time.Duration
	// Retries is how many attempts may follow the first.
	Retries int
	// Observe is told of each attempt that failed, before the next one and
	// after the last. It may be nil, and is called by several goroutines at
	// once.
	Observe func(context.Context, Attempt)
}

// Attempt is one that failed.
type Attempt struct {
	SessionID, RunID string
	Step             int
	// Number counts from 1.
	Number  int
	Err     error
	Elapsed time.Duration
	// Wait is how long until the next attempt; Last says there is none.
	Wait time.Duration
	Last bool
}

// Pauses between attempts: the first, their growth and the longest, each ±50 %
// by chance, so that many agents do not come back at the same moment. A
// Retry-After longer than maxRetryAfter is not waited for.
const (
	firstPause    = 100 * time.Millisecond
	pauseGrowth   = 2
	longestPause  = 2 * time.Second
	maxRetryAfter = 30 * time.Second
)

// Client asks for decisions. It may be used by several goroutines at once.
type Client struct{ options Options }

// New returns a client over a transport.
func New(options Options) *Client {
	if options.Name == "" {
		options.Name = "the Reasoning API"
	}
	return &Client{options: options}
}

// Decide returns what to do at this step, checked and repaired as the table of
// docs/reasoning-api.md says. It is REASONING_UNAVAILABLE when no attempt was
// answered, INVALID_INTENT when the answer cannot be used, and the context's
// error when ctx ended first. A tool that is not among those offered is no
// error here: its name is kept as it was answered.
func (c *Client) Decide(ctx context.Context, request Request) (Intent, error) {
	answer, err := c.ask(ctx, request)
	if err != nil {
		return Intent{}, err
	}
	return ParseIntent(answer, request.Tools)
}

// ask makes attempts until one is answered.
func (c *Client) ask(ctx context.Context, request Request) ([]byte, error) {
	pauses := &backoff.ExponentialBackOff{InitialInterval: firstPause, RandomizationFactor: 0.5,
		Multiplier: pauseGrowth, MaxInterval: longestPause}
	for number := 1; ; number++ {
		started := time.Now()
		answer, err := c.attempt(ctx, request)
		if err == nil {
			return answer, nil
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		failed := Attempt{SessionID: request.SessionID, RunID: request.RunID, Step: request.Step,
			Number: number, Err: err, Elapsed: time.Since(started)}
		failed.Wait, failed.Last = c.pause(number, err, pauses)
		c.observe(ctx, failed)
		if failed.Last {
			return nil, c.unavailable(number, err)
		}
		if err := sleep(ctx, failed.Wait); err != nil {
			return nil, err
		}
	}
}

// attempt is one round trip within the timeout.
func (c *Client) attempt(ctx context.Context, request Request) ([]byte, error) {
	if c.options.Timeout <= 0 {
		return c.options.Transport.RoundTrip(ctx, request)
	}
	bounded, cancel := context.WithTimeout(ctx, c.options.Timeout)
	defer cancel()
	answer, err := c.options.Transport.RoundTrip(bounded, request)
	if err != nil && errors.Is(bounded.Err(), context.DeadlineExceeded) && ctx.Err() == nil {
		return nil, &Temporary{Err: fault.New(fault.ReasoningUnavailable, "no answer within %s", c.options.Timeout)}
	}
	return answer, err
}

// pause says how long to wait after a failed attempt, or that it was the last.
func (c *Client) pause(number int, err error, pauses backoff.BackOff) (wait time.Duration, last bool) {
	var temporary *Temporary
	if number > c.options.Retries || !errors.As(err, &temporary) || temporary.After > maxRetryAfter {
		return 0, true
	}
	return max(pauses.NextBackOff(), temporary.After), false
}

func (c *Client) observe(ctx context.Context, failed Attempt) {
	if c.options.Observe != nil {
		c.options.Observe(ctx, failed)
	}
}

// unavailable is the error of the last attempt, with its code.
func (c *Client) unavailable(attempts int, err error) error {
	coded := (*fault.Error)(nil)
	if errors.As(err, &coded) && coded.Code != fault.ReasoningUnavailable {
		return coded
	}
	details := err.Error()
	if coded != nil {
		details = coded.Details
	}
	tried := ""
	if attempts > 1 {
		tried = " after " + plural(attempts, "attempt")
	}
	return fault.New(fault.ReasoningUnavailable, "%s did not decide%s: %s", c.options.Name, tried, redact.Shapes().Text(details)).
		Attach("attempts", attempts)
}

// plural is "1 attempt", "2 attempts".
func plural(count int, noun string) string {
	if count != 1 {
		noun += "s"
	}
	return strconv.Itoa(count) + " " + noun
}

// sleep waits, or returns why ctx ended.
func sleep(ctx context.Context, wait time.Duration) error {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
