package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"savant/fault"
	"savant/internal/jobs"
	"savant/internal/mongo"
	"savant/test/mongotest"
)

// lease is short, so that lost claims are passed over soon.
const lease = 400 * time.Millisecond

func open(t *testing.T, uri string) *jobs.Queue {
	t.Helper()
	database, err := mongo.Open(mongo.Options{Address: mongo.Address{URI: uri}})
	require.NoError(t, err)
	t.Cleanup(func() { _ = database.Close(context.Background()) })
	return jobs.New(database.Collection("jobs"))
}

// work runs a worker until the test ends.
func work(t *testing.T, queue *jobs.Queue, owner string, do func(context.Context, jobs.Job) ([]byte, error)) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	worker := &jobs.Worker{Queue: queue, Owner: owner, Concurrency: 2, Lease: lease, MaxClaims: 3, Prunes: true, Work: works{do: do}}
	done.Go(func() { _ = worker.Run(ctx) })
	stop = func() { cancel(); done.Wait() }
	t.Cleanup(stop)
	return stop
}

// works is a Work of a function.
type works struct {
	jobs.Anywhere
	do func(context.Context, jobs.Job) ([]byte, error)
}

func (w works) Do(ctx context.Context, job jobs.Job) ([]byte, error) { return w.do(ctx, job) }

// ofProcess takes no job, and the jobs of a process are bound to it.
type ofProcess struct{ works }

func (ofProcess) Accepts(string) bool     { return false }
func (ofProcess) Bound(needs string) bool { return needs == "process=1" }

func echo(_ context.Context, job jobs.Job) ([]byte, error) {
	return []byte(`{"of":` + strconv.Quote(job.ID) + `}`), nil
}

func TestQueue(t *testing.T) {
	server := mongotest.Start(t)
	fresh := func(t *testing.T) (*jobs.Queue, context.Context) {
		t.Parallel()
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		t.Cleanup(cancel)
		return open(t, server.URI(mongotest.NewDatabase())), ctx
	}
	t.Run("a job is answered once, however often it is asked", func(t *testing.T) {
		queue, ctx := fresh(t)
		var computed atomic.Int32
		work(t, queue, "w", func(ctx context.Context, job jobs.Job) ([]byte, error) {
			computed.Add(1)
			return echo(ctx, job)
		})
		var asking sync.WaitGroup
		for range 5 {
			asking.Go(func() {
				if queue.Enqueue(ctx, "run/1", []byte("{}")) == nil {
					_, _ = queue.Wait(ctx, "run/1")
				}
			})
		}
		asking.Wait()
		result, ended, err := queue.Result(ctx, "run/1")
		require.NoError(t, err)
		require.True(t, ended)
		require.JSONEq(t, `{"of":"run/1"}`, string(result.Answer))
		require.Equal(t, "w", result.Owner)
		require.EqualValues(t, 1, computed.Load())
	})
	t.Run("a worker that is lost loses the job", func(t *testing.T) {
		queue, ctx := fresh(t)
		lost := make(chan struct{})
		ended := work(t, queue, "lost", func(ctx context.Context, job jobs.Job) ([]byte, error) {
			close(lost)
			<-ctx.Done()
			return nil, ctx.Err()
		})
		require.NoError(t, queue.Enqueue(ctx, "j", []byte("{}")))
		<-lost
		ended() // it gives the job back
		work(t, queue, "second", echo)
		result, err := queue.Wait(ctx, "j")
		require.NoError(t, err)
		require.Equal(t, "second", result.Owner)
		require.Equal(t, 2, result.Claim)
	})
	t.Run("a job that is given back is done again, and set aside in the end", func(t *testing.T) {
		queue, ctx := fresh(t)
		var attempts atomic.Int32
		work(t, queue, "w", func(context.Context, jobs.Job) ([]byte, error) {
			attempts.Add(1)
			return nil, &jobs.Returned{Err: errors.New("the model is overloaded")}
		})
		require.NoError(t, queue.Enqueue(ctx, "poison", []byte("{}")))
		result, err := queue.Wait(ctx, "poison")
		require.NoError(t, err)
		require.ErrorIs(t, result.Error, fault.ReasoningUnavailable)
		require.ErrorContains(t, result.Error, "3", "the attempts")
		require.ErrorContains(t, result.Error, "the model is overloaded", "the last cause")
		require.EqualValues(t, 3, attempts.Load())
	})
	t.Run("an error is the result", func(t *testing.T) {
		queue, ctx := fresh(t)
		work(t, queue, "w", func(context.Context, jobs.Job) ([]byte, error) { return nil, fault.New(fault.InvalidIntent, "no") })
		require.NoError(t, queue.Enqueue(ctx, "j", []byte("{}")))
		result, err := queue.Wait(ctx, "j")
		require.NoError(t, err)
		require.ErrorIs(t, result.Error, fault.InvalidIntent)
	})
	t.Run("a cancelled job is not computed, and loses its worker", func(t *testing.T) {
		queue, ctx := fresh(t)
		require.NoError(t, queue.Enqueue(ctx, "before", []byte("{}")))
		require.NoError(t, queue.Cancel(ctx, "before"))
		began, lost := make(chan string, 2), make(chan error, 1)
		work(t, queue, "w", func(ctx context.Context, job jobs.Job) ([]byte, error) {
			began <- job.ID
			<-ctx.Done()
			lost <- context.Cause(ctx)
			return echo(ctx, job)
		})
		require.NoError(t, queue.Enqueue(ctx, "during", []byte("{}")))
		require.Equal(t, "during", <-began)
		require.NoError(t, queue.Cancel(ctx, "during"))
		require.ErrorIs(t, <-lost, jobs.ErrLost)
		result, err := queue.Wait(ctx, "during")
		require.NoError(t, err)
		require.True(t, result.Cancelled)
	})
	t.Run("what ended long ago is removed whole", func(t *testing.T) {
		queue, ctx := fresh(t)
		work(t, queue, "w", echo)
		for i := range 3 {
			require.NoError(t, queue.Enqueue(ctx, fmt.Sprint(i), []byte("{}")))
			_, err := queue.Wait(ctx, fmt.Sprint(i))
			require.NoError(t, err)
		}
		for listed := 1; listed > 0; { // the worker looks at its list once more
			var err error
			listed, err = queue.Waiting(ctx)
			require.NoError(t, err)
		}
		n, err := queue.Prune(ctx, time.Now().Add(-time.Hour))
		require.NoError(t, err)
		require.Zero(t, n)
		n, err = queue.Prune(ctx, time.Now().Add(time.Hour))
		require.NoError(t, err)
		require.Equal(t, 3, n)
		_, ended, err := queue.Result(ctx, "1")
		require.NoError(t, err)
		require.False(t, ended)
	})
	t.Run("pruning reads no more than what is removed", func(t *testing.T) {
		var pruning atomic.Bool
		var mu sync.Mutex
		var ranges []string
		t.Parallel()
		ctx, uri := t.Context(), server.URI(mongotest.NewDatabase())
		work(t, open(t, uri), "w", echo)
		database, err := mongo.Open(mongo.Options{Address: mongo.Address{URI: uri}, Sent: func(name, command string) {
			if pruning.Load() && name == "find" && strings.Contains(command, "$gte") {
				mu.Lock()
				defer mu.Unlock()
				ranges = append(ranges, command)
			}
		}})
		require.NoError(t, err)
		t.Cleanup(func() { _ = database.Close(context.Background()) })
		queue := jobs.New(database.Collection("jobs"))
		require.NoError(t, queue.EnqueueFor(ctx, "old", "", []byte("{}")))
		for listed := 1; listed > 0; {
			listed, err = queue.Waiting(ctx)
			require.NoError(t, err)
		}
		pruning.Store(true)
		n, err := queue.Prune(ctx, time.Now().Add(time.Hour))
		require.NoError(t, err)
		require.Equal(t, 1, n)
		require.Len(t, ranges, 2, "the list of what has ended, and the documents of one job")
		require.Contains(t, ranges[0], `{"$gte": "done\u001f"`)
		require.Contains(t, ranges[1], `{"$gte": "old\u001f"`)
	})
	t.Run("a job of a process ends with it", func(t *testing.T) {
		queue, ctx := fresh(t)
		require.NoError(t, queue.EnqueueFor(ctx, "j", "process=1", []byte("{}")))
		worker := &jobs.Worker{Queue: queue, Owner: "other", Lease: lease, MaxClaims: 3, Work: ofProcess{}}
		working, stop := context.WithCancel(ctx)
		var done sync.WaitGroup
		done.Go(func() { _ = worker.Run(working) })
		defer done.Wait()
		defer stop()
		result, err := queue.Wait(ctx, "j")
		require.NoError(t, err)
		require.ErrorIs(t, result.Error, fault.EngineOffline)
		for listed := 1; listed > 0; { // it does not stay in the list
			listed, err = queue.Waiting(ctx)
			require.NoError(t, err)
		}
	})
	t.Run("an id that cannot be a key is refused", func(t *testing.T) {
		queue, ctx := fresh(t)
		for _, id := range []string{"", "a\x1fb", "a\x00", fmt.Sprintf("%01000d", 1)} {
			require.ErrorIs(t, queue.Enqueue(ctx, id, nil), fault.InvalidParams)
		}
	})
}

// TestEveryJobEndsOnceUnderFaults has workers that stop and are forgotten, and
// connections that are cut, held back and repeated.
func TestEveryJobEndsOnceUnderFaults(t *testing.T) {
	const seed, count = 7, 60
	server := mongotest.Start(t)
	proxy := mongotest.NewProxy(t, server, seed)
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	uri := proxy.URI(mongotest.NewDatabase())
	asker := open(t, uri)
	proxy.Use(mongotest.Faults{Delay: 0.1, MaxDelay: 30 * time.Millisecond, Lose: 0.01, LoseReply: 0.02, Repeat: 0.02})
	chance := rand.New(rand.NewPCG(seed, seed))
	var mu sync.Mutex
	answers := map[string]map[string]bool{}
	for i := range 4 {
		work(t, open(t, uri), fmt.Sprint("w", i), func(ctx context.Context, job jobs.Job) ([]byte, error) {
			mu.Lock()
			defer mu.Unlock()
			if chance.IntN(10) == 0 {
				return nil, &jobs.Returned{Err: errors.New("by chance")}
			}
			answer := fmt.Sprintf(`{"of":%q,"claim":%d,"by":%d}`, job.ID, job.Claim, i)
			if answers[job.ID] == nil {
				answers[job.ID] = map[string]bool{}
			}
			answers[job.ID][answer] = true
			return []byte(answer), nil
		})
	}
	var asking sync.WaitGroup
	for i := range count {
		asking.Go(func() {
			id := fmt.Sprintf("run%d/1", i)
			for asker.Enqueue(ctx, id, []byte(`{"n":1}`)) != nil && ctx.Err() == nil {
			}
			first := insist(ctx, asker, id)
			second := insist(ctx, asker, id)
			mu.Lock()
			defer mu.Unlock()
			if string(first.Answer) != string(second.Answer) || first.Claim != second.Claim {
				t.Errorf("%s: two results: %s and %s", id, first.Answer, second.Answer)
			}
			if first.Error == nil && !answers[id][string(first.Answer)] {
				t.Errorf("%s: an answer that nobody computed: %s", id, first.Answer)
			}
		})
	}
	asking.Wait()
	require.NoError(t, ctx.Err())
}

// insist waits for a result through whatever fails.
func insist(ctx context.Context, queue *jobs.Queue, id string) jobs.Result {
	for {
		result, err := queue.Wait(ctx, id)
		if err == nil || ctx.Err() != nil {
			return result
		}
	}
}
