package jobs_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"savant/internal/jobs"
	"savant/internal/mongo"
	"savant/test/mongotest"
)

// If the database has change streams, an idle worker and a process that waits for an
// answer are notified and need not poll.
func TestJobsWithChangeStreams(t *testing.T) {
	t.Parallel()
	double := mongotest.NewChangeStreams(t, mongotest.Start(t))
	var mu sync.Mutex
	streams := map[string]int{}
	database, err := mongo.Open(mongo.Options{Address: mongo.Address{URI: double.URI(mongotest.NewDatabase())}, Sent: func(name, command string) {
		mu.Lock()
		defer mu.Unlock()
		for _, of := range []string{"todo", "result"} {
			if name == "aggregate" && strings.Contains(command, "$changeStream") && strings.Contains(command, of) {
				streams[of]++
			}
		}
	}})
	require.NoError(t, err)
	t.Cleanup(func() { _ = database.Close(context.Background()) })
	queue := jobs.New(database.Collection("jobs"))
	release := make(chan struct{})
	work(t, queue, "w", func(ctx context.Context, job jobs.Job) ([]byte, error) {
		select {
		case <-release:
		case <-ctx.Done():
		}
		return echo(ctx, job)
	})
	require.NoError(t, queue.Enqueue(t.Context(), "j", []byte("{}")))
	answered := make(chan error, 1)
	go func() {
		_, err := queue.Wait(t.Context(), "j")
		answered <- err
	}()
	require.Eventually(t, func() bool {
		mu.Lock()
		defer mu.Unlock()
		return streams["todo"] == 1 && streams["result"] == 1
	}, time.Minute, time.Millisecond)
	close(release)
	require.NoError(t, <-answered)
}

// What is under way in another worker's hands is looked at four times in a lease, however
// often the list is read; and what has ended leaves the list at once.
func TestAWorkerLetsOthersWorkInPeace(t *testing.T) {
	t.Parallel()
	server := mongotest.Start(t)
	name := mongotest.NewDatabase()
	busy, release := open(t, server.URI(name)), make(chan struct{})
	began := make(chan struct{})
	work(t, busy, "busy", func(ctx context.Context, job jobs.Job) ([]byte, error) {
		close(began)
		<-release
		return echo(ctx, job)
	})
	require.NoError(t, busy.Enqueue(t.Context(), "j", []byte("{}")))
	<-began
	var mu sync.Mutex
	lists, looks := 0, 0
	database, err := mongo.Open(mongo.Options{Address: mongo.Address{URI: server.URI(name)}, Sent: func(name, command string) {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case name == "find" && strings.Contains(command, "todo"):
			lists++
		case name == "find" && strings.Contains(command, "claim"):
			looks++
		}
	}})
	require.NoError(t, err)
	t.Cleanup(func() { _ = database.Close(context.Background()) })
	idle := &jobs.Worker{Queue: jobs.New(database.Collection("jobs")), Owner: "idle", Concurrency: 1, Lease: time.Hour, MaxClaims: 3, Work: works{do: echo}}
	ctx, stop := context.WithCancel(t.Context())
	var working sync.WaitGroup
	working.Go(func() { _ = idle.Run(ctx) })
	require.Eventually(t, func() bool {
		mu.Lock()
		defer mu.Unlock()
		return lists >= 5
	}, time.Minute, time.Millisecond)
	close(release)
	_, err = busy.Wait(t.Context(), "j")
	require.NoError(t, err)
	stop()
	working.Wait()
	require.Equal(t, 1, looks)
	require.Eventually(t, func() bool {
		waiting, err := busy.Waiting(t.Context())
		return err == nil && waiting == 0
	}, time.Minute, time.Millisecond)
}

// A job that is given back is not computed again before a pause, although the worker is
// notified of it at once.
func TestAJobThatIsGivenBackRests(t *testing.T) {
	t.Parallel()
	double := mongotest.NewChangeStreams(t, mongotest.Start(t))
	queue := open(t, double.URI(mongotest.NewDatabase()))
	var mu sync.Mutex
	var began []time.Time
	work(t, queue, "w", func(context.Context, jobs.Job) ([]byte, error) {
		mu.Lock()
		defer mu.Unlock()
		began = append(began, time.Now())
		return nil, &jobs.Returned{Err: errors.New("the model is overloaded"), Blameless: len(began) == 1}
	})
	require.NoError(t, queue.Enqueue(t.Context(), "j", []byte("{}")))
	_, err := queue.Wait(t.Context(), "j")
	require.NoError(t, err)
	require.Len(t, began, 4, "one of no one's fault, and three in vain")
	for i, at := range began[1:] {
		require.GreaterOrEqual(t, at.Sub(began[i]), lease/4)
	}
}
