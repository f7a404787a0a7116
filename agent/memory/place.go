package memory

import (
	"context"
	"time"
)

// Place is where sessions are kept: a folder, or a database that several machines
// share. Its methods may be called at once.
type Place interface {
	// Create begins a journal: ID_COLLISION, STATE_NOT_SAVED.
	Create(id string) (Journal, error)
	// Resume opens a journal to go on with it, and returns its records: UNKNOWN_RUN,
	// STATE_CONFLICT if somebody else has it, STATE_CORRUPT.
	Resume(id string) (Journal, []Record, error)
	// Adopt opens a journal to copy records into it, and begins it where there is none. It
	// writes nothing by itself: ID_COLLISION for one that was removed, STATE_CONFLICT,
	// STATE_CORRUPT.
	Adopt(id string) (Journal, []Record, error)
	// Remove removes a session for good: STATE_CONFLICT if it goes on, or went on meanwhile.
	// One that is gone is removed.
	Remove(ctx context.Context, id string) error
	// Outputs returns the digests of the outputs of a session, and Output one of them.
	Outputs(ctx context.Context, id string) ([]string, error)
	Output(id, digest string) ([]byte, error)
	// Records returns the records of a journal, whoever writes it. Its errors are those of
	// Resume, without STATE_CONFLICT.
	Records(id string) ([]Record, error)
	// Snapshot returns the last snapshot of a session: UNKNOWN_RUN before the first.
	Snapshot(id string) ([]byte, error)
	// Snapshots returns the snapshots of all sessions, in any order. Their steps may be
	// left out.
	Snapshots(ctx context.Context) ([]Snapshot, error)
	// Standing says who drives a session.
	Standing(id string) (Standing, error)
	// Cancel asks whoever drives a session to end it: UNKNOWN_RUN.
	Cancel(id string) error
	// Canceled says whether a session has been asked to end.
	Canceled(id string) bool
	// CancelPause is how long to wait between two calls of Canceled.
	CancelPause() time.Duration
	// Shared says that another machine may go on with a session by itself.
	Shared() bool
}

// Standing says who drives a session.
type Standing struct {
	// Open: somebody drives it, or is to.
	Open bool
	// Waiting: nobody has taken it yet. Note says why, where that is known.
	Waiting bool
	Note    string
	// Canceled: it was asked to end, and nobody goes on with it.
	Canceled bool
	// Owner names who drives it, where that is known.
	Owner string
}

// Journal is the place of one session that goes on. Its methods are called one after
// the other.
type Journal interface {
	// Append adds a record: STATE_NOT_SAVED, or STATE_CONFLICT when somebody else has
	// taken the session over. A record may be appended again after an error for which
	// Away is true; it is there once.
	Append(record Record, durability Durability) error
	// Away says that an error means that the place cannot be reached at present.
	Away(err error) bool
	// WriteSnapshot replaces the snapshot; data is its JSON.
	WriteSnapshot(snapshot Snapshot, data []byte) error
	// SaveOutput keeps an output under its digest, and returns where it is.
	SaveOutput(digest string, output []byte, durability Durability) (string, error)
	// Output returns an output that was kept, by where it is.
	Output(where string) ([]byte, error)
	Close() error
}
