// Package state is the durable record of runs. A run is a journal: a chain of
// hashed records, each on disk before it is acknowledged. Everything else (the
// readable snapshot, listings) is a projection that can be made again from it.
//
// The package knows nothing of workflows. What a record or a state means is
// the engine's, which replays records through its pure core.
package state

import (
	"context"
	"encoding/json"
	"io"
	"strings"

	"savant/fault"
	"savant/internal/pattern"
)

// Format is the version of the file formats this package writes. A newer one
// is refused, never rewritten.
const Format = 1

// Key names a run.
type Key struct{ Workflow, Run string }

// String returns "workflow/run", for messages.
func (k Key) String() string { return k.Workflow + "/" + k.Run }

var namePattern = pattern.Lazy(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$`)

// Validate returns INVALID_PARAMS unless both names are safe as file names: 1
// to 128 of A-Z a-z 0-9 _ . - with a letter or digit first, and no ending that
// the store gives to its own files.
func (k Key) Validate() error {
	if err := validateName("workflow", k.Workflow); err != nil {
		return err
	}
	return validateName("run_id", k.Run)
}

func validateName(what, name string) error {
	if !namePattern().MatchString(name) {
		return fault.New(fault.InvalidParams,
			"%s %q: use 1 to 128 letters, digits, '_', '.' or '-', a letter or digit first", what, fault.Cut(name, 200))
	}
	if strings.HasSuffix(name, journalSuffix) || strings.HasSuffix(name, jsonSuffix) {
		return fault.New(fault.InvalidParams, "%s %q must not end in %s or %s", what, name, journalSuffix, jsonSuffix)
	}
	return nil
}

// Record is one line of a journal. Version 1 is the plan; each record names
// the hash of the one before it, so a chain cannot be changed in the middle.
type Record struct {
	// Format, Workflow and Run stand in the first record only, set by the
	// store: they bind the journal to its run.
	Format   int    `json:"format,omitempty"`
	Workflow string `json:"workflow,omitempty"`
	Run      string `json:"run,omitempty"`
	// Version counts records: 1, 2, 3 …
	Version int `json:"version"`
	// Kind is the engine's word: "plan", "result", "approval", "reset" …
	// It matches [a-z][a-z0-9_.-]{0,63}.
	Kind string `json:"kind"`
	// Time is RFC 3339 in UTC; the store sets it when it is empty.
	Time string `json:"time"`
	// Status is the run's status after this record, what List shows:
	// "running", "done" … in the alphabet of Kind, or empty.
	Status string `json:"status,omitempty"`
	// Data is the engine's JSON. The store keeps its bytes but for white
	// space between tokens.
	Data json.RawMessage `json:"data"`
	// Encoded says that Data was just made by an encoder: valid, with no
	// white space between tokens. It spares going over it once more.
	Encoded bool `json:"-"`
	// State is the engine's hash of the run's state after this record.
	State string `json:"state"`
	// Prev is the Hash of the record before, "" in the first; set by the store.
	Prev string `json:"prev"`
	// Hash is the hex SHA-256 of the line without this field; set by the store.
	Hash string `json:"hash"`
}

// Snapshot is the whole state of a run after one of its records, readable.
type Snapshot struct {
	// Format, Workflow, Run and Digest are set by the store; Time too when
	// it is empty.
	Format   int    `json:"format"`
	Workflow string `json:"workflow"`
	Run      string `json:"run"`
	Version  int    `json:"version"`
	Status   string `json:"status"`
	// Hash is the engine's hash of State.
	Hash string `json:"hash"`
	// Record is the Hash of the journal record the snapshot stands for.
	Record string `json:"record"`
	// Time is RFC 3339 in UTC.
	Time string `json:"time"`
	// State is the engine's JSON.
	State json.RawMessage `json:"state"`
	// Digest is the hex SHA-256 of State's bytes without white space between
	// tokens: how the store knows an edited file.
	Digest string `json:"digest"`
	// WriteState, where it is set, writes the State that is to be kept: valid
	// JSON without white space, in parts, the same whenever it is called.
	WriteState func(io.Writer) error `json:"-"`
	// Passed says that another run of the workflow has moved since: a
	// projection leaves the file of the latest run alone.
	Passed bool `json:"-"`
}

// Info is one line of a listing. Times are RFC 3339 in UTC.
type Info struct {
	Workflow string `json:"workflow"`
	Run      string `json:"run"`
	// Status is that of the last record, or StatusDamaged.
	Status  string `json:"status"`
	Version int    `json:"version"`
	Created string `json:"created"`
	Updated string `json:"updated"`
}

// StatusDamaged is shown for a run whose journal cannot be read.
const StatusDamaged = "damaged"

// CheckpointInfo describes a named checkpoint. Hash is the engine's hash of
// the state it holds.
type CheckpointInfo struct {
	Name    string `json:"name"`
	Version int    `json:"version"`
	Time    string `json:"time"`
	Hash    string `json:"hash"`
}

// Store keeps runs. All methods may be called at once, by several processes
// too. Every method returns INVALID_PARAMS for a name that is not allowed,
// STATE_NOT_SAVED when the disk refuses (what was acknowledged before stays
// intact, and work goes on when the cause is gone), STATE_CORRUPT naming file
// and record for damage, and INTERNAL wrapping the context's error when it
// ended while waiting. Slices passed and returned belong to their receiver.
type Store interface {
	// Create begins a run with its first record (Version 1) and returns it
	// complete. It is durable on return. STATE_CONFLICT when the run exists.
	Create(ctx context.Context, key Key, first Record) (Record, error)
	// Append adds the next record and returns it complete, durable. Version
	// must follow the last: STATE_CONFLICT otherwise. UNKNOWN_RUN.
	Append(ctx context.Context, key Key, next Record) (Record, error)
	// Records returns the records after a version, oldest first, at most
	// limit of them where that is positive, their chain verified. One record
	// costs the same in a long run as in a short one. UNKNOWN_RUN.
	Records(ctx context.Context, key Key, after, limit int) ([]Record, error)
	// Head returns version and hash of the last record; cheap enough to ask
	// at every step whether another process has moved on. UNKNOWN_RUN.
	Head(ctx context.Context, key Key) (version int, hash string, err error)
	// Snapshot returns the projected snapshot, which may be behind the
	// journal, and the zero Snapshot where there is none that belongs to the
	// journal. UNKNOWN_RUN; STATE_CORRUPT when the journal ends before it.
	Snapshot(ctx context.Context, key Key) (Snapshot, error)
	// Project replaces the readable snapshot of the run and, unless it is
	// Passed, that of the workflow's latest run. Version and Record must name a record of the
	// journal: STATE_CONFLICT otherwise. A snapshot older than one this
	// store projected before is passed over. UNKNOWN_RUN, also where the run
	// is deleted meanwhile, of which nothing comes back.
	Project(ctx context.Context, key Key, snapshot Snapshot, durable bool) error
	// Checkpoint keeps a snapshot under a name, durable; one of that name is
	// replaced. Version and Record as in Project. UNKNOWN_RUN.
	Checkpoint(ctx context.Context, key Key, name string, snapshot Snapshot) error
	// Checkpoints lists the readable named checkpoints by version. UNKNOWN_RUN.
	Checkpoints(ctx context.Context, key Key) ([]CheckpointInfo, error)
	// Restore returns a named checkpoint. CHECKPOINT_NOT_FOUND, UNKNOWN_RUN;
	// STATE_CORRUPT when it was changed or is not of this run.
	Restore(ctx context.Context, key Key, name string) (Snapshot, error)
	// Find returns the runs of an id, by workflow. What it costs depends on
	// the number of workflows, not of runs.
	Find(ctx context.Context, run string) ([]Key, error)
	// List returns the runs of a workflow, or of all when it is empty, the
	// last changed first.
	List(ctx context.Context, workflow string) ([]Info, error)
	// Delete moves a run to the trash; nothing is erased. UNKNOWN_RUN.
	Delete(ctx context.Context, key Key) error
	// Undelete brings back the run of this name that was deleted last.
	// STATE_CONFLICT when a run of the name exists, UNKNOWN_RUN when none
	// was deleted.
	Undelete(ctx context.Context, key Key) error
	// PutArtifact keeps a value under its hex SHA-256, durable, once.
	PutArtifact(ctx context.Context, data []byte) (digest string, err error)
	// Artifact returns the value of a digest, verified: STATE_CORRUPT when
	// it is missing or changed.
	Artifact(ctx context.Context, digest string) ([]byte, error)
	// Close lets go of files; what was acknowledged is durable already.
	Close() error
}
