package mongoqueue

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"
	"time"

	"savant/fault"
	"savant/internal/jobs"
	"savant/internal/mongo"
	"savant/reasoning"
)

// Work configures a worker.
type Work struct {
	// Owner names the worker for people.
	Owner string
	// Concurrency bounds the questions answered at once.
	Concurrency int
	// Lease is how long the worker keeps a question without a heartbeat; MaxClaims is the
	// number of failed claims after which a question is set aside.
	Lease     time.Duration
	MaxClaims int
	// Keep is how long answered questions are kept. It must exceed every client's timeout
	// by far.
	Keep time.Duration
	Log  *slog.Logger
}

// Serve answers questions of the queue with decide until ctx ends. A *Temporary error
// of decide makes the question claimable again, and a *reasoning.Away without counting
// the attempt; any other error is recorded as its answer.
func Serve(ctx context.Context, database *mongo.Database, work Work, decide func(context.Context, reasoning.Request) (json.RawMessage, error)) error {
	queue := jobs.New(database.Collection(Collection))
	var pruning sync.WaitGroup
	pruning.Go(func() { prune(ctx, queue, work) })
	defer pruning.Wait()
	worker := &jobs.Worker{Queue: queue, Owner: work.Owner, Prunes: true, Concurrency: work.Concurrency,
		Lease: work.Lease, MaxClaims: work.MaxClaims, Code: fault.ReasoningUnavailable, Log: work.Log, Work: answering{decide: decide}}
	return worker.Run(ctx)
}

// answering is the work of answering questions.
type answering struct {
	jobs.Anywhere
	decide decide
}

// decide answers one question.
type decide func(context.Context, reasoning.Request) (json.RawMessage, error)

// Do implements jobs.Work.
func (a answering) Do(ctx context.Context, job jobs.Job) ([]byte, error) {
	var request reasoning.Request
	if err := json.Unmarshal(job.Body, &request); err != nil {
		return nil, fault.New(fault.InvalidParams, "the question %s cannot be read: %w", job.ID, err)
	}
	answer, err := a.decide(ctx, request)
	away := errors.As(err, new(*reasoning.Away))
	if away || errors.As(err, new(*reasoning.Temporary)) {
		return nil, &jobs.Returned{Err: err, Blameless: away}
	}
	return answer, err
}

// prune removes questions answered longer ago than Keep, at once and then every hour.
func prune(ctx context.Context, queue *jobs.Queue, work Work) {
	for ctx.Err() == nil {
		n, err := queue.Prune(ctx, time.Now().Add(-work.Keep))
		switch {
		case err != nil && ctx.Err() == nil:
			work.Log.Warn("old answers could not be removed from the queue", "error", err)
		case n > 0:
			work.Log.Info("old answers were removed from the queue", "count", n)
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Hour):
		}
	}
}
