package state

import (
	"context"
	"errors"

	"savant/fault"
)

// Problem is one thing that is wrong with the files of a run.
type Problem struct {
	// File is relative to SAVANT_PATH.
	File string `json:"file"`
	// Message says what is wrong, and of the journal in which record.
	Message string `json:"message"`
	// Blocking is set for what keeps the run from going on. The rest are
	// projections that are passed over.
	Blocking bool `json:"blocking"`
}

// Check verifies all files of a run, each record from the first on, and returns
// what is wrong. It changes nothing. UNKNOWN_RUN if the run has no file.
func (d *Dir) Check(ctx context.Context, key Key) ([]Problem, error) {
	problems := []Problem{}
	err := d.with(ctx, key, replaying, func(j *runJournal) error {
		return j.replay(0, 0, func(Link, []byte) error { return nil })
	})
	if errors.Is(err, fault.UnknownRun) && d.orphan(key) {
		err = corrupt(journalName(key), "has no record, though other files of the run are there")
	}
	if isCorrupt(err) {
		// Without the journal the other files cannot be checked.
		return append(problems, problemOf(journalName(key), err, true)), nil
	}
	if err != nil {
		return nil, err
	}
	if _, err := d.Load(ctx, key, ""); isCorrupt(err) {
		problems = append(problems, problemOf(journalName(key), err, true))
	} else {
		problems = append(problems, d.checkReadable(ctx, key)...)
	}
	names, err := d.checkpointNames(key)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if err := d.checkSnapshot(ctx, checkpointName(key, name), key); err != nil {
			problems = append(problems, problemOf(checkpointName(key, name), err, false))
		}
	}
	return problems, nil
}

// checkReadable checks the readable file of a run, and that of its workflow if it
// is of this run or does not say of which.
func (d *Dir) checkReadable(ctx context.Context, key Key) []Problem {
	var problems []Problem
	if err := d.checkSnapshot(ctx, snapshotName(key), key); err != nil && !missing(err) {
		problems = append(problems, problemOf(snapshotName(key), err, false))
	}
	latest := latestName(key.Workflow)
	if !d.isLatest(key) {
		return problems
	}
	// Another run may have become the latest meanwhile.
	if err := d.checkSnapshot(ctx, latest, key); err != nil && !missing(err) && d.isLatest(key) {
		problems = append(problems, problemOf(latest, err, false))
	}
	return problems
}

// isLatest says whether the readable file of a workflow's latest run is this
// run's, or does not say whose it is.
func (d *Dir) isLatest(key Key) bool {
	head, err := readHead(d.disk, latestName(key.Workflow))
	return err == nil && (head.Run == key.Run || head.Run == "")
}

func (d *Dir) checkSnapshot(ctx context.Context, name string, key Key) error {
	found, err := readSnapshot(d.disk, name, key)
	if err != nil {
		return err
	}
	return d.with(ctx, key, reading, func(j *runJournal) error {
		if !j.verified.standsFor(found) {
			return notARecord(key, found)
		}
		return nil
	})
}

func problemOf(file string, err error, blocking bool) Problem {
	return Problem{File: file, Message: fault.From(err).Message(), Blocking: blocking}
}
