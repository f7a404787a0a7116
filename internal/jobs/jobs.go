// Package jobs is a queue in a database that several machines share. One thing
// decides everything: a document is inserted under a unique key, and only the first
// insert wins. So a job is computed at least once and has one result.
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
// A lease is measured by the clock of whoever waits for its end: it has run out when
// the claim's beat did not change for that long. No two clocks are compared.
package jobs

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"savant/fault"
	"savant/internal/mongo"
)

// separator stands between the parts of a key. No id has it.
const separator = "\x1f"

// Queue is jobs in one collection. Its methods may be called at once.
type Queue struct{ documents *mongo.Collection }

// New returns the queue in a collection.
func New(documents *mongo.Collection) *Queue { return &Queue{documents} }

// Result is how a job ended: with an answer, or with an error.
type Result struct {
	Answer json.RawMessage `json:"answer,omitempty"`
	Error  *fault.Error    `json:"error,omitempty"`
	// Cancelled says that nobody waits for the job any more.
	Cancelled bool `json:"cancelled,omitempty"`
	// Owner is who computed it, and Claim the number of its claim; 0 for nobody.
	Owner string `json:"owner,omitempty"`
	Claim int    `json:"claim,omitempty"`
}

func key(id string, parts ...string) string {
	return strings.Join(append([]string{id}, parts...), separator)
}

func numbered(n int) string { return fmt.Sprintf("%04d", n) }

// Enqueue adds a job unless there is one of its id. A job that has ended is not begun
// again. INVALID_PARAMS for an id that cannot be a key; else the database's failure.
func (q *Queue) Enqueue(ctx context.Context, id string, body []byte) error {
	return q.EnqueueFor(ctx, id, "", body)
}

// EnqueueFor is Enqueue for workers that accept what the job needs, a short text.
func (q *Queue) EnqueueFor(ctx context.Context, id, needs string, body []byte) error {
	if id == "" || len(id) > 900 || strings.ContainsAny(id, separator+"\x00") {
		return fault.New(fault.InvalidParams, "%q cannot be the id of a job: expected 1 to 900 bytes", fault.Cut(id, 100))
	}
	won, err := q.documents.Insert(ctx, mongo.Document{Key: id, Meta: needs, Body: body})
	if err != nil {
		return err
	}
	if !won {
		// Whoever inserted it may have died before the list was written.
		if _, ended, err := q.Result(ctx, id); err != nil || ended {
			return err
		}
	}
	return q.list(ctx, id, needs, q.documents.Now())
}

// list says that a job waits. A second entry does no harm: it is removed like the first.
func (q *Queue) list(ctx context.Context, id, needs string, since time.Time) error {
	_, err := q.documents.Insert(ctx, mongo.Document{Key: listKey(id, since), Meta: needs})
	return err
}

// The list is read in the order of time, so that a job is not passed over for ever.
const todo = "todo"

// The list of jobs that have ended and are to be pruned some day is in the same order.
const done = "done"

func listKey(id string, since time.Time) string { return key(todo, moment(since), id) }

// moment is a time in a key.
func moment(at time.Time) string { return fmt.Sprintf("%015d", at.UnixMilli()) }

// listed is the id in a key of the list.
func listed(listKey string) string {
	_, rest, _ := strings.Cut(listKey, separator)
	_, id, _ := strings.Cut(rest, separator)
	return id
}

// Result returns how a job ended, and whether it has.
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

// settle ends a job and says whether this result is the one that stands.
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

// Cancel ends a job that nobody waits for, unless it has ended. Who computes it learns
// that with its next beat.
func (q *Queue) Cancel(ctx context.Context, id string) error {
	_, err := q.settle(ctx, id, Result{Cancelled: true})
	return err
}

// EndLost ends a job whose process is lost, and which nobody else does.
func (q *Queue) EndLost(ctx context.Context, id string) error {
	_, err := q.settle(ctx, id, Result{Error: fault.New(fault.EngineOffline, "the process that had it was lost")})
	return err
}

// Lost waits for a sign of life of whoever has a job, for a lease at most, and says
// whether there was none.
func (q *Queue) Lost(ctx context.Context, id string, lease time.Duration) (bool, error) {
	first := ""
	for began := time.Now(); ; {
		claims, err := q.claims(ctx, id)
		if err != nil {
			return false, err
		}
		beat, _, err := q.documents.Find(ctx, key(id, "beat", numbered(len(claims))))
		if err != nil {
			return false, err
		}
		seen := fmt.Sprint(len(claims), beat.Nonce)
		if first == "" {
			first = seen
		}
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

// Claimed says who computes a job; owner is empty if nobody has taken it yet.
func (q *Queue) Claimed(ctx context.Context, id string) (owner string, err error) {
	claims, err := q.claims(ctx, id)
	if len(claims) > 0 {
		owner = claims[len(claims)-1].Meta
	}
	return owner, err
}

// claims are those of a job, by their number.
func (q *Queue) claims(ctx context.Context, id string) (list []mongo.Document, err error) {
	err = q.documents.Heads(ctx, key(id, "claim", ""), key(id, "claim", "~"), func(d mongo.Document) error {
		list = append(list, d)
		return nil
	})
	return list, err
}

// The pauses between two looks at a result, where the database does not tell of it.
const (
	firstPause = 20 * time.Millisecond
	lastPause  = time.Second
)

// Wait returns how a job ends. It returns the cause of ctx when that ends first.
func (q *Queue) Wait(ctx context.Context, id string) (Result, error) {
	result, ended, err := q.Result(ctx, id)
	if err != nil || ended {
		return result, err
	}
	changes, stop := q.documents.Watch(ctx, key(id, "result"), key(id, "result")+"\x00")
	defer stop()
	for pause := firstPause; ; pause = min(pause*3/2, lastPause) {
		select {
		case <-ctx.Done():
			return Result{}, context.Cause(ctx)
		case <-changes.Seen():
		case <-time.After(pause):
		}
		result, ended, err := q.Result(ctx, id)
		if err != nil || ended {
			return result, err
		}
	}
}

// Waiting is how many jobs are in the list: those without a result, and those of which no
// worker has seen yet that they have one.
func (q *Queue) Waiting(ctx context.Context) (int, error) {
	ids := map[string]bool{} // a job may be in the list more than once
	err := q.documents.Heads(ctx, key(todo, ""), key(todo, "~"), func(d mongo.Document) error {
		ids[listed(d.Key)] = true
		return nil
	})
	return len(ids), err
}

// unlist takes a job that has ended off the list of those that wait. A job that is to be
// pruned some day is put on the list of those that have ended before: whatever happens in
// between, it is on one of the two.
func (q *Queue) unlist(ctx context.Context, id, entry string, prunes bool) error {
	if prunes {
		if _, err := q.documents.Insert(ctx, mongo.Document{Key: key(done, moment(q.documents.Now()), id)}); err != nil {
			return err
		}
	}
	return q.documents.Delete(ctx, entry)
}

// Unlist takes the jobs off the list of those that wait that have ended, though no worker
// would have taken them.
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
		if _, ended, err = q.Result(ctx, listed(each)); ended {
			err = q.unlist(ctx, listed(each), each, false)
		}
	}
	return err
}

// Prune removes jobs that ended before a time, whole. It has to be long past any
// timeout: a client that asks again for a removed job has it computed again. It reads no
// more than what it removes.
func (q *Queue) Prune(ctx context.Context, before time.Time) (n int, err error) {
	var ended []string
	err = q.documents.Heads(ctx, key(done, ""), key(done, moment(before)), func(d mongo.Document) error {
		ended = append(ended, d.Key)
		return nil
	})
	removed := map[string]bool{} // two workers may have put a job on the list
	for _, entry := range ended {
		if id := listed(entry); err == nil && !removed[id] {
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

// Remove removes a job, whole. Its last document is the job itself.
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
