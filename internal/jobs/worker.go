package jobs

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"time"

	"savant/fault"
	"savant/internal/mongo"
)

// Job is one that a worker has claimed.
type Job struct {
	ID   string
	Body []byte
	// Claim is the number of the claim. Whoever has a higher one has taken the job over.
	Claim int
	entry mongo.Document // of the list
}

// Worker takes jobs from a queue.
type Worker struct {
	Queue *Queue
	// Owner names the worker for people, such as host and process.
	Owner string
	// Concurrency is how many jobs are done at once.
	Concurrency int
	// Lease is how long a claim holds without a sign of life of its owner.
	Lease time.Duration
	// MaxClaims sets a job aside that was claimed so often in vain.
	MaxClaims int
	// Do computes the answer of a job. Its context ends when the job was taken over or
	// cancelled, with ErrLost. A *Returned gives the job back; any other error is its
	// result.
	Do func(ctx context.Context, job Job) ([]byte, error)
	// Accepts says whether the worker has what a job needs; nil: it has whatever is asked for.
	Accepts func(needs string) bool
	// Bound says that only the process that enqueued a job does it, by what it needs; nil:
	// none is. Such a job ends when that process is lost.
	Bound func(needs string) bool
	// Prunes says that jobs that have ended are removed by Prune some day.
	Prunes bool
	// Code is what a failure of the database is told under.
	Code fault.Code
	// Log may be nil.
	Log *slog.Logger

	seen map[string]sighting // by entry of the list, what was last seen of the job's owner

	mu    sync.Mutex
	taken map[string]bool // jobs in this process
}

// Returned is an error of Do that gives the job back for another attempt, which may be
// another worker's.
type Returned struct {
	Err error
	// Blameless says that the job is not the reason, as when the worker ends or the
	// database is away: the claim does not count as one in vain.
	Blameless bool
}

func (r *Returned) Error() string { return r.Err.Error() }

// Unwrap returns the cause.
func (r *Returned) Unwrap() error { return r.Err }

// ErrLost is the cause when the job of a context was taken over, or has ended.
var ErrLost = errors.New("the job was taken over, cancelled or ended by somebody else")

// sighting is a claim, its beat and when that was first seen, by this process's clock.
// Before next the claim holds in any case, or the job rests, so nobody looks.
type sighting struct {
	claim, beat string
	at, next    time.Time
	late        bool // a look at it came late
}

// look is what is known of a claim whose beat was seen at a moment. A look that comes
// late begins the lease anew, once: what kept this process from looking, such as a database
// that was away for less than a call waits, may have kept the owner from a sign of life.
func (s sighting) look(claim, beat string, now time.Time, lease time.Duration) sighting {
	switch late := now.Sub(s.next) > lease/2; {
	case s.claim != claim || s.beat != beat:
		s = sighting{claim: claim, beat: beat, at: now}
	case late && !s.late:
		s.at, s.late = now, true
	}
	s.next = now.Add(min(lease/4, s.at.Add(lease).Sub(now)))
	return s
}

// The pauses of a worker that found nothing, where the database does not tell of what
// comes. A long list is read less often; where so much is under way there are others who
// read it.
const (
	firstIdle    = 20 * time.Millisecond
	lastIdle     = 100 * time.Millisecond
	idleForEntry = 10 * time.Millisecond
	longestIdle  = time.Second
)

// rest returns how long the pause may be with so many entries in the list.
func rest(entries int, told bool) time.Duration {
	if told {
		return longestIdle
	}
	return min(lastIdle+time.Duration(entries)*idleForEntry, longestIdle)
}

// Run takes jobs until ctx ends, then waits for those in hand. The database may be gone
// for a while: the worker says so once, and goes on when it is back.
func (w *Worker) Run(ctx context.Context) error {
	w.taken = map[string]bool{}
	log := cmp.Or(w.Log, slog.New(slog.DiscardHandler))
	free := make(chan struct{}, max(w.Concurrency, 1))
	var running sync.WaitGroup
	defer running.Wait()
	changes, stop := w.Queue.documents.Watch(ctx, key(todo, ""), key(todo, "~"))
	defer stop()
	idle, down := firstIdle, false
	for ctx.Err() == nil {
		found, entries, err := w.take(ctx, free, func(job Job) {
			running.Go(func() {
				defer func() { <-free }()
				w.do(ctx, job, log)
			})
		})
		switch {
		case err != nil && ctx.Err() == nil:
			// Nobody could show a sign of life meanwhile: each lease begins anew.
			clear(w.seen)
			if !down {
				log.Warn("the queue cannot be reached; trying again", "error", mongo.Coded(w.Code, "jobs are neither taken nor renewed", err))
				down = true
			}
		case err == nil && down:
			log.Info("the queue is back")
			down = false
		}
		if idle = min(idle*3/2, rest(entries, changes.Live())); found && err == nil {
			idle = firstIdle
		}
		select {
		case <-ctx.Done():
		case <-changes.Seen():
		case <-time.After(idle):
		}
	}
	return nil
}

// take claims what waits, and hands it to begin, which gives the place in free back.
// Nothing is claimed before there is a place for it: its beat could not be written.
// length is how many entries the list has.
func (w *Worker) take(ctx context.Context, free chan struct{}, begin func(Job)) (found bool, length int, err error) {
	var entries, bound []mongo.Document
	seen := map[string]sighting{}
	err = w.Queue.documents.Heads(ctx, key(todo, ""), key(todo, "~"), func(d mongo.Document) error {
		length++
		known, looked := w.seen[d.Key]
		if looked {
			seen[d.Key] = known
		}
		switch {
		case looked && time.Now().Before(known.next):
		case w.Accepts == nil || w.Accepts(d.Meta):
			entries = append(entries, d)
		case w.Bound != nil && w.Bound(d.Meta):
			bound = append(bound, d)
		}
		return nil
	})
	if err != nil {
		return false, length, err
	}
	w.seen = seen // what left the list is forgotten
	for _, entry := range bound {
		if err := w.endIfLost(ctx, entry); err != nil {
			return false, length, err
		}
	}
	for _, entry := range entries {
		if w.holds(listed(entry.Key)) {
			continue
		}
		select {
		case free <- struct{}{}:
		case <-ctx.Done():
			return found, length, nil
		}
		job, mine, err := w.claim(ctx, entry)
		if err != nil || !mine {
			<-free
			if err != nil {
				return found, length, err
			}
			continue
		}
		found = true
		w.hold(job.ID, true)
		begin(job)
	}
	return found, length, nil
}

func (w *Worker) holds(id string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.taken[id]
}

func (w *Worker) hold(id string, holds bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.taken[id] = holds; !holds {
		delete(w.taken, id)
	}
}

// claim takes a job of the list unless it has ended or somebody else has it.
func (w *Worker) claim(ctx context.Context, entry mongo.Document) (Job, bool, error) {
	id := listed(entry.Key)
	_, ended, err := w.Queue.Result(ctx, id)
	if err != nil {
		return Job{}, false, err
	}
	if ended {
		return Job{}, false, w.Queue.unlist(ctx, id, entry.Key, w.Prunes)
	}
	claims, err := w.Queue.claims(ctx, id)
	if err != nil {
		return Job{}, false, err
	}
	vain, open, why, err := w.vain(ctx, id, entry.Key, claims)
	if err != nil || open {
		return Job{}, false, err
	}
	if vain >= w.MaxClaims {
		_, err := w.Queue.settle(ctx, id, Result{Error: fault.New(fault.ReasoningUnavailable,
			"it was set aside after %d attempts; the last one: %s", vain, why)})
		return Job{}, false, err
	}
	found, there, err := w.Queue.documents.Find(ctx, id)
	if err == nil && !there { // it was removed
		err = w.Queue.documents.Delete(ctx, entry.Key)
	}
	if err != nil || !there {
		return Job{}, false, err
	}
	n := len(claims) + 1
	won, err := w.Queue.documents.Insert(ctx, mongo.Document{Key: key(id, "claim", numbered(n)), Meta: w.Owner})
	return Job{ID: id, Body: found.Body, Claim: n, entry: entry}, won && err == nil, err
}

// endIfLost ends a job that nobody else does when whoever enqueued it is lost.
func (w *Worker) endIfLost(ctx context.Context, entry mongo.Document) error {
	id := listed(entry.Key)
	_, ended, err := w.Queue.Result(ctx, id)
	if err != nil {
		return err
	}
	if ended {
		return w.Queue.unlist(ctx, id, entry.Key, w.Prunes)
	}
	claims, err := w.Queue.claims(ctx, id)
	if err != nil {
		return err
	}
	last := entry // before the first claim
	if len(claims) > 0 {
		last = claims[len(claims)-1]
	}
	if w.lives(ctx, id, entry.Key, len(claims), last) {
		return nil
	}
	return w.Queue.EndLost(ctx, id)
}

// vain counts the claims that came to nothing. open says that the last one still holds, or
// was given back a moment ago; why is the reason of the last that was given back.
func (w *Worker) vain(ctx context.Context, id, entry string, claims []mongo.Document) (n int, open bool, why string, err error) {
	why = "the worker was lost"
	for i, claim := range claims {
		end, ended, err := w.Queue.documents.Find(ctx, key(id, "end", numbered(i+1)))
		if err != nil {
			return 0, false, "", err
		}
		last := i == len(claims)-1
		switch reason, blameless := strings.CutPrefix(end.Meta, blamelessMark); {
		case ended:
			if !blameless {
				n, why = n+1, reason
			}
			if last && reason != workerEnded && n < w.MaxClaims && !w.rested(entry, claim.Key) {
				return n, true, why, nil
			}
		case last && w.lives(ctx, id, entry, i+1, claim):
			return n, true, why, nil
		default:
			n++
		}
	}
	return n, false, why, nil
}

// blamelessMark begins the reason of a claim that was given back and does not count.
const blamelessMark = "ending: "

// workerEnded is the reason of a worker that ends: another one can do the job at once.
const workerEnded = "the worker ended"

// attemptPause is how long a job rests that was given back for another reason, which may
// be over then: its attempts would else be used up at once. A short lease shortens it.
const attemptPause = time.Second

// rested says whether the pause after a claim that was given back is over, as seen from here.
func (w *Worker) rested(entry, claim string) bool {
	now, last := time.Now(), w.seen[entry]
	if seen := (sighting{claim: claim, beat: "given back"}); last.claim != seen.claim || last.beat != seen.beat {
		seen.at, seen.next = now, now.Add(min(w.Lease/4, attemptPause))
		last, w.seen[entry] = seen, seen
	}
	return !now.Before(last.next)
}

// lives says whether the owner of a claim showed a sign of life within the lease, as
// seen from here. It is looked at four times in a lease.
func (w *Worker) lives(ctx context.Context, id, entry string, n int, claim mongo.Document) bool {
	nonce := claim.Nonce
	if beat, there, err := w.Queue.documents.Find(ctx, key(id, "beat", numbered(n))); err != nil {
		clear(w.seen)
		return true // nothing is known
	} else if there {
		nonce = beat.Nonce
	}
	now := time.Now()
	seen := w.seen[entry].look(claim.Key, nonce, now, w.Lease)
	w.seen[entry] = seen
	return now.Sub(seen.at) < w.Lease
}

// do computes a job while its beat is written, and ends it.
func (w *Worker) do(ctx context.Context, job Job, log *slog.Logger) {
	defer w.hold(job.ID, false)
	worker := ctx
	ctx, lose := context.WithCancelCause(ctx)
	defer lose(nil)
	var beating sync.WaitGroup
	beating.Go(func() { w.beat(ctx, job, lose) })
	answer, err := w.Do(ctx, job)
	lost := context.Cause(ctx)
	lose(nil)
	beating.Wait()
	if errors.Is(lost, ErrLost) {
		return
	}
	var returned *Returned
	if err != nil && worker.Err() != nil {
		returned = &Returned{Err: errors.New(workerEnded), Blameless: true}
	}
	if returned != nil || errors.As(err, &returned) {
		w.giveBack(ctx, job, returned)
		return
	}
	result := Result{Answer: answer, Owner: w.Owner, Claim: job.Claim}
	if err != nil {
		result.Answer, result.Error = nil, fault.From(err)
	}
	w.insist(ctx, log, "the result of a job", func(ctx context.Context) error {
		if _, err := w.Queue.settle(ctx, job.ID, result); err != nil {
			return err
		}
		return w.Queue.unlist(ctx, job.ID, job.entry.Key, w.Prunes)
	})
}

// insist tries until the database took something, or the worker has ended and a moment
// is over: an answer that was paid for should not be lost.
func (w *Worker) insist(ctx context.Context, log *slog.Logger, what string, try func(context.Context) error) {
	patient, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(lastMoment, cancel) })
	defer stop()
	for pause := firstPause; ; pause = min(pause*2, lastPause) {
		err := try(patient)
		if err == nil {
			return
		}
		if patient.Err() != nil {
			log.Warn(what+" could not be written", "error", err)
			return
		}
		select {
		case <-patient.Done():
		case <-time.After(pause):
		}
	}
}

// lastMoment is what a worker that ends takes to write what it has.
const lastMoment = time.Second

// beat shows a sign of life until ctx ends, and loses the job where it has ended or is
// somebody else's.
func (w *Worker) beat(ctx context.Context, job Job, lose context.CancelCauseFunc) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(w.Lease / 4):
		}
		_, ended, err := w.Queue.Result(ctx, job.ID)
		if err != nil {
			continue
		}
		_, over, err := w.Queue.documents.Find(ctx, key(job.ID, "claim", numbered(job.Claim+1)))
		if err != nil {
			continue
		}
		if ended || over {
			lose(ErrLost)
			return
		}
		_ = w.Queue.documents.Replace(ctx, mongo.Document{Key: key(job.ID, "beat", numbered(job.Claim))}) // the next one may come through
	}
}

// giveBack lets others have the job at once.
func (w *Worker) giveBack(ctx context.Context, job Job, why *Returned) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastMoment)
	defer cancel()
	reason := fault.Cut(why.Error(), 1000)
	if why.Blameless {
		reason = blamelessMark + reason
	}
	// Without it the lease runs out.
	_, err := w.Queue.documents.Insert(ctx, mongo.Document{Key: key(job.ID, "end", numbered(job.Claim)), Meta: reason})
	now := time.Now()
	if err != nil || listKey(job.ID, now) == job.entry.Key {
		return
	}
	// Others look at a new entry at once, and at the one that they know when they next look
	// at the owner.
	if err := w.Queue.list(ctx, job.ID, job.entry.Meta, now); err == nil {
		_ = w.Queue.documents.Delete(ctx, job.entry.Key) // whoever finds that the job has ended removes it
	}
}
