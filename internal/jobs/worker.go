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

// Job is a claimed job.
type Job struct {
	ID   string
	Body []byte
	// Claim is the number of the claim, a fencing token: a higher one has taken the job
	// over.
	Claim int
	entry mongo.Document // of the list
}

// Work says which jobs a worker takes, and does them. It is safe for concurrent use.
type Work interface {
	// Do computes the answer of a job. Its context is cancelled with ErrLost when the job
	// is taken over or cancelled. A *Returned gives the job back; any other error is its
	// result.
	Do(ctx context.Context, job Job) ([]byte, error)
	// Accepts reports whether the worker meets the needs of a job.
	Accepts(needs string) bool
	// Bound reports, by its needs, whether a job is bound to the process that enqueued it.
	// A bound job ends when its process is lost.
	Bound(needs string) bool
}

// Anywhere is the part of a Work that takes every job, whichever process enqueued it.
type Anywhere struct{}

// Accepts implements Work.
func (Anywhere) Accepts(string) bool { return true }

// Bound implements Work.
func (Anywhere) Bound(string) bool { return false }

// Worker claims and computes jobs of a queue.
type Worker struct {
	Queue *Queue
	// Owner names the worker for people, such as host and process.
	Owner string
	// Concurrency bounds the jobs computed at once.
	Concurrency int
	// Lease is how long a claim lasts without a heartbeat.
	Lease time.Duration
	// MaxClaims is the number of failed claims after which a job is set aside.
	MaxClaims int
	Work      Work
	// Prunes says that Prune will remove ended jobs.
	Prunes bool
	// Code is the code of errors about a failure of the database.
	Code fault.Code
	// Log may be nil.
	Log *slog.Logger

	seen map[string]observation // the last observation of each job's owner, by entry of the list

	mu    sync.Mutex
	taken map[string]bool // jobs in this process
}

// Returned is an error of Do that gives the job back for another attempt by any worker.
type Returned struct {
	Err error
	// Blameless says that the job is not the cause, for example when the worker ends or
	// the database is unreachable: the claim does not count as failed.
	Blameless bool
}

func (r *Returned) Error() string { return r.Err.Error() }

// Unwrap returns the cause.
func (r *Returned) Unwrap() error { return r.Err }

// ErrLost is the cause when the job of a context was taken over, or has ended.
var ErrLost = errors.New("the job was taken over, cancelled or ended by somebody else")

// observation is a claim and its heartbeat, with the time of first observation by this
// process's clock. The job is not checked before next, because until then its claim
// certainly holds or the job rests.
type observation struct {
	claim, beat string
	at, next    time.Time
	late        bool // a look at it came late
}

// look returns the observation after a claim with a heartbeat was read at a time. A late
// look restarts the lease, once: the cause of the delay, such as an unreachable database,
// may have stopped the owner's heartbeat, too.
func (s observation) look(claim, beat string, now time.Time, lease time.Duration) observation {
	switch late := now.Sub(s.next) > lease/2; {
	case s.claim != claim || s.beat != beat:
		s = observation{claim: claim, beat: beat, at: now}
	case late && !s.late:
		s.at, s.late = now, true
	}
	s.next = now.Add(min(lease/4, s.at.Add(lease).Sub(now)))
	return s
}

// Polling intervals of an idle worker without change streams. A long list is read less
// often, because other workers read it too.
const (
	firstIdle    = 20 * time.Millisecond
	lastIdle     = 100 * time.Millisecond
	idleForEntry = 10 * time.Millisecond
	longestIdle  = time.Second
)

// longestPause returns the longest pause for a number of listed entries.
func longestPause(entries int, notified bool) time.Duration {
	if notified {
		return longestIdle
	}
	return min(lastIdle+time.Duration(entries)*idleForEntry, longestIdle)
}

// Run claims jobs until ctx ends, then waits for the open ones. If the database is
// unreachable, the worker logs that once and continues when it is back.
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
			// No worker could send a heartbeat meanwhile, so each lease restarts.
			clear(w.seen)
			if !down {
				log.Warn("the queue cannot be reached; trying again", "error", mongo.Coded(w.Code, "jobs are neither taken nor renewed", err))
				down = true
			}
		case err == nil && down:
			log.Info("the queue can be reached again")
			down = false
		}
		if idle = min(idle*3/2, longestPause(entries, changes.Live())); found && err == nil {
			idle = firstIdle
		}
		select {
		case <-ctx.Done():
		case <-changes.Notices():
		case <-time.After(idle):
		}
	}
	return nil
}

// take claims waiting jobs and passes them to begin, which releases the semaphore free.
// It acquires free before each claim, because a claimed job needs heartbeats at once.
// length is the number of listed entries.
func (w *Worker) take(ctx context.Context, free chan struct{}, begin func(Job)) (found bool, length int, err error) {
	var entries, bound []mongo.Document
	seen := map[string]observation{}
	err = w.Queue.documents.Heads(ctx, key(todo, ""), key(todo, "~"), func(d mongo.Document) error {
		length++
		known, looked := w.seen[d.Key]
		if looked {
			seen[d.Key] = known
		}
		switch {
		case looked && time.Now().Before(known.next):
		case w.Work.Accepts(d.Meta):
			entries = append(entries, d)
		case w.Work.Bound(d.Meta):
			bound = append(bound, d)
		}
		return nil
	})
	if err != nil {
		return false, length, err
	}
	w.seen = seen // forgets unlisted jobs
	for _, entry := range bound {
		if err := w.endIfLost(ctx, entry); err != nil {
			return false, length, err
		}
	}
	for _, entry := range entries {
		if w.holds(idOfKey(entry.Key)) {
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

// claim claims a listed job unless it has ended or its claim is held.
func (w *Worker) claim(ctx context.Context, entry mongo.Document) (Job, bool, error) {
	id := idOfKey(entry.Key)
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
	failed, open, why, err := w.failedClaims(ctx, id, entry.Key, claims)
	if err != nil || open {
		return Job{}, false, err
	}
	if failed >= w.MaxClaims {
		_, err := w.Queue.settle(ctx, id, Result{Error: fault.New(fault.ReasoningUnavailable,
			"the job was set aside after %d attempts; the last one: %s", failed, why)})
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
	won, err := w.Queue.documents.Insert(ctx, mongo.Document{Key: key(id, "claim", paddedNumber(n)), Meta: w.Owner})
	return Job{ID: id, Body: found.Body, Claim: n, entry: entry}, won && err == nil, err
}

// endIfLost ends a bound job if its process is lost.
func (w *Worker) endIfLost(ctx context.Context, entry mongo.Document) error {
	id := idOfKey(entry.Key)
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
	if w.alive(ctx, id, entry.Key, len(claims), last) {
		return nil
	}
	return w.Queue.EndLost(ctx, id)
}

// failedClaims counts the failed claims. open says that the last claim still holds, or was
// given back a moment ago; why is the reason of the last one given back.
func (w *Worker) failedClaims(ctx context.Context, id, entry string, claims []mongo.Document) (n int, open bool, why string, err error) {
	why = "the worker was lost"
	for i, claim := range claims {
		end, ended, err := w.Queue.documents.Find(ctx, key(id, "end", paddedNumber(i+1)))
		if err != nil {
			return 0, false, "", err
		}
		last := i == len(claims)-1
		switch reason, blameless := strings.CutPrefix(end.Meta, blamelessMark); {
		case ended:
			if !blameless {
				n, why = n+1, reason
			}
			if last && reason != workerEnded && n < w.MaxClaims && !w.pauseOver(entry, claim.Key) {
				return n, true, why, nil
			}
		case last && w.alive(ctx, id, entry, i+1, claim):
			return n, true, why, nil
		default:
			n++
		}
	}
	return n, false, why, nil
}

// blamelessMark prefixes the reason of a returned claim that does not count as failed.
const blamelessMark = "ending: "

// workerEnded is the reason of a worker that ends: another one can do the job at once.
const workerEnded = "the worker ended"

// attemptPause is the pause after a claim was returned for another reason, so that a short
// failure does not use up all attempts. A short lease shortens it.
const attemptPause = time.Second

// pauseOver reports whether the pause after a returned claim has ended, by this process's
// clock.
func (w *Worker) pauseOver(entry, claim string) bool {
	now, last := time.Now(), w.seen[entry]
	if seen := (observation{claim: claim, beat: "given back"}); last.claim != seen.claim || last.beat != seen.beat {
		seen.at, seen.next = now, now.Add(min(w.Lease/4, attemptPause))
		last, w.seen[entry] = seen, seen
	}
	return !now.Before(last.next)
}

// alive reports whether the owner of a claim sent a heartbeat within the lease, by this
// process's clock. It is checked four times in a lease.
func (w *Worker) alive(ctx context.Context, id, entry string, n int, claim mongo.Document) bool {
	nonce := claim.Nonce
	if beat, there, err := w.Queue.documents.Find(ctx, key(id, "beat", paddedNumber(n))); err != nil {
		clear(w.seen)
		return true // unknown
	} else if there {
		nonce = beat.Nonce
	}
	now := time.Now()
	seen := w.seen[entry].look(claim.Key, nonce, now, w.Lease)
	w.seen[entry] = seen
	return now.Sub(seen.at) < w.Lease
}

// do computes a job while sending heartbeats, and ends it.
func (w *Worker) do(ctx context.Context, job Job, log *slog.Logger) {
	defer w.hold(job.ID, false)
	worker := ctx
	ctx, lose := context.WithCancelCause(ctx)
	defer lose(nil)
	var beating sync.WaitGroup
	beating.Go(func() { w.beat(ctx, job, lose) })
	answer, err := w.Work.Do(ctx, job)
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
		_ = w.giveBack(ctx, job, returned) // without it the lease runs out
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

// insist retries a write until it succeeds, or until lastMoment after the worker's end,
// so that a paid answer is not lost.
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

// lastMoment is the time that an ending worker has for its last writes.
const lastMoment = time.Second

// beat sends heartbeats until ctx ends, and cancels the job if it has ended or was
// taken over.
func (w *Worker) beat(ctx context.Context, job Job, lose context.CancelCauseFunc) {
	for pause := untilBeat(w.Lease, nil); ; {
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		err := w.renew(ctx, job)
		if errors.Is(err, ErrLost) {
			lose(ErrLost)
			return
		}
		pause = untilBeat(w.Lease, err)
	}
}

// untilBeat returns the pause before the next heartbeat: a quarter of the lease, less after
// one that failed, so that a short outage of the database does not cost the lease.
func untilBeat(lease time.Duration, failed error) time.Duration {
	if failed != nil {
		return lease / 16
	}
	return lease / 4
}

// renew sends one heartbeat. ErrLost says that the job has ended or was taken over.
func (w *Worker) renew(ctx context.Context, job Job) error {
	_, ended, err := w.Queue.Result(ctx, job.ID)
	if err != nil {
		return err
	}
	_, over, err := w.Queue.documents.Find(ctx, key(job.ID, "claim", paddedNumber(job.Claim+1)))
	switch {
	case err != nil:
		return err
	case ended || over:
		return ErrLost
	}
	return w.Queue.documents.Replace(ctx, mongo.Document{Key: key(job.ID, "beat", paddedNumber(job.Claim))})
}

// giveBack makes the job claimable at once. After an error it may be or not.
func (w *Worker) giveBack(ctx context.Context, job Job, why *Returned) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastMoment)
	defer cancel()
	reason := fault.Cut(why.Error(), 1000)
	if why.Blameless {
		reason = blamelessMark + reason
	}
	_, err := w.Queue.documents.Insert(ctx, mongo.Document{Key: key(job.ID, "end", paddedNumber(job.Claim)), Meta: reason})
	now := time.Now()
	if err != nil || listKey(job.ID, now) == job.entry.Key {
		return err
	}
	// Other workers check a new entry at once, but a known entry only at their next check
	// of its owner.
	if err := w.Queue.list(ctx, job.ID, job.entry.Meta, now); err == nil {
		_ = w.Queue.documents.Delete(ctx, job.entry.Key) // a worker that finds the job ended removes it
	}
	return nil
}
