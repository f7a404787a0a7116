package reasoning_test

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"savant/fault"
	"savant/reasoning"
)

// failing fails a number of times with an error, then succeeds.
func failing(times int, err error) func() (string, error) {
	return func() (string, error) {
		if times--; times >= 0 {
			return "", err
		}
		return "fine", nil
	}
}

func TestAModelIsWaitedForWithPatience(t *testing.T) {
	for name, c := range map[string]struct {
		times       int
		err         error
		patience    time.Duration
		least, most time.Duration
		fails       string
	}{
		"busy for a while":        {4, busy(0), time.Minute, 3750 * time.Millisecond, 12 * time.Second, ""},
		"busy for long":           {1000, busy(0), time.Minute, time.Minute, time.Minute, "times in 1m0s"},
		"a pause that it asks":    {2, busy(20 * time.Second), time.Minute, 40 * time.Second, 40 * time.Second, ""},
		"too long a pause":        {1, busy(time.Hour), time.Minute, 0, 0, "asks to wait 1h0m0s"},
		"pauses add up":           {4, busy(20 * time.Second), time.Minute, time.Minute, time.Minute, "asks to wait 20s"},
		"no patience":             {1, busy(0), 0, 0, 0, "429"},
		"nothing listens here":    {3, &reasoning.Temporary{Err: fault.New(fault.ReasoningUnavailable, "refused"), Refused: true}, time.Minute, 0, time.Second, "refused"},
		"it has just been begun":  {2, &reasoning.Temporary{Err: fault.New(fault.ReasoningUnavailable, "refused"), Refused: true}, time.Minute, 0, time.Second, ""},
		"a refusal that is final": {1, fault.New(fault.ReasoningUnavailable, "wrong key"), time.Minute, 0, 0, "wrong key"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var pauses waits
				began := time.Now()
				made, err := reasoning.Patiently(t.Context(), c.patience, &pauses, failing(c.times, c.err))
				require.GreaterOrEqual(t, time.Since(began), c.least)
				require.LessOrEqual(t, time.Since(began), c.most)
				if c.most > 0 {
					require.NotEmpty(t, pauses.seen)
					require.ErrorIs(t, pauses.seen[0].Err, c.err)
				}
				if c.fails != "" {
					require.ErrorIs(t, err, fault.ReasoningUnavailable)
					require.ErrorContains(t, err, c.fails)
					return
				}
				require.NoError(t, err)
				require.Equal(t, "fine", made)
			})
		})
	}
}

func TestWhatAServiceAsksToWait(t *testing.T) {
	for body, want := range map[string]time.Duration{
		`{"error":{"code":429,"details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"34.5s"}]}}`: 34500 * time.Millisecond,
		`{"retryDelay":{"seconds":7}}`:                          7 * time.Second,
		`{"error":{"retry_after":2}}`:                           2 * time.Second,
		`{"retry_after_ms": 250}`:                               250 * time.Millisecond,
		`Rate limit reached. Please try again in 6m0s.`:         6 * time.Minute,
		`Please try again in 20ms. Visit x`:                     20 * time.Millisecond,
		`Please retry after 3 seconds.`:                         3 * time.Second,
		`try again in 2 minutes`:                                2 * time.Minute,
		`Please try again later.`:                               0,
		`Please retry in 34.074824224s.`:                        34074824224 * time.Nanosecond,
		`Try again in 30 seconds`:                               30 * time.Second,
		`Try again in about 5 minutes`:                          5 * time.Minute,
		`try again in 2 hours`:                                  2 * time.Hour,
		`Please wait 20 seconds before the next request`:        20 * time.Second,
		`Please wait for 20s.`:                                  20 * time.Second,
		`Limit resets in 45 s`:                                  45 * time.Second,
		`{"retry_after":"3 seconds"}`:                           3 * time.Second,
		`{"retryAfterMs":1500}`:                                 1500 * time.Millisecond,
		`{"error":{"message":"Rate limit reached","code":429}}`: 0,
	} {
		require.Equal(t, want, reasoning.AskedWait(body), body)
	}
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for value, want := range map[string]time.Duration{"1.5": 1500 * time.Millisecond, "3": 3 * time.Second, "2s": 2 * time.Second,
		"Thu, 01 Jan 2026 00:00:09 GMT": 9 * time.Second, "2026-01-01T00:00:05Z": 5 * time.Second, "soon": 0, "-1": 0,
		"5, 10": 5 * time.Second, "7 seconds": 7 * time.Second, "Thu, 01 Jan 2026 00:00:09 +0000": 9 * time.Second, "1m": time.Minute, " 4 ": 4 * time.Second} {
		require.Equal(t, want, reasoning.Patience(http.Header{"Retry-After": {value}}, now), value)
	}
}

func TestStatusesThatPass(t *testing.T) {
	for status, want := range map[int]bool{408: true, 425: true, 429: true, 500: true, 502: true, 503: true, 504: true, 507: true, 520: true, 521: true, 524: true, 529: true, 530: true,
		400: false, 401: false, 404: false, 409: false, 501: false, 505: false, 525: false, 526: false} {
		require.Equal(t, want, reasoning.IsTemporaryStatus(status), status)
	}
}

// waits collects the pauses of a call.
type waits struct {
	reasoning.Unobserved
	seen []reasoning.Attempt
}

func (w *waits) Waited(failed reasoning.Attempt) { w.seen = append(w.seen, failed) }
