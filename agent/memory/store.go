package memory

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"savant/fault"
	"savant/internal/pattern"
)

// Store has the sessions of one place. Goroutines and processes may use it
// concurrently; a session is open in one of them at a time.
type Store struct {
	Place
	now func() time.Time
}

// Open returns the sessions under a folder; now is the clock. It writes nothing. The
// caller closes the root.
func Open(root *os.Root, now func() time.Time) *Store { return Over(inFolder{root}, now) }

// Over returns the sessions of a place.
func Over(place Place, now func() time.Time) *Store { return &Store{place, now} }

var idPattern = pattern.Lazy(`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`)

func checkID(id string) error {
	if !idPattern().MatchString(id) {
		return fault.New(fault.InvalidParams, "%q is not a run id: expected up to 64 letters, digits, _ and -", fault.Cut(id, 100))
	}
	return nil
}

// Unknown is UNKNOWN_RUN for a missing session.
func Unknown(id string) error {
	return fault.New(fault.UnknownRun, "there is no run %s", id).Hinted(fault.Hint{Call: "agent.list", Text: "lists the runs"})
}

// Collision is ID_COLLISION for an existing session.
func Collision(id string) error {
	return fault.New(fault.IDCollision, "run %s already exists", id)
}

// Conflict is STATE_CONFLICT for a session that is open elsewhere.
func Conflict(id string) error {
	return fault.New(fault.StateConflict, "run %s is already running", id)
}

// Create begins a session. The errors are ID_COLLISION for an id that exists, and
// STATE_NOT_SAVED.
func (s *Store) Create(id string) (*Session, error) {
	if err := checkID(id); err != nil {
		return nil, err
	}
	journal, err := s.Place.Create(id)
	if err != nil {
		return nil, err
	}
	return &Session{store: s, id: id, journal: journal}, nil
}

// Resume opens an existing session for appending, and returns its records. The errors
// are UNKNOWN_RUN, STATE_CONFLICT if the session is open, in this or another process,
// and STATE_CORRUPT.
func (s *Store) Resume(id string) (*Session, []Record, error) {
	if err := checkID(id); err != nil {
		return nil, nil, err
	}
	journal, records, err := s.Place.Resume(id)
	if err != nil {
		return nil, nil, err
	}
	return &Session{store: s, id: id, journal: journal, numbers: len(records)}, records, nil
}

// Records returns the records of a session's journal, even while another process writes
// it. The errors are those of Resume, without STATE_CONFLICT.
func (s *Store) Records(id string) ([]Record, error) {
	if err := checkID(id); err != nil {
		return nil, err
	}
	return s.Place.Records(id)
}

// StepRecords returns the records of a step alone, without reading what others hold: the
// errors are those of Records.
func (s *Store) StepRecords(id string, step int) (found []Record, err error) {
	begin := fmt.Sprintf(`{"step":%d,`, step)
	if folder, is := s.Place.(inFolder); is && checkID(id) == nil {
		found, err = folder.records(id, `"data":`+begin)
	} else {
		found, err = s.Records(id)
	}
	return slices.DeleteFunc(found, func(each Record) bool { return !strings.HasPrefix(string(each.Data), begin) }), err
}

// Running reports whether a session is open, here or in another process.
func (s *Store) Running(id string) bool {
	driver, err := s.DriverStatus(id)
	return err == nil && driver.Open
}

// DriverStatus says who drives a session: UNKNOWN_RUN.
func (s *Store) DriverStatus(id string) (DriverStatus, error) {
	if err := checkID(id); err != nil {
		return DriverStatus{}, err
	}
	return s.Place.DriverStatus(id)
}

// Cancel asks the driver of a session to end it. An unknown session is UNKNOWN_RUN.
func (s *Store) Cancel(id string) error {
	if err := checkID(id); err != nil {
		return err
	}
	return s.Place.Cancel(id)
}

// List returns the snapshots of all sessions, the last changed first. It leaves out
// a snapshot that cannot be read.
func (s *Store) List(ctx context.Context) ([]Snapshot, error) {
	list, err := s.Snapshots(ctx)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(list, func(a, b Snapshot) int {
		return cmp.Or(cmp.Compare(b.Updated, a.Updated), cmp.Compare(b.SessionID, a.SessionID))
	})
	return list, nil
}
