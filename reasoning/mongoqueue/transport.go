// Package mongoqueue is a reasoning.Transport over a queue in MongoDB: agents on any
// machine enqueue questions, and workers on any machine answer them.
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

// Collection is the collection of the queue.
const Collection = "reasoning_queue"

// Transport sends questions over the queue. The key of a question comes from its run,
// step and attempt, so a repeated question finds its answer or the job in progress.
type Transport struct {
	queue *jobs.Queue
	host  string
}

// New returns a transport over a database.
func New(database *mongo.Database) *Transport {
	return &Transport{jobs.New(database.Collection(Collection)), database.Host()}
}

// Name names the host of the queue.
func (t *Transport) Name() string { return "the queue at " + t.host }

// Unanswered counts the questions without an answer, claimed ones included.
func (t *Transport) Unanswered(ctx context.Context) (int, error) { return t.queue.Waiting(ctx) }

// lookFor is how long a round trip waits before it looks whether a worker has claimed the
// question.
const lookFor = 2 * time.Second

// margin is the time reserved before a deadline to report why there is no answer.
const margin = 100 * time.Millisecond

// abandonFor bounds how long cancelling a question may take. The program is ending then.
const abandonFor = time.Second

// maxGenerations bounds how often a question is enqueued again after an error.
const maxGenerations = 100

// RoundTrip enqueues the question and waits for its answer. The error is *Pending while a
// worker has claimed it; *Temporary with REASONING_UNAVAILABLE if no worker has, or the
// database is unreachable; else the error that the worker recorded.
func (t *Transport) RoundTrip(ctx context.Context, request reasoning.Request, _ reasoning.Observer) (json.RawMessage, error) {
	id, answer, err := t.enqueue(ctx, request)
	if err != nil && id != "" && errors.Is(ctx.Err(), context.Canceled) {
		t.abandon(ctx, id)
	}
	if err != nil || answer != nil {
		return answer, err
	}
	for {
		result, waited, err := t.wait(ctx, id)
		switch {
		case err == nil:
			return answerOf(result)
		case !waited:
			return nil, t.unreachable(err)
		case errors.Is(ctx.Err(), context.Canceled):
			t.abandon(ctx, id)
			return nil, context.Cause(ctx)
		}
		claimed, err := t.queue.Claimed(context.WithoutCancel(ctx), id)
		switch {
		case err != nil:
			return nil, t.unreachable(err)
		case claimed:
			return nil, &reasoning.Pending{}
		case ctx.Err() != nil || t.patience(ctx) <= margin:
			return nil, &reasoning.Temporary{Err: fault.New(fault.ReasoningUnavailable, "no worker has taken the question from %s; savant reasoning work starts one", t.Name())}
		}
	}
}

// wait waits for an answer, for lookFor at most. waited is false if the wait ended early,
// by an error of the database.
func (t *Transport) wait(ctx context.Context, id string) (result jobs.Result, waited bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, t.patience(ctx))
	defer cancel()
	result, err = t.queue.Wait(ctx, id)
	return result, ctx.Err() != nil, err
}

// patience is how long to wait for an answer now.
func (t *Transport) patience(ctx context.Context) time.Duration {
	deadline, ok := ctx.Deadline()
	if !ok {
		return lookFor
	}
	return max(min(lookFor, time.Until(deadline)-margin), margin/2)
}

// enqueue enqueues the question under its first id that did not end in an error, and
// returns the answer if there is one. After an error the question may be in the queue if
// there is an id.
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
			return id, nil, t.unreachable(err) // it may be in the queue
		}
		return id, nil, nil
	}
	return "", nil, fault.New(fault.ReasoningUnavailable, "the question %s ended in an error %d times", request.Key(), maxGenerations)
}

// abandon cancels a question that nobody waits for. A claimed one is left, because a
// resumed run can use its answer.
func (t *Transport) abandon(ctx context.Context, id string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), abandonFor)
	defer cancel()
	if claimed, err := t.queue.Claimed(ctx, id); err == nil && !claimed {
		_ = t.queue.Cancel(ctx, id) // on failure a worker answers needlessly
	}
}

func answerOf(result jobs.Result) (json.RawMessage, error) {
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
