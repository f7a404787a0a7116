package reasoning_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"savant/fault"
	"savant/reasoning"
)

// script is a transport that plays its lines, one an attempt.
type script []func(context.Context) (json.RawMessage, error)

func (s *script) RoundTrip(ctx context.Context, _ reasoning.Request, _ reasoning.Observer) (json.RawMessage, error) {
	line := (*s)[0]
	*s = (*s)[1:]
	return line(ctx)
}

func answers(text string) func(context.Context) (json.RawMessage, error) {
	return func(context.Context) (json.RawMessage, error) { return json.RawMessage(text), nil }
}

func fails(err error) func(context.Context) (json.RawMessage, error) {
	return func(context.Context) (json.RawMessage, error) { return nil, err }
}

func hangs(ctx context.Context) (json.RawMessage, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func busy(after time.Duration) error {
	return &reasoning.Temporary{Err: fault.New(fault.ReasoningUnavailable, "it answered HTTP 429"), After: after}
}

const finish = `{"action":"finish","final":"done"}`

var question = reasoning.Request{SessionID: "s1", RunID: "r1", Step: 3, Goal: "anything"}

// attempts collects what a client tells of failed attempts.
func attempts(into *[]reasoning.Attempt) func(context.Context, reasoning.Attempt) {
	return func(_ context.Context, a reasoning.Attempt) { *into = append(*into, a) }
}

func TestRetryAfterIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen []reasoning.Attempt
		client := reasoning.New(reasoning.Options{Transport: &script{fails(busy(7 * time.Second)), answers(finish)}, Retries: 2, Observe: attempts(&seen)})
		started := time.Now()
		intent, err := client.Decide(t.Context(), question, reasoning.Unobserved{})
		require.NoError(t, err)
		require.Equal(t, "done", intent.Final)
		require.Equal(t, 7*time.Second, time.Since(started))
		require.Len(t, seen, 1)
		require.Equal(t, reasoning.Attempt{SessionID: "s1", RunID: "r1", Step: 3, Number: 1, Err: seen[0].Err, Wait: 7 * time.Second}, seen[0])
	})
}

func TestALongRetryAfterIsNotWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := reasoning.New(reasoning.Options{Transport: &script{fails(busy(time.Hour))}, Retries: 5})
		started := time.Now()
		_, err := client.Decide(t.Context(), question, reasoning.Unobserved{})
		require.ErrorIs(t, err, fault.ReasoningUnavailable)
		require.Zero(t, time.Since(started))
	})
}

func TestPausesGrowWithJitter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen []reasoning.Attempt
		lines := script{}
		for range 8 {
			lines = append(lines, fails(busy(0)))
		}
		client := reasoning.New(reasoning.Options{Transport: &lines, Retries: 7, Observe: attempts(&seen), Name: "the Reasoning API at x"})
		_, err := client.Decide(t.Context(), question, reasoning.Unobserved{})
		require.ErrorIs(t, err, fault.ReasoningUnavailable)
		require.Equal(t, 8, fault.From(err).Extra["attempts"])
		require.ErrorContains(t, err, "the Reasoning API at x", "the name")
		require.ErrorContains(t, err, "HTTP 429", "the last cause")
		require.Len(t, seen, 8)
		mean := 100 * time.Millisecond
		for _, attempt := range seen[:7] {
			require.GreaterOrEqual(t, attempt.Wait, mean/2)
			require.LessOrEqual(t, attempt.Wait, mean*3/2+time.Millisecond)
			mean = min(2*mean, 2*time.Second)
		}
		require.True(t, seen[7].Last)
		require.Zero(t, seen[7].Wait)
	})
}

func TestEachAttemptHasItsTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen []reasoning.Attempt
		client := reasoning.New(reasoning.Options{Transport: &script{hangs, hangs}, Timeout: 5 * time.Second, Retries: 1, Observe: attempts(&seen)})
		_, err := client.Decide(t.Context(), question, reasoning.Unobserved{})
		require.ErrorIs(t, err, fault.ReasoningUnavailable)
		require.Contains(t, err.Error(), "5s", "the timeout")
		require.Equal(t, []time.Duration{5 * time.Second, 5 * time.Second}, []time.Duration{seen[0].Elapsed, seen[1].Elapsed})
	})
}

// If a transport reports the cause at the moment of the timeout, the error has this
// cause.
func TestTheCauseOfATimeoutIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		late := func(err error) func(context.Context) (json.RawMessage, error) {
			return func(ctx context.Context) (json.RawMessage, error) {
				<-ctx.Done()
				return nil, err
			}
		}
		unclaimed := &reasoning.Temporary{Err: fault.New(fault.ReasoningUnavailable, "no worker")}
		transport := &script{late(&reasoning.Pending{}), late(unclaimed)}
		_, err := reasoning.New(reasoning.Options{Transport: transport, Timeout: 5 * time.Second}).Decide(t.Context(), question, reasoning.Unobserved{})
		require.ErrorContains(t, err, "no worker")
		require.Empty(t, *transport, "a question that is being answered is asked for again")
	})
}

func TestCancellingInterruptsAtOnce(t *testing.T) {
	stopped := errors.New("stopped by a person")
	for name, line := range map[string]func(context.Context) (json.RawMessage, error){"an attempt": hangs, "a pause": fails(busy(20 * time.Second))} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				time.AfterFunc(time.Second, func() { cancel(stopped) })
				started := time.Now()
				_, err := reasoning.New(reasoning.Options{Transport: &script{line}, Timeout: time.Minute, Retries: 3}).Decide(ctx, question, reasoning.Unobserved{})
				require.ErrorIs(t, err, stopped)
				require.Equal(t, time.Second, time.Since(started))
			})
		})
	}
}

func TestWhatIsFinalIsNotTriedAgain(t *testing.T) {
	for _, c := range []struct {
		line func(context.Context) (json.RawMessage, error)
		code fault.Code
	}{
		{fails(fault.New(fault.ReasoningUnavailable, "it answered HTTP 401")), fault.ReasoningUnavailable},
		{fails(fault.New(fault.InvalidIntent, "larger")), fault.InvalidIntent},
		{answers(`<html>`), fault.InvalidIntent},
		{fails(errors.New("with a token=hunter2secret inside")), fault.ReasoningUnavailable},
	} {
		var seen []reasoning.Attempt
		_, err := reasoning.New(reasoning.Options{Transport: &script{c.line}, Retries: 3, Observe: attempts(&seen)}).Decide(t.Context(), question, reasoning.Unobserved{})
		require.ErrorIs(t, err, c.code)
		require.NotContains(t, err.Error(), "hunter2secret")
		require.LessOrEqual(t, len(seen), 1)
	}
}
