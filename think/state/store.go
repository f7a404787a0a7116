package state

import (
	"context"
	"time"
)

// Journal stores runs. It is safe for concurrent use, also by several processes. Every
// method returns INVALID_PARAMS for an invalid name, STATE_NOT_SAVED for a failed write
// (acknowledged data stays intact, and later calls succeed once the cause is gone),
// STATE_CORRUPT with file and record for damage, and INTERNAL wrapping the context's
// error if it ended while waiting. The receiver owns the slices passed and returned.
//
// A database can implement it with unique inserts alone: a record under (workflow, run,
// version), a checkpoint under (workflow, run, name, number). Package statetest tests
// this contract.
type Journal interface {
	// Append adds a record and returns it complete, durable. Version 1 begins
	// a run: STATE_CONFLICT if the run exists. Any other must follow the last
	// one: STATE_CONFLICT otherwise, UNKNOWN_RUN.
	Append(ctx context.Context, key Key, record Record) (Record, error)
	// Records returns the records after a version, oldest first, at most limit
	// of them if that is positive, their chain verified. One record costs the
	// same in a long run as in a short one. UNKNOWN_RUN.
	Records(ctx context.Context, key Key, after, limit int) ([]Record, error)
	// Head returns version and hash of the last record. It is cheap enough to
	// ask at every step whether another process has moved on. UNKNOWN_RUN.
	Head(ctx context.Context, key Key) (version int, hash string, err error)
	// Save stores a snapshot as the checkpoint of a name, durable, in the place
	// of one of that name. The name "" is the readable snapshot of the run and,
	// unless it is NotLatest, of its workflow's latest run; one that is older
	// than the present one is dropped. Version and Record must name a record of
	// the journal: STATE_CONFLICT. UNKNOWN_RUN.
	Save(ctx context.Context, key Key, name string, snapshot Snapshot) error
	// Load returns the checkpoint of a name: CHECKPOINT_NOT_FOUND, UNKNOWN_RUN;
	// STATE_CORRUPT if it was changed or is not of this run. For the name "" it
	// returns the readable snapshot, which may be behind the journal, or the
	// zero Snapshot if none belongs to the journal; STATE_CORRUPT if the
	// journal ends before it.
	Load(ctx context.Context, key Key, name string) (Snapshot, error)
	// Checkpoints lists the readable named checkpoints by version. UNKNOWN_RUN.
	Checkpoints(ctx context.Context, key Key) ([]CheckpointInfo, error)
	// List returns the runs that match the filter, the last changed first. With
	// Run set its cost depends on the number of workflows, not of runs.
	List(ctx context.Context, filter Filter) ([]Info, error)
	// Delete removes a run, so that its name is free. UNKNOWN_RUN.
	Delete(ctx context.Context, key Key) error
}

// Artifacts keeps large values by their content.
type Artifacts interface {
	// PutArtifact keeps a value under its hex SHA-256, durable, once.
	PutArtifact(ctx context.Context, data []byte) (digest string, err error)
	// Artifact returns the value of a digest, verified: STATE_CORRUPT if it is
	// missing or changed.
	Artifact(ctx context.Context, digest string) ([]byte, error)
}

// Storage is all that an engine needs to keep.
type Storage interface {
	Journal
	Artifacts
}

// Receipts keeps what says that a call went through Savant, for a while. Dir has the
// contract of each method.
type Receipts interface {
	PutReceipt(ctx context.Context, receipt Receipt) error
	Receipt(ctx context.Context, id string) (Receipt, error)
	LatestCall(ctx context.Context, tool, input string) (LatestCall, error)
	UseReceipt(ctx context.Context, id, use string) (taken string, err error)
}

// Maintenance has the methods of a store that only repairs and moves need. Dir documents
// their contracts; a
// place is a file there, and a key in a database.
type Maintenance interface {
	// Keys returns every run there is something of, by workflow and name.
	Keys(ctx context.Context) ([]Key, error)
	// Check returns what is wrong with a run and changes nothing. UNKNOWN_RUN.
	Check(ctx context.Context, key Key) ([]Problem, error)
	// Repair ends a run before its first damaged record, or after the version upTo
	// unless that is 0. What it takes away is kept. UNKNOWN_RUN.
	Repair(ctx context.Context, key Key, upTo int) (Repaired, error)
	// Quarantine removes an artifact that was changed, and says where it is kept; "" where
	// nothing is.
	Quarantine(ctx context.Context, digest string) (kept string, err error)
	// DeleteAt is Delete of a run that is still at a version: STATE_CONFLICT.
	DeleteAt(ctx context.Context, key Key, version int) error
	// Undelete brings back the run of this name that was deleted last.
	// STATE_CONFLICT if a run of the name exists, UNKNOWN_RUN if none was deleted.
	Undelete(ctx context.Context, key Key) error
	// Trash lists what was deleted, the newest first; GCTrash erases one item.
	Trash(ctx context.Context) ([]Trashed, error)
	GCTrash(ctx context.Context, item Trashed) error
	// FinishMoves finishes what a killed process left half done, and returns the
	// runs of which it was.
	FinishMoves(ctx context.Context) ([]Key, error)
	// GCArtifacts removes the artifacts older than grace that nothing names.
	GCArtifacts(ctx context.Context, grace time.Duration, dry bool) (Collected, error)
	// Adopt makes a run of records that were sealed elsewhere, all or none.
	Adopt(ctx context.Context, key Key, records []Record) error
	// Imported returns the version up to which the records of a run were made
	// elsewhere, or 0; MarkImported notes it.
	Imported(ctx context.Context, key Key) (version int, err error)
	MarkImported(ctx context.Context, key Key, last Link) error
}

// Backend is a store with all that the program asks of one: a folder (Dir) or a
// database.
type Backend interface {
	Storage
	Receipts
	Maintenance
	// Close lets go of the store. What was acknowledged is durable already.
	Close() error
}

// Filter selects runs; an empty field matches all.
type Filter struct{ Workflow, Run string }
