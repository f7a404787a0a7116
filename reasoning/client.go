package reasoning

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v5"

	"savant/fault"
	"savant/internal/redact"
)

// Options configure a Client.
type Options struct {
	// Transport is required. Name is its destination in errors ("the Reasoning API at
	// api.example"); it must not contain a secret.
	Transport Transport
	Name      string
	// Remote: the transport leads to a service whose model calls are not observed. The
	// client then reports the prompt and the call itself.
	Remote bool
	// Timeout bounds one attempt; 0 means no limit.
	Timeout time.Duration
	// Retries bounds the attempts after the first.
	Retries int
	// Observe is called after each failed attempt, concurrently for concurrent requests.
	// It may be nil.
	Observe func(context.Context, Attempt)
}

// Attempt is a failed attempt.
type Attempt struct {
	SessionID, RunID string
	Step             int
	// Number counts from 1.
	Number  int
	Err     error
	Elapsed time.Duration
	// Wait is the pause before the next attempt. Last: there is no next attempt.
	Wait time.Duration
	Last bool
}

// Exponential back-off with a jitter of 50 %: the first pause, the factor and the
// longest pause. A Retry-After header takes precedence; one over maxRetryAfter ends the
// attempts.
const (
	firstPause    = 100 * time.Millisecond
	pauseGrowth   = 2
	longestPause  = 2 * time.Second
	maxRetryAfter = 30 * time.Second
)

// Client asks for decisions. It is safe for concurrent use.
type Client struct{ options Options }

// New returns a client over a transport.
func New(options Options) *Client {
	if options.Name == "" {
		options.Name = "the Reasoning API"
	}
	return &Client{options: options}
}

// Transport returns the transport of the client.
func (c *Client) Transport() Transport { return c.options.Transport }

// Name describes the service that decides, for people.
func (c *Client) Name() string { return c.options.Name }

// Identify is Name: nothing has to be found out first.
func (c *Client) Identify(context.Context) string { return c.options.Name }

// Decide returns the intent for this step, checked and repaired as
// docs/reasoning-api.md says. The errors are REASONING_UNAVAILABLE if no attempt was
// answered, INVALID_INTENT if the answer is unusable, and the cause of ctx if it ended
// first. An unknown tool is not an error here: its name is returned as answered.
func (c *Client) Decide(ctx context.Context, request Request, observer Observer) (Intent, error) {
	began := time.Now()
	observer = &observedDecision{Observer: observer, ctx: ctx, client: c, request: request}
	answer, attempts, err := c.ask(ctx, request, observer)
	if err != nil {
		return Intent{}, err
	}
	intent, err := ParseIntent(answer, request.Tools)
	if c.options.Remote && intent.Prompt == nil && err == nil {
		intent.Prompt = request.describe()
	}
	if intent.Prompt != nil {
		observer.Prompted(intent.Model, *intent.Prompt)
	}
	if c.options.Remote {
		observer.Called(ModelCall{Model: intent.Model, Purpose: request.Purpose(), PromptTokens: intent.PromptTokens, OutputTokens: intent.OutputTokens,
			Duration: time.Since(began), Cached: intent.Cached, Retry: attempts - 1, Remote: true, Err: err, Prompt: request.parts(), Reply: string(answer)})
	}
	return intent, err
}

// ask makes attempts until one is answered, and counts them.
func (c *Client) ask(ctx context.Context, request Request, observer Observer) (answer []byte, attempts int, err error) {
	attempt := Attempt{SessionID: request.SessionID, RunID: request.RunID, Step: request.Step}
	output := &newText{Observer: observer}
	answer, err = backoff.Retry(ctx, func() ([]byte, error) {
		attempt.Number++
		started := time.Now()
		output.attempt()
		answer, err := c.attempt(ctx, request, output)
		attempt.Err, attempt.Elapsed = err, time.Since(started)
		return answer, retryable(err)
	}, backoff.WithMaxTries(uint(c.options.Retries)+1), backoff.WithMaxElapsedTime(0), backoff.WithBackOff(&backoff.ExponentialBackOff{
		InitialInterval: firstPause, RandomizationFactor: 0.5, Multiplier: pauseGrowth, MaxInterval: longestPause,
	}), backoff.WithNotify(func(_ error, wait time.Duration) {
		attempt.Wait = wait
		c.observe(ctx, attempt)
	}))
	if err == nil {
		return answer, attempt.Number, nil
	}
	if ctx.Err() != nil {
		return nil, attempt.Number, context.Cause(ctx)
	}
	attempt.Wait, attempt.Last = 0, true
	c.observe(ctx, attempt)
	return nil, attempt.Number, c.unavailable(attempt)
}

// retryable converts an error for backoff: permanent, or with the time to retry after.
func retryable(err error) error {
	var temporary *Temporary
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &temporary) || temporary.After > maxRetryAfter:
		return backoff.Permanent(err)
	case temporary.After > 0:
		return &backoff.RetryAfterError{Duration: temporary.After}
	}
	return err
}

// The longest time that a service may stay Pending, and the shortest polling interval.
const (
	maxPending   = time.Hour
	pendingPause = 100 * time.Millisecond
)

// attempt makes a round trip and polls while the service is Pending.
func (c *Client) attempt(ctx context.Context, request Request, output *newText) ([]byte, error) {
	began := time.Now()
	for {
		output.again()
		answer, err := c.roundTrip(ctx, request, output)
		var pending *Pending
		if !errors.As(err, &pending) {
			return answer, err
		}
		if time.Since(began) > maxPending {
			return nil, fault.New(fault.ReasoningUnavailable, "it was still deciding after %s", maxPending)
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(min(max(pending.After, pendingPause), maxRetryAfter)):
		}
	}
}

// roundTrip is one round trip within the timeout. A transport that found out in its last
// moment why there is no answer keeps its own error.
func (c *Client) roundTrip(ctx context.Context, request Request, observer Observer) ([]byte, error) {
	if c.options.Timeout <= 0 {
		return c.options.Transport.RoundTrip(ctx, request, observer)
	}
	bounded, cancel := context.WithTimeout(ctx, c.options.Timeout)
	defer cancel()
	answer, err := c.options.Transport.RoundTrip(bounded, request, observer)
	if errors.Is(err, context.DeadlineExceeded) && bounded.Err() != nil && ctx.Err() == nil {
		return nil, &Temporary{Err: fault.New(fault.ReasoningUnavailable, "no answer within %s", c.options.Timeout)}
	}
	return answer, err
}

func (c *Client) observe(ctx context.Context, attempt Attempt) {
	if c.options.Observe != nil {
		c.options.Observe(ctx, attempt)
	}
}

// unavailable is the error of the last attempt, with its code.
func (c *Client) unavailable(last Attempt) error {
	details := last.Err.Error()
	if coded := (*fault.Error)(nil); errors.As(last.Err, &coded) {
		if coded.Code != fault.ReasoningUnavailable {
			return coded
		}
		details = coded.Details
	}
	var temporary *Temporary
	if errors.As(last.Err, &temporary) && temporary.After > maxRetryAfter {
		details += fmt.Sprintf("; it asks to wait %s, and Savant waits %s at most", temporary.After.Round(time.Second), maxRetryAfter)
	}
	tried := ""
	if last.Number > 1 {
		tried = fmt.Sprintf(" after %d attempts", last.Number)
	}
	coded := fault.New(fault.ReasoningUnavailable, "%s did not decide%s: %s", c.options.Name, tried, redact.Shapes().Text(details)).
		Attach("attempts", last.Number)
	if errors.As(last.Err, new(*Away)) {
		return &Away{coded}
	}
	return coded
}
