package state

import "context"

// Store keeps runs. All methods may be called at once, by several processes
// too. Every method returns INVALID_PARAMS for a name that is not allowed,
// STATE_NOT_SAVED when the disk refuses (what was acknowledged before stays
// intact, and work goes on when the cause is gone), STATE_CORRUPT naming file
// and record for damage, and INTERNAL wrapping the context's error when it
// ended while waiting. Slices passed and returned belong to their receiver.
//
// A database can implement it with unique inserts alone: a record under
// (workflow, run, version), a checkpoint under (workflow, run, name, number). The
// package statetest holds every Store to this contract.
type Store interface {
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
	Store
	Artifacts
}

// Filter selects runs; an empty field matches all.
type Filter struct{ Workflow, Run string }
