package state

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"path"

	"savant/fault"
	"savant/internal/atomicfile"
	"savant/internal/jsonvalue"
)

// replaceJournal atomically and durably replaces the journal that the caller holds.
// Processes with the old file open detect the replacement by the file's identity.
func (d *Dir) replaceJournal(j *runJournal, source io.Reader) error {
	if err := d.replaceFrom(j.name, source, atomicfile.Durable); err != nil {
		return err
	}
	j.closeAndInvalidate()
	return nil
}

// Adopt atomically creates a run from records that were sealed elsewhere, and marks it as
// imported. A run with exactly these records is unchanged. STATE_CONFLICT if it has others;
// STATE_CORRUPT if the records are not a chain of this run.
func (d *Dir) Adopt(ctx context.Context, key Key, records []Record) error {
	size := 0
	last, err := visitLines(key, records, func(line []byte) { size += len(line) + 1 })
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
		if err := d.trashRemains(key); err != nil {
			return err
		}
		if err := d.MarkImported(ctx, key, last); err != nil {
			return err
		}
		data := make([]byte, 0, size)
		if _, err := visitLines(key, records, func(line []byte) { data = append(append(data, line...), '\n') }); err != nil {
			return err
		}
		return d.replaceJournal(j, bytes.NewReader(data))
	})
}

func importName(key Key) string { return path.Join(importFolder, key.Workflow, key.Run+jsonSuffix) }

// MarkImported records that the records of a run up to a link were imported: their
// witnesses and approvals were not verified here. The mark names exactly these records,
// so it does not apply to another run with the same name.
func (d *Dir) MarkImported(ctx context.Context, key Key, last Link) error {
	if err := key.Validate(); err != nil {
		return err
	}
	name := importName(key)
	if ctx.Err() != nil {
		return interrupted(ctx, name)
	}
	data, err := jsonvalue.Encode(last)
	if err != nil {
		return fault.New(fault.Internal, "encoding the note of an import: %w", err)
	}
	if err := d.ensureFolder(path.Dir(name)); err != nil {
		return err
	}
	return d.replace(name, append(data, '\n'), atomicfile.Durable)
}

// markOrigin marks the records of a run that were not written in this folder, before the
// first that is: they came with a clone or a copy of it.
func (d *Dir) markOrigin(ctx context.Context, j *runJournal) error {
	if !j.here && !d.writtenHere(j.key, j.verified.hashOf(1)) {
		if err := d.MarkImported(ctx, j.key, j.verified.link()); err != nil {
			return err
		}
	}
	j.here = true
	return nil
}

// writtenHere reports whether the second place of a run with a first record was written in
// this folder.
func (d *Dir) writtenHere(key Key, first string) bool {
	found, known := readHeadOf(d.disk, key)
	return known && found.here && found.first == first
}

// Imported returns the version up to which the records of a run were imported, or came with
// the folder; 0 for a run of this folder.
func (d *Dir) Imported(ctx context.Context, key Key) (version int, err error) {
	if err := key.Validate(); err != nil {
		return 0, err
	}
	here := false
	err = d.with(ctx, key, reading, func(j *runJournal) error {
		version, here = len(j.verified.chain), d.writtenHere(key, j.verified.hashOf(1))
		return nil
	})
	switch {
	case errors.Is(err, fault.UnknownRun):
		return 0, nil
	case err != nil || !here:
		return version, err
	}
	data, err := readAll(d.disk, importName(key))
	if missing(err) {
		return 0, nil
	}
	if err != nil {
		return 0, notRead(importName(key), err)
	}
	var last Link
	if json.Unmarshal(data, &last) != nil || last.Version < 1 {
		return 0, corruptRecord(importName(key), 1, "is not a note of an import")
	}
	return StillThere(ctx, d, key, last)
}

// StillThere returns the version of a record, 0 if it is of an earlier run of the name.
func StillThere(ctx context.Context, journal Journal, key Key, last Link) (version int, err error) {
	records, err := journal.Records(ctx, key, last.Version-1, 1)
	if err != nil && !errors.Is(err, fault.UnknownRun) {
		return 0, err
	}
	if len(records) == 0 || records[0].Hash != last.Hash {
		return 0, nil
	}
	return last.Version, nil
}
