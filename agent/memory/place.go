package memory

import (
	"context"
	"time"
)

// Place stores sessions: in a folder, or in a database that several machines share. Its
// methods are safe for concurrent use.
type Place interface {
	// Create begins a journal: ID_COLLISION, STATE_NOT_SAVED.
	Create(id string) (Journal, error)
	// Resume opens a journal for appending, and returns its records: UNKNOWN_RUN,
	// STATE_CONFLICT if another process has it open, STATE_CORRUPT.
	Resume(id string) (Journal, []Record, error)
	// Adopt opens or creates a journal to copy records into it. It appends no record
	// itself: ID_COLLISION for a removed session, STATE_CONFLICT, STATE_CORRUPT.
	Adopt(id string) (Journal, []Record, error)
	// Remove deletes a session permanently: STATE_CONFLICT if it is running, or was resumed
	// meanwhile. Removing a missing session is no error.
	Remove(ctx context.Context, id string) error
	// Outputs returns the digests of the outputs of a session, and Output one of them.
	Outputs(ctx context.Context, id string) ([]string, error)
	Output(id, digest string) ([]byte, error)
	// Records returns the records of a journal, even while another process writes it. Its
	// errors are those of Resume, without STATE_CONFLICT.
	Records(id string) ([]Record, error)
	// Snapshot returns the last snapshot of a session: UNKNOWN_RUN before the first.
	Snapshot(id string) ([]byte, error)
	// Snapshots returns the snapshots of all sessions, in any order. Their steps may be
	// left out.
	Snapshots(ctx context.Context) ([]Snapshot, error)
	// DriverStatus says who drives a session.
	DriverStatus(id string) (DriverStatus, error)
	// Cancel asks the driver of a session to end it: UNKNOWN_RUN.
	Cancel(id string) error
	// Canceled reports whether Cancel was called for a session.
	Canceled(id string) bool
	// CancelPause is the polling interval of Canceled.
	CancelPause() time.Duration
	// Shared reports whether another machine may take a session over unasked.
	Shared() bool
}

// DriverStatus says who drives a session.
type DriverStatus struct {
	// Open: the session is being driven or queued.
	Open bool
	// Waiting: no process has claimed it yet. Note says why, if known.
	Waiting bool
	Note    string
	// HeartbeatOverdue: the driving process has sent no heartbeat for long.
	HeartbeatOverdue bool
	// Canceled: it was cancelled and not resumed since.
	Canceled bool
	// Owner names the driving process, if known.
	Owner string
}

// Journal is the store of one open session. Its methods are not safe for concurrent
// use.
type Journal interface {
	// Append adds a record: STATE_NOT_SAVED, or STATE_CONFLICT if another process has
	// taken the session over. After an error for which Away is true, repeating the call is
	// idempotent.
	Append(record Record, durability Durability) error
	// Away reports whether an error means that the place is temporarily unreachable.
	Away(err error) bool
	// WriteSnapshot replaces the snapshot; data is its JSON.
	WriteSnapshot(snapshot Snapshot, data []byte) error
	// SaveOutput stores an output under its digest, and returns its location.
	SaveOutput(digest string, output []byte, durability Durability) (string, error)
	// Output returns a stored output by its location.
	Output(where string) ([]byte, error)
	Close() error
}
