package streamable

import (
	"fmt"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/time/rate"

	"savant/internal/access"
)

// Limits of the counters: remembered callers, and concurrent requests of one caller,
// including streams.
const (
	maxCallers = 10_000
	maxRunning = 256
)

// quotas count the use of each caller on this server.
type quotas struct {
	perMinute int

	mu      sync.Mutex
	callers *lru.Cache[string, *usage]
}

// usage is the use of one caller.
type usage struct {
	limiter *rate.Limiter
	bound   int // the limiter's requests per minute
	running int
	day     string
	calls   int // on that day
}

// overError says which limit a caller has exceeded, and how long to wait.
type overError struct {
	what string
	wait time.Duration
}

func (e *overError) Error() string { return e.what }

func newQuotas(perMinute int) *quotas {
	callers, err := lru.New[string, *usage](maxCallers)
	if err != nil {
		panic(err) // the size is a constant above 0
	}
	return &quotas{perMinute: perMinute, callers: callers}
}

// usageOf returns the usage of a caller; the mutex is held.
func (q *quotas) usageOf(caller access.Caller) *usage {
	bound := caller.PerMinute
	if bound == 0 && !caller.Local {
		bound = q.perMinute
	}
	used, known := q.callers.Get(caller.Name)
	if !known {
		used = &usage{}
		q.callers.Add(caller.Name, used)
	}
	if used.limiter == nil || used.bound != bound {
		used.bound, used.limiter = bound, rate.NewLimiter(rate.Inf, 0)
		if bound > 0 { // all of a minute may come at once
			used.limiter = rate.NewLimiter(rate.Limit(float64(bound)/60), bound)
		}
	}
	return used
}

// admit counts requests of a caller, those of a batch each, as running until release. The
// error is an *overError.
func (q *quotas) admit(caller access.Caller, requests int) (release func(), err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	used := q.usageOf(caller)
	if used.running+requests > maxRunning {
		return nil, &overError{fmt.Sprintf("%d requests are running, and %d are allowed; send fewer at once", used.running, maxRunning), time.Second}
	}
	now := time.Now()
	reserved := used.limiter.ReserveN(now, requests)
	if !reserved.OK() {
		return nil, &overError{fmt.Sprintf("%d requests at once, and %d a minute are allowed; send fewer", requests, used.bound), time.Minute}
	}
	if wait := reserved.DelayFrom(now); wait > 0 {
		reserved.CancelAt(now)
		return nil, &overError{fmt.Sprintf("more than %d requests in a minute", used.bound), wait}
	}
	used.running += requests
	return func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		used.running -= requests
	}, nil
}

// call counts a tool call. The error is an *overError.
func (q *quotas) call(caller access.Caller) error {
	if caller.PerDay == 0 {
		return nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	used, now := q.usageOf(caller), time.Now().UTC()
	if day := now.Format(time.DateOnly); used.day != day {
		used.day, used.calls = day, 0
	}
	if used.calls >= caller.PerDay {
		midnight := now.Truncate(24 * time.Hour).Add(24 * time.Hour)
		return &overError{fmt.Sprintf("%d calls were made today, and more are not allowed", used.calls), midnight.Sub(now)}
	}
	used.calls++
	return nil
}
