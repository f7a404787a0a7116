// Package state is the durable record of runs. A run is a journal: a chain of
// hashed records, each on disk before it is acknowledged. Everything else (the
// readable snapshot, listings) is a projection that can be made again from it.
//
// The package knows nothing of workflows. What a record or a state means is
// the engine's, which replays records through its pure core.
package state

import (
	"encoding/json"
	"strings"

	"savant/fault"
)

// Format is the version of the file formats this package writes. A newer one
// is refused, never rewritten.
const Format = 1

// Key names a run.
type Key struct{ Workflow, Run string }

// String returns "workflow/run", for messages.
func (k Key) String() string { return k.Workflow + "/" + k.Run }

// Validate returns INVALID_PARAMS unless both names are safe as file names: 1
// to 128 of A-Z a-z 0-9 _ . - with a letter or digit first, and no ending that
// the store gives to its own files.
func (k Key) Validate() error {
	if err := validateName("workflow", k.Workflow); err != nil {
		return err
	}
	return validateName("run_id", k.Run)
}

// isName reports whether a text is 1 to 128 of A-Z a-z 0-9 _ . - with a letter or digit
// first. Every step asks it several times.
func isName(text string) bool {
	for i := range len(text) {
		switch c := text[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		case i > 0 && (c == '_' || c == '.' || c == '-'):
		default:
			return false
		}
	}
	return text != "" && len(text) <= 128
}

func validateName(what, name string) error {
	if !isName(name) {
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
	// Format, Workflow and Run are set by the store in the first record only. They bind
	// the journal to its run.
	Format   int    `json:"format,omitempty"`
	Workflow string `json:"workflow,omitempty"`
	Run      string `json:"run,omitempty"`
	// Version counts records: 1, 2, 3 …
	Version int `json:"version"`
	// Kind is the engine's word: "plan", "result", "person", "reset" …
	// It matches [a-z][a-z0-9_.-]{0,63}.
	Kind string `json:"kind"`
	// Time is RFC 3339 in UTC; the store sets it when it is empty.
	Time string `json:"time"`
	// Status is the run's status after this record, what List shows:
	// "running", "done" … in the alphabet of Kind, or empty.
	Status string `json:"status,omitempty"`
	// Data is the engine's JSON. The store preserves its bytes except white space between
	// tokens.
	Data json.RawMessage `json:"data"`
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
	// Record is the Hash of the snapshot's journal record.
	Record string `json:"record"`
	// Time is RFC 3339 in UTC.
	Time string `json:"time"`
	// State is the engine's JSON.
	State json.RawMessage `json:"state"`
	// Digest is the hex SHA-256 of State's bytes without white space between
	// tokens: how the store knows an edited file.
	Digest string `json:"digest"`
	// NotLatest says that another run of the workflow has moved since.
	NotLatest bool `json:"-"`
	// Lazy says that Save need not wait for the disk with a readable snapshot:
	// a crash of the machine may damage it.
	Lazy bool `json:"-"`
}

// Info is one line of a listing. Times are RFC 3339 in UTC.
type Info struct {
	Workflow string `json:"workflow"`
	Run      string `json:"run_id"`
	// Status is the status of the last record, or StatusDamaged.
	Status  string `json:"status"`
	Version int    `json:"version"`
	Created string `json:"created"`
	Updated string `json:"updated"`
}

// Key names the run.
func (i Info) Key() Key { return Key{i.Workflow, i.Run} }

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
