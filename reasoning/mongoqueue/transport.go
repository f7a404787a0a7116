// Package mongoqueue carries questions about what to do next over a queue in MongoDB:
// agents on any machine ask, workers on any machine answer.
package mongoqueue

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"savant/fault"
	"savant/internal/jobs"
	"savant/internal/mongo"
	"savant/reasoning"
)

// Collection is the collection that the queue is in.
const Collection = "reasoning_queue"

// Transport asks over the queue. A question has the key of its run, step and attempt, so
// one that is asked again finds its answer, or the work that is under way.
type Transport struct {
	queue *jobs.Queue
	host  string
}

// New returns a transport over a database.
func New(database *mongo.Database) *Transport {
	return &Transport{jobs.New(database.Collection(Collection)), database.Host()}
}

// Name says where the queue is.
func (t *Transport) Name() string { return "the queue at " + t.host }

// Unanswered is how many questions are in the queue and have no answer yet, those that a
// worker is at included.
func (t *Transport) Unanswered(ctx context.Context) (int, error) { return t.queue.Waiting(ctx) }

// lookFor is how long a round trip waits before it says that a worker is at it.
const lookFor = 2 * time.Second

// margin is the time before a deadline in which a round trip says why there is no answer.
const margin = 100 * time.Millisecond

// maxGenerations bounds how often a question is asked anew that ended in an error.
const maxGenerations = 100

// RoundTrip enqueues the question and waits for its answer. It is *Pending while a worker
// is at it; *Temporary, REASONING_UNAVAILABLE, while none has taken it and where the
// database cannot be reached; else the error that the worker recorded.
func (t *Transport) RoundTrip(ctx context.Context, request reasoning.Request) (json.RawMessage, error) {
	id, answer, err := t.enqueue(ctx, request)
	if err != nil || answer != nil {
		return answer, err
	}
	waiting, cancel := context.WithTimeout(ctx, t.patience(ctx))
	defer cancel()
	result, err := t.queue.Wait(waiting, id)
	switch {
	case err == nil:
		return ended(result)
	case waiting.Err() == nil:
		return nil, t.unreachable(err)
	case errors.Is(ctx.Err(), context.Canceled):
		t.abandon(ctx, id)
		return nil, context.Cause(ctx)
	}
	owner, err := t.queue.Claimed(context.WithoutCancel(ctx), id)
	switch {
	case err != nil:
		return nil, t.unreachable(err)
	case owner != "":
		return nil, &reasoning.Pending{}
	case ctx.Err() == nil && waiting.Err() != nil && t.patience(ctx) > margin:
		return nil, &reasoning.Pending{After: time.Millisecond}
	}
	return nil, &reasoning.Temporary{Err: fault.New(fault.ReasoningUnavailable, "no worker has taken the question from %s; savant reasoning work starts one", t.Name())}
}

// patience is how long to wait for an answer now.
func (t *Transport) patience(ctx context.Context) time.Duration {
	deadline, ok := ctx.Deadline()
	if !ok {
		return lookFor
	}
	return max(min(lookFor, time.Until(deadline)-margin), margin/2)
}

// enqueue asks under the first id of the question that did not end in an error, and
// returns the answer where there is one.
func (t *Transport) enqueue(ctx context.Context, request reasoning.Request) (id string, answer json.RawMessage, err error) {
	for generation := 1; generation <= maxGenerations; generation++ {
		if id = request.Key(); generation > 1 {
			id += "~" + strconv.Itoa(generation)
		}
		result, done, err := t.queue.Result(ctx, id)
		if err != nil {
			return "", nil, t.unreachable(err)
		}
		if done && result.Answer != nil {
			return id, result.Answer, nil
		}
		if done {
			continue
		}
		body, err := json.Marshal(request)
		if err != nil {
			return "", nil, fault.New(fault.Internal, "encode a request: %w", err)
		}
		if err := t.queue.Enqueue(ctx, id, body); err != nil {
			return "", nil, t.unreachable(err)
		}
		return id, nil, nil
	}
	return "", nil, fault.New(fault.ReasoningUnavailable, "the question %s ended in an error %d times", request.Key(), maxGenerations)
}

// abandon ends a question that nobody waits for, unless a worker is at it: its answer is
// kept for a run that is resumed.
func (t *Transport) abandon(ctx context.Context, id string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), margin)
	defer cancel()
	if owner, err := t.queue.Claimed(ctx, id); err == nil && owner == "" {
		_ = t.queue.Cancel(ctx, id) // else a worker answers in vain
	}
}

func ended(result jobs.Result) (json.RawMessage, error) {
	switch {
	case result.Answer != nil:
		return result.Answer, nil
	case result.Error != nil:
		return nil, result.Error
	}
	return nil, fault.New(fault.ReasoningUnavailable, "the question was cancelled")
}

func (t *Transport) unreachable(err error) error {
	var failure *mongo.Failure
	if !errors.As(err, &failure) {
		return err
	}
	return &reasoning.Temporary{Err: mongo.Coded(fault.ReasoningUnavailable, "the queue could not be asked", err)}
}
