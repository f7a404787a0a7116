package memory

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"sync"
	"time"
	"unicode/utf8"

	"savant/fault"
	"savant/internal/atomicfile"
	"savant/internal/ownfolder"
)

// Session is the memory of one run that goes on. It may be used by several
// goroutines at once.
type Session struct {
	store *Store
	id    string

	mu       sync.Mutex
	journal  *os.File
	numbers  int // records written
	head     Head
	steps    []Step
	encoded  []json.RawMessage // the JSON of each step, nil where it is never shown again
	sizes    []int             // its characters
	lines    []string
	failures []Failure
	failed   error
	// outline is the size of a snapshot without steps; 0: not known.
	outline int
	// shown is the view of the last snapshot, while it is true.
	shown *View
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
	data, err := io.ReadAll(s.journal)
	if err != nil {
		return nil, ownfolder.NotRead(journalName(s.id), err)
	}
	records, whole, err := readJournal(s.id, data)
	if err != nil {
		return nil, err
	}
	if whole < int64(len(data)) {
		if err := s.journal.Truncate(whole); err != nil {
			return nil, ownfolder.NotSaved(journalName(s.id), err)
		}
	}
	s.numbers = len(records)
	err = s.store.root.Remove(cancelName(s.id))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, ownfolder.NotSaved(cancelName(s.id), err)
	}
	return records, nil
}

// Append writes one record. After a failure, STATE_NOT_SAVED, the session
// takes no more: what follows would stand behind a gap.
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
		_, err = s.journal.Write(line)
	}
	if err == nil && durability == Durable {
		err = s.journal.Sync()
	}
	if err != nil {
		s.failed = ownfolder.NotSaved(journalName(s.id), err)
		return s.failed
	}
	s.numbers++
	return nil
}

// maxOutput is what a step holds of an output, in bytes; a larger one becomes
// an artifact. It keeps long runs within their memory.
const maxOutput = 32 << 10

// Keep returns a call as a step may hold it: an output that is too large is
// kept whole in a file, and the call has the beginning of it.
func (s *Session) Keep(call Call) (Call, error) {
	if len(call.Output) <= maxOutput {
		return call, nil
	}
	artifact, err := s.artifact(call.Output, atomicfile.Durable)
	if err != nil {
		return call, err
	}
	call.Artifact = artifact
	return call.cut(maxOutput), nil
}

// artifact keeps an output in a file of its own.
func (s *Session) artifact(output json.RawMessage, durability atomicfile.Durability) (string, error) {
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
	s.shown = nil
	s.steps = append(s.steps, step)
	s.encoded = append(s.encoded, encoded(step))
	s.sizes = append(s.sizes, utf8.RuneCount(s.encoded[len(s.encoded)-1]))
	s.lines = append(s.lines, summarize(step))
	s.forget(len(s.steps) - 1 - wholeSteps)
	if failures := step.failures(); len(failures) > 0 {
		s.failures, s.outline = append(s.failures, failures...), 0
	}
}

// Fail remembers an error that no call is to blame for.
func (s *Session) Fail(failure Failure) {
	s.mu.Lock()
	defer s.mu.Unlock()
	failure.Details = fault.Cut(failure.Details, maxDetails)
	s.failures, s.outline = append(s.failures, failure), 0
}

// Describe sets what a snapshot says of the run as a whole.
func (s *Session) Describe(head Head) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.head, s.outline = head, 0
}

// Steps returns every step so far; nobody may change them.
func (s *Session) Steps() []Step {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.steps)
}

// Summary tells of the steps, a line each, the latest that fit.
func (s *Session) Summary() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return summary(s.lines)
}

// View returns the memory within its budget.
func (s *Session) View() View {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shown == nil {
		shown := s.snapshot().view
		s.shown = &shown
	}
	return *s.shown
}

// Save begins to replace the snapshot, for readers: what a run goes on from is
// its journal. It is written while the run goes on; the function returned waits
// until it is and has to be called before the next Save, and before Close.
// Outputs that do not fit become artifacts. The error is STATE_NOT_SAVED and
// never a reason to end the run.
func (s *Session) Save() (wait func() (Saved, error)) {
	data, saved, err := s.document()
	if err != nil {
		return func() (Saved, error) { return Saved{}, err }
	}
	written := make(chan error, 1)
	go func() { written <- s.store.writeSnapshot(s.id, data) }()
	return func() (Saved, error) { return saved, <-written }
}

// document returns the snapshot as it is written.
func (s *Session) document() ([]byte, Saved, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	made := s.snapshot()
	for more := made.cut; more; made = s.snapshot() { // names of artifacts take room, so that others are cut
		var err error
		if more, err = s.keepOutputs(made.view); err != nil {
			return nil, Saved{}, err
		}
	}
	s.shown = &made.view
	data, err := made.document.encode()
	if err != nil {
		return nil, Saved{}, fault.New(fault.Internal, "the snapshot of run %s: %w", s.id, err)
	}
	return data, Saved{Steps: len(s.steps), Summarized: made.view.Omitted, Errors: len(s.failures), Bytes: len(data)}, nil
}

// keepOutputs gives every output that a view cuts its artifact, and says
// whether one had none.
func (s *Session) keepOutputs(shown View) (more bool, err error) {
	for i, step := range shown.Steps {
		at := shown.Omitted + i
		calls := slices.Clone(s.steps[at].Calls) // those handed out stay as they are
		for c := range min(len(calls), len(step.Calls)) {
			if !step.Calls[c].Cut || calls[c].Artifact != "" {
				continue
			}
			// The journal has it too: it can be written again.
			if calls[c].Artifact, err = s.artifact(calls[c].Output, atomicfile.Lazy); err != nil {
				return false, err
			}
			more = true
		}
		s.steps[at].Calls = calls
		s.encoded[at] = encoded(s.steps[at])
		s.sizes[at] = utf8.RuneCount(s.encoded[at])
	}
	return more, nil
}

// Close lets go of the session and of a wish to cancel it.
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
