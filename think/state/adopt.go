package state

import (
	"context"

	"savant/fault"
	"savant/internal/atomicfile"
)

// replaceJournal puts a whole new journal in the place of the file that the
// caller holds: at once and durable, or not at all. Others that have the old
// file open see by its identity that it is no longer the journal.
func (d *Dir) replaceJournal(j *runJournal, data []byte) error {
	if err := d.replace(j.name, data, atomicfile.Durable); err != nil {
		return err
	}
	j.forget()
	return nil
}

// Adopt makes a run of records that were sealed elsewhere: all of them, or none
// when anything fails. A run that has exactly these records stays as it is.
// STATE_CONFLICT when it has others; STATE_CORRUPT when the records are not a
// chain of this run.
func (d *Dir) Adopt(ctx context.Context, key Key, records []Record) error {
	if err := key.Validate(); err != nil {
		return err
	}
	last, data, err := journalOf(key, records)
	if err != nil {
		return err
	}
	if err := d.ensureFolder(runsFolder(key.Workflow)); err != nil {
		return err
	}
	return d.with(ctx, key, creating, func(j *runJournal) error {
		if j.verified.link() == last {
			return nil
		}
		if version := len(j.verified.chain); version > 0 {
			return runExists(key, version)
		}
		if err := d.trashLeftovers(key); err != nil {
			return err
		}
		return d.replaceJournal(j, data)
	})
}

// journalOf returns the journal that holds the records, verified, and its end.
func journalOf(key Key, records []Record) (last Link, data []byte, err error) {
	for _, record := range records {
		if err := Verify(key, last, record); err != nil {
			return Link{}, nil, err
		}
		_, line, err := encode(record)
		if err != nil {
			return Link{}, nil, corruptRecord(key.String(), record.Version, "does not encode")
		}
		data = append(data, line...)
		last = Link{record.Version, record.Hash}
	}
	if len(records) == 0 {
		return Link{}, nil, fault.New(fault.InvalidParams, "a run has at least one record")
	}
	return last, data, nil
}
