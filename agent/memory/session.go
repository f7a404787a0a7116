package memory

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"savant/fault"
	"savant/internal/jsonvalue"
)

// Session is the memory of one open run. It is safe for concurrent use.
type Session struct {
	store   *Store
	id      string
	journal Journal

	writing sync.Mutex // held while a record is written, in its order
	by      string     // who ordered what is recorded
	claims  string     // what that client calls itself
	numbers int        // records written
	failed  error      // of Append
	closed  bool

	mu       sync.Mutex // guards what follows
	head     Head
	steps    []sizedStep
	failures []Failure
	parts    map[string]Part // of the prompts kept last, by name
}

// Durability says what Append waits for.
type Durability bool

const (
	// Lazy survives a crash of the process, but not of the machine.
	Lazy Durability = false
	// Durable is on disk, with everything appended before.
	Durable Durability = true
)

// ID returns the id of the session.
func (s *Session) ID() string { return s.id }

// OrderedBy names who ordered what is recorded from now on, and what the client calls itself.
func (s *Session) OrderedBy(name, claims string) {
	s.writing.Lock()
	defer s.writing.Unlock()
	s.by, s.claims = name, claims
}

// Append writes one record. After a failure, STATE_NOT_SAVED, the session accepts no
// further records, since they would follow a gap.
func (s *Session) Append(kind string, data any, durability Durability) error {
	ended, end := context.WithCancel(context.Background())
	end()
	return s.AppendWithin(ended, kind, data, durability, nil)
}

// AppendWithin is Append with retries until ctx ends while the place is unreachable, so
// that a paid decision or a completed call is not lost. It calls waits once, at the
// first failure.
func (s *Session) AppendWithin(ctx context.Context, kind string, data any, durability Durability, waits func(error)) error {
	raw, err := json.Marshal(data)
	if err != nil {
		return fault.New(fault.Internal, "a record of run %s: %w", s.id, err)
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	if s.failed != nil {
		return s.failed
	}
	record := Record{Number: s.numbers + 1, Kind: kind, Time: s.store.now().UTC().Format(time.RFC3339Nano), By: s.by, Claims: s.claims, Data: raw}
	for pause := firstPause; ; pause = min(pause*2, lastPause) {
		err := s.journal.Append(record, durability)
		if err == nil {
			s.numbers++
			return nil
		}
		if ctx.Err() != nil || !s.journal.Away(err) {
			s.failed = err
			return s.failed
		}
		if waits != nil {
			waits(err)
			waits = nil
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// Back-off between two attempts to write a record.
const (
	firstPause = 20 * time.Millisecond
	lastPause  = time.Second
)

// Shared says that another machine may go on with the session by itself.
func (s *Session) Shared() bool { return s.store.Shared() }

// saveOutput stores an output under its digest, and returns its location.
func (s *Session) saveOutput(output json.RawMessage, durability Durability) (string, error) {
	return s.journal.SaveOutput(jsonvalue.HexSum(output), output, durability)
}

// Whole returns the full output of a call, even if the call holds a truncated one.
func (s *Session) Whole(call Call) (json.RawMessage, error) {
	if !call.Cut {
		return call.Output, nil
	}
	return s.journal.Output(call.Artifact)
}

// Remember adds a completed step.
func (s *Session) Remember(step Step) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.steps = append(s.steps, sizedStep{step, summarize(step), size(step)})
	s.failures = append(s.failures, step.failures()...)
}

// Fail adds an error that no call caused.
func (s *Session) Fail(failure Failure) {
	s.mu.Lock()
	defer s.mu.Unlock()
	failure.Details = fault.Cut(failure.Details, maxDetails)
	s.failures = append(s.failures, failure)
}

// Describe sets what a snapshot says of the run as a whole.
func (s *Session) Describe(head Head) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.head = head
}

// Steps returns every step so far. The caller must not change them.
func (s *Session) Steps() []Step {
	s.mu.Lock()
	defer s.mu.Unlock()
	return stepsOf(s.steps)
}

// Summary has a line for each step: the latest that fit.
func (s *Session) Summary() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return summary(s.steps)
}

// Close releases the session and removes a request to cancel it.
func (s *Session) Close() error {
	s.writing.Lock()
	defer s.writing.Unlock()
	if s.closed {
		return nil
	}
	err := s.journal.Close()
	s.closed = true
	s.failed = fault.New(fault.StateNotSaved, "run %s is closed", s.id)
	if err != nil {
		return fmt.Errorf("closing run %s: %w", s.id, err)
	}
	return nil
}
