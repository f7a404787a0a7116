// Package jobs is a job queue in a database that several machines share. It relies on
// one guarantee: of concurrent inserts under a unique key, only the first succeeds. A
// job is computed at least once and has exactly one result.
//
// The keys of the job j, whose parts are separated by a character that no id has:
//
//	j              what is to be done
//	todo TIME j    that it waits to be done; the list that workers read
//	j claim 0001   who does it; the next number is inserted when a lease ran out
//	j beat 0001    that the owner of the claim lives; it is replaced, and decides nothing
//	j end 0001     why the owner gave it back
//	j result       how it ended; the first one stands
//	done TIME j    that it has ended; the list that Prune reads
//
// A lease is measured by the clock of the process that waits for its end: it has
// expired if the claim's heartbeat did not change for that long. Clocks are never
// compared.
package jobs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"savant/fault"
	"savant/internal/mongo"
)

// separator separates the parts of a key. No id contains it.
const separator = "\x1f"

// Queue is the jobs of one collection. Its methods are safe for concurrent use.
type Queue struct{ documents *mongo.Collection }

// New returns the queue in a collection.
func New(documents *mongo.Collection) *Queue { return &Queue{documents} }

// Result is the result of a job: an answer or an error.
type Result struct {
	Answer json.RawMessage `json:"answer,omitempty"`
	Error  *fault.Error    `json:"error,omitempty"`
	// Cancelled says that the job was cancelled.
	Cancelled bool `json:"cancelled,omitempty"`
	// Owner is the worker that computed it, Claim the number of its claim; 0 if none.
	Owner string `json:"owner,omitempty"`
	Claim int    `json:"claim,omitempty"`
}

func key(id string, parts ...string) string {
	return strings.Join(append([]string{id}, parts...), separator)
}

func paddedNumber(n int) string { return fmt.Sprintf("%04d", n) }

// Enqueue adds a job. It is idempotent by id: an existing job, even an ended one, is
// unchanged. INVALID_PARAMS for an id that cannot be a key; else the database's
// failure.
func (q *Queue) Enqueue(ctx context.Context, id string, body []byte) error {
	return q.EnqueueFor(ctx, id, "", body)
}

// EnqueueFor is Enqueue for workers that accept needs, a short text.
func (q *Queue) EnqueueFor(ctx context.Context, id, needs string, body []byte) error {
	if id == "" || len(id) > 900 || strings.ContainsAny(id, separator+"\x00") {
		return fault.New(fault.InvalidParams, "%q cannot be the id of a job: expected 1 to 900 bytes", fault.Cut(id, 100))
	}
	won, err := q.documents.Insert(ctx, mongo.Document{Key: id, Meta: needs, Body: body})
	if err != nil {
		return err
	}
	if !won {
		// The process that inserted the job may have died before it wrote the list.
		if _, ended, err := q.Result(ctx, id); err != nil || ended {
			return err
		}
	}
	return q.list(ctx, id, needs, q.documents.Now())
}

// list adds a job to the list of waiting jobs. A duplicate entry does no harm: it is
// removed like the first.
func (q *Queue) list(ctx context.Context, id, needs string, since time.Time) error {
	_, err := q.documents.Insert(ctx, mongo.Document{Key: listKey(id, since), Meta: needs})
	return err
}

// The list is read in the order of time, so that no job starves.
const todo = "todo"

// The list of ended jobs to prune has the same order.
const done = "done"

func listKey(id string, since time.Time) string { return key(todo, moment(since), id) }

// moment encodes a time for a key.
func moment(at time.Time) string { return fmt.Sprintf("%015d", at.UnixMilli()) }

// idOfKey returns the id in a key of the list.
func idOfKey(listKey string) string {
	_, rest, _ := strings.Cut(listKey, separator)
	_, id, _ := strings.Cut(rest, separator)
	return id
}

// Result returns the result of a job, and whether it has one.
func (q *Queue) Result(ctx context.Context, id string) (Result, bool, error) {
	found, ended, err := q.documents.Find(ctx, key(id, "result"))
	if err != nil || !ended {
		return Result{}, false, err
	}
	var result Result
	if err := json.Unmarshal(found.Body, &result); err != nil {
		return Result{}, false, fault.New(fault.StateCorrupt, "the result of the job %s cannot be read: %w", id, err)
	}
	return result, true, nil
}

// settle ends a job, and reports whether this result was the first.
func (q *Queue) settle(ctx context.Context, id string, result Result) (bool, error) {
	body, err := json.Marshal(result)
	if err != nil {
		return false, fault.New(fault.Internal, "encode the result of a job: %w", err)
	}
	document := mongo.Document{Key: key(id, "result"), Body: body}
	if result.Cancelled {
		document.Meta = cancelledMark
	}
	return q.documents.Insert(ctx, document)
}

// Cancel ends a job unless it has ended. Its worker notices at the next heartbeat.
func (q *Queue) Cancel(ctx context.Context, id string) error {
	_, err := q.settle(ctx, id, Result{Cancelled: true})
	return err
}

// EndLost ends a job that is bound to a lost process.
func (q *Queue) EndLost(ctx context.Context, id string) error {
	_, err := q.settle(ctx, id, Result{Error: fault.New(fault.EngineOffline, "the process that had the job was lost")})
	return err
}

// Lost waits up to a lease for a heartbeat of the job's owner, and reports whether
// there was none.
func (q *Queue) Lost(ctx context.Context, id string, lease time.Duration) (bool, error) {
	first := ""
	for began := time.Now(); ; {
		claims, err := q.claims(ctx, id)
		if err != nil {
			return false, err
		}
		beat, _, err := q.documents.Find(ctx, key(id, "beat", paddedNumber(len(claims))))
		if err != nil {
			return false, err
		}
		seen := fmt.Sprint(len(claims), beat.Nonce)
		first = cmp.Or(first, seen)
		if seen != first || time.Since(began) > lease {
			return seen == first, nil
		}
		select {
		case <-ctx.Done():
			return false, context.Cause(ctx)
		case <-time.After(lease / 16):
		}
	}
}

// Claimed reports whether a worker has a job; one that gave it back does not.
func (q *Queue) Claimed(ctx context.Context, id string) (bool, error) {
	claims, err := q.claims(ctx, id)
	if err != nil || len(claims) == 0 {
		return false, err
	}
	_, returned, err := q.documents.Find(ctx, key(id, "end", paddedNumber(len(claims))))
	return !returned, err
}

// claims returns the claims of a job in order.
func (q *Queue) claims(ctx context.Context, id string) (list []mongo.Document, err error) {
	err = q.documents.Heads(ctx, key(id, "claim", ""), key(id, "claim", "~"), func(d mongo.Document) error {
		list = append(list, d)
		return nil
	})
	return list, err
}

// Polling intervals for a result without change streams.
const (
	firstPause = 20 * time.Millisecond
	lastPause  = time.Second
)

// Wait waits for the result of a job. It returns the cause of ctx if that ends first. At a
// deadline it finishes a look that it has begun: over a slow network most of the time is
// spent looking, and a look that is cut reads as a failure of the database.
func (q *Queue) Wait(ctx context.Context, id string) (Result, error) {
	looking, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() {
		if errors.Is(ctx.Err(), context.Canceled) {
			cancel()
		}
	})()
	result, ended, err := q.Result(looking, id)
	if err != nil || ended {
		return result, err
	}
	changes, stop := q.documents.Watch(ctx, key(id, "result"), key(id, "result")+"\x00")
	defer stop()
	for pause := firstPause; ; pause = min(pause*3/2, lastPause) {
		select {
		case <-ctx.Done():
			return Result{}, context.Cause(ctx)
		case <-changes.Notices():
		case <-time.After(pause):
		}
		result, ended, err := q.Result(looking, id)
		if err != nil || ended {
			return result, err
		}
	}
}

// Waiting counts the listed jobs: those without a result, and ended ones that no worker
// has unlisted yet.
func (q *Queue) Waiting(ctx context.Context) (int, error) {
	ids := map[string]bool{} // a job may be listed twice
	err := q.documents.Heads(ctx, key(todo, ""), key(todo, "~"), func(d mongo.Document) error {
		ids[idOfKey(d.Key)] = true
		return nil
	})
	return len(ids), err
}

// unlist removes an ended job from the list of waiting jobs. A job to prune is first
// added to the list of ended jobs, so that after a crash it is on at least one of them.
func (q *Queue) unlist(ctx context.Context, id, entry string, prunes bool) error {
	if prunes {
		if _, err := q.documents.Insert(ctx, mongo.Document{Key: key(done, moment(q.documents.Now()), id)}); err != nil {
			return err
		}
	}
	return q.documents.Delete(ctx, entry)
}

// Unlist removes ended jobs from the list of waiting jobs, including those that no worker
// accepts.
func (q *Queue) Unlist(ctx context.Context) error {
	var entries []string
	err := q.documents.Heads(ctx, key(todo, ""), key(todo, "~"), func(d mongo.Document) error {
		entries = append(entries, d.Key)
		return nil
	})
	for _, each := range entries {
		if err != nil {
			return err
		}
		var ended bool
		if _, ended, err = q.Result(ctx, idOfKey(each)); ended {
			err = q.unlist(ctx, idOfKey(each), each, false)
		}
	}
	return err
}

// Prune removes all documents of jobs that ended before a time. The age must exceed
// every timeout by far, because a repeated question for a removed job is computed again.
// It reads only what it removes.
func (q *Queue) Prune(ctx context.Context, before time.Time) (n int, err error) {
	var ended []string
	err = q.documents.Heads(ctx, key(done, ""), key(done, moment(before)), func(d mongo.Document) error {
		ended = append(ended, d.Key)
		return nil
	})
	removed := map[string]bool{} // two workers may have listed a job
	for _, entry := range ended {
		if id := idOfKey(entry); err == nil && !removed[id] {
			err = q.Remove(ctx, id)
			if err == nil {
				removed[id] = true
			}
		}
		if err == nil { // last: without it the rest would never be found
			err = q.documents.Delete(ctx, entry)
		}
		if err != nil {
			break
		}
	}
	return len(removed), err
}

// Remove removes all documents of a job, the job itself last.
func (q *Queue) Remove(ctx context.Context, id string) error {
	var keys []string
	err := q.documents.Heads(ctx, id+separator, id+separator+"~", func(d mongo.Document) error {
		keys = append(keys, d.Key)
		return nil
	})
	if err != nil {
		return err
	}
	return q.documents.Delete(ctx, append(keys, id)...)
}
