package memory

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"

	"savant/fault"
	"savant/internal/jsonvalue"
)

// Copied says what Copy did.
type Copied struct {
	// Runs counts the sessions examined. All but the Failed ones are now in both stores:
	// New were created, Same were already identical.
	Runs int `json:"runs"`
	New  int `json:"new"`
	Same int `json:"same"`
	// Records and Outputs count what was written.
	Records int `json:"records"`
	Outputs int `json:"outputs"`
	// Failed are the sessions that were not copied completely.
	Failed []CopyFailure `json:"failed"`
}

// CopyFailure is a session and why it was not copied.
type CopyFailure struct {
	Run   string       `json:"run_id"`
	Error *fault.Error `json:"error"`
}

// Copy copies all listed sessions, or the one of an id, between two stores and verifies
// each copy. Records are identical byte for byte, and existing ones are not written again.
// A running session, or one that diverged in the other store, is a failure with
// STATE_CONFLICT. Copy itself fails only if a store is unusable.
func Copy(ctx context.Context, from, to *Store, id string) (Copied, error) {
	out := Copied{Failed: []CopyFailure{}}
	list, err := from.List(ctx)
	for _, each := range list {
		if id != "" && each.SessionID != id {
			continue
		}
		if ctx.Err() != nil {
			return out, context.Cause(ctx)
		}
		out.Runs++
		err := out.session(ctx, from, to, each.SessionID)
		if errors.Is(err, fault.StateNotSaved) {
			return out, err
		}
		if err != nil {
			out.Failed = append(out.Failed, CopyFailure{each.SessionID, fault.From(err)})
		}
	}
	return out, err
}

// session copies one session.
func (c *Copied) session(ctx context.Context, from, to *Store, id string) error {
	if from.Running(id) || to.Running(id) {
		return fault.New(fault.StateConflict, "run %s is running: copy it when it has ended", id)
	}
	records, err := from.Records(id)
	if err != nil {
		return err
	}
	journal, present, err := to.Adopt(id)
	if err != nil {
		return err
	}
	outputs := c.Outputs
	err = c.add(ctx, from, to, journal, id, records, present)
	if err := errors.Join(err, journal.Close()); err != nil {
		return err
	}
	switch {
	case len(present) == 0:
		c.New++
	case len(present) == len(records) && c.Outputs == outputs:
		c.Same++
	}
	return verify(ctx, from, to, id, records)
}

// add writes what is missing: outputs before the records that name them.
func (c *Copied) add(ctx context.Context, from, to *Store, journal Journal, id string, records, present []Record) error {
	for i := range min(len(present), len(records)) {
		if !sameLine(present[i], records[i]) {
			return fault.New(fault.StateConflict, "run %s has different records in the two stores after record %d: nothing was copied", id, i)
		}
	}
	if len(present) > len(records) {
		return fault.New(fault.StateConflict, "run %s has %d records there and %d here: copy it the other way", id, len(present), len(records))
	}
	if err := c.addOutputs(ctx, from, to, journal, id); err != nil {
		return err
	}
	for _, each := range records[len(present):] {
		if err := journal.Append(each, Durable); err != nil {
			return err
		}
		c.Records++
	}
	data, err := from.Snapshot(id)
	if err != nil {
		return err
	}
	var snapshot Snapshot
	if err := json.Unmarshal(data, &snapshot); err != nil {
		return fault.New(fault.StateCorrupt, "the snapshot of run %s: %w", id, err)
	}
	if there, err := to.Snapshot(id); err == nil && bytes.Equal(there, data) {
		return nil
	}
	return journal.WriteSnapshot(snapshot, data)
}

func (c *Copied) addOutputs(ctx context.Context, from, to *Store, journal Journal, id string) error {
	digests, err := from.Outputs(ctx, id)
	if err != nil {
		return err
	}
	for _, digest := range digests {
		if to.Has(id, digest) {
			continue
		}
		output, err := from.Output(id, digest)
		if err != nil {
			return err
		}
		if _, err := journal.SaveOutput(digest, output, Durable); err != nil {
			return err
		}
		c.Outputs++
	}
	return nil
}

// Has reports whether the store has an output with the right digest.
func (s *Store) Has(id, digest string) bool {
	output, err := s.Output(id, digest)
	return err == nil && jsonvalue.HexSum(output) == digest
}

// verify reads a session back.
func verify(ctx context.Context, from, to *Store, id string, records []Record) error {
	there, err := to.Records(id)
	if err != nil {
		return err
	}
	if len(there) < len(records) || !sameLine(there[len(records)-1], records[len(records)-1]) {
		return fault.New(fault.StateCorrupt, "run %s is not the same after it was copied: %d records, expected %d", id, len(there), len(records))
	}
	digests, err := from.Outputs(ctx, id)
	if err != nil {
		return err
	}
	for _, digest := range digests {
		if !to.Has(id, digest) {
			return fault.New(fault.StateCorrupt, "the output %s of run %s is not the same after it was copied", digest, id)
		}
	}
	return nil
}

// sameLine says whether two records have the same line.
func sameLine(a, b Record) bool {
	one, err := a.Line()
	other, failed := b.Line()
	return err == nil && failed == nil && bytes.Equal(one, other)
}
