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
	// Message describes the problem, with the record for a journal.
	Message string `json:"message"`
	// Blocking reports that the run cannot continue with the problem. Other problems
	// concern projections, which are ignored.
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
		err = corrupt(journalName(key), "has no record, although other files of the run exist")
	}
	if isCorrupt(err) {
		// Without the journal the other files cannot be checked.
		return append(problems, problemOf(journalName(key), err, true)), nil
	}
	if err != nil {
		return nil, err
	}
	files, err := d.snapshotFiles(key)
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		err := d.checkSnapshot(ctx, file.name, key)
		if err == nil || missing(err) || file.keep == keptLatest && !d.isLatest(key) {
			continue // or another run has become the latest
		}
		problems = append(problems, problemOf(file.name, err, false))
	}
	return problems, nil
}

// checkSnapshot checks one file under the journal's lock, so that no step replaces it
// meanwhile.
func (d *Dir) checkSnapshot(ctx context.Context, name string, key Key) error {
	return d.with(ctx, key, reading, func(j *runJournal) error {
		found, err := readSnapshot(d.disk, name, key)
		if err == nil && !j.verified.standsFor(found) {
			err = notARecord(key, found)
		}
		return err
	})
}

func problemOf(file string, err error, blocking bool) Problem {
	return Problem{File: file, Message: fault.From(err).Message(), Blocking: blocking}
}
