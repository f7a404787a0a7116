package memory

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"time"

	"savant/fault"
	"savant/internal/atomicfile"
	"savant/internal/journal"
	"savant/internal/ownfolder"
)

// Session is the memory of one run while it goes on. It may be used by several
// goroutines at once.
type Session struct {
	store *Store
	id    string

	mu       sync.Mutex
	journal  *os.File
	end      int64 // where the records end in it, in bytes
	numbers  int   // records written
	head     Head
	steps    []remembered
	failures []Failure
	failed   error // of Append
}

// Durability says what Append waits for.
type Durability bool

const (
	// Lazy survives the end of the process, not of the machine.
	Lazy Durability = false
	// Durable is on disk, with everything appended before.
	Durable Durability = true
)

// ID returns the id of the session.
func (s *Session) ID() string { return s.id }

// recover reads the journal and drops a torn end.
func (s *Session) recover() ([]Record, error) {
	info, err := s.journal.Stat()
	if err != nil {
		return nil, ownfolder.NotRead(journalName(s.id), err)
	}
	records, last, end, err := readJournal(s.id, s.journal, info.Size())
	if err != nil {
		return nil, err
	}
	if end < info.Size() {
		if err := journal.Recover(s.journal, last, end, info.Size()); err != nil {
			return nil, ownfolder.NotSaved(journalName(s.id), err)
		}
	}
	s.end = end
	s.numbers = len(records)
	err = s.store.root.Remove(cancelName(s.id))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, ownfolder.NotSaved(cancelName(s.id), err)
	}
	return records, nil
}

// Append writes one record. After a failure, STATE_NOT_SAVED, the session accepts no
// further records, since they would follow a gap.
func (s *Session) Append(kind string, data any, durability Durability) error {
	raw, err := json.Marshal(data)
	if err != nil {
		return fault.New(fault.Internal, "a record of run %s: %w", s.id, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed != nil {
		return s.failed
	}
	record := Record{Number: s.numbers + 1, Kind: kind, Time: s.store.now().UTC().Format(time.RFC3339Nano), Data: raw}
	line, err := record.line()
	if err == nil {
		err = journal.Append(s.journal, s.end, line, durability == Durable)
	}
	if err != nil {
		s.failed = ownfolder.NotSaved(journalName(s.id), err)
		return s.failed
	}
	s.numbers++
	s.end += int64(len(line))
	return nil
}

// saveOutput writes an output to a file of its own, named by its digest, and
// returns the name.
func (s *Session) saveOutput(output json.RawMessage, durability atomicfile.Durability) (string, error) {
	sum := sha256.Sum256(output)
	name := outputFolder(s.id) + "/" + hex.EncodeToString(sum[:])
	if _, err := s.store.root.Stat(name); err == nil {
		return name, nil
	}
	if err := s.store.root.Mkdir(outputFolder(s.id), folderPermission); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", ownfolder.NotSaved(name, err)
	}
	if err := atomicfile.Replace(atomicfile.Root(s.store.root), name, output, filePermission, durability); err != nil {
		return "", ownfolder.NotSaved(name, err)
	}
	return name, nil
}

// Remember adds a step that is over.
func (s *Session) Remember(step Step) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.steps = append(s.steps, remembered{step, summarize(step), size(step)})
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
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.journal == nil {
		return nil
	}
	err := s.store.root.Remove(cancelName(s.id))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	err = errors.Join(err, s.journal.Close())
	s.journal = nil
	s.failed = fault.New(fault.StateNotSaved, "run %s is closed", s.id)
	if err != nil {
		return fmt.Errorf("closing run %s: %w", s.id, err)
	}
	return nil
}
