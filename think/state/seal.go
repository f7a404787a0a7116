package state

import (
	"time"

	"savant/fault"
	"savant/internal/journal"
	"savant/internal/pattern"
)

// Link is the end of a chain: what the next record has to follow. The zero
// Link is the end of an empty one.
type Link struct {
	Version int
	Hash    string
}

// maxRecord bounds the line of one record, in bytes: the largest message the
// server reads. Large values belong into artifacts long before.
const maxRecord = journal.MaxLine

// word is the pattern of a kind or a status.
const word = `[a-z][a-z0-9_.-]{0,63}`

var wordPattern = pattern.Lazy(`^` + word + `$`)

// Seal completes a record as the one after last: Prev, Hash, the time when it
// is empty, the binding to the run when it is the first. STATE_CONFLICT when
// its Version does not follow; INVALID_PARAMS, LIMIT_EXCEEDED for its content. line is
// the record in the journal, without its newline.
func Seal(key Key, last Link, record Record, now time.Time) (sealed Record, line []byte, err error) {
	if record.Version != last.Version+1 {
		return Record{}, nil, fault.New(fault.StateConflict,
			"expected version v%d, found v%d", record.Version-1, last.Version)
	}
	record.Format, record.Workflow, record.Run = 0, "", ""
	if record.Version == 1 {
		record.Format, record.Workflow, record.Run = Format, key.Workflow, key.Run
	}
	if record.Time == "" {
		record.Time = now.UTC().Format(time.RFC3339Nano)
	}
	record.Prev, record.Hash = last.Hash, ""
	if err := validateRecord(record); err != nil {
		return Record{}, nil, err
	}
	record, line, err = encode(record)
	if err != nil {
		return Record{}, nil, fault.New(fault.InvalidParams, "the data of a record is not JSON: %w", err)
	}
	if len(line) > maxRecord {
		return Record{}, nil, fault.New(fault.LimitExceeded, "a record has %d bytes; at most %d are allowed", len(line), maxRecord)
	}
	return record, line, nil
}

// Lines returns the lines of all records of a run, without newlines, and the end of their
// chain. STATE_CORRUPT unless they are those that Seal made for it, INVALID_PARAMS for none.
func Lines(key Key, records []Record) (lines [][]byte, last Link, err error) {
	last, err = visitLines(key, records, func(line []byte) { lines = append(lines, line) })
	return lines, last, err
}

// visitLines visits the line of each record before it makes that of the next.
func visitLines(key Key, records []Record, visit func(line []byte)) (last Link, err error) {
	if err := key.Validate(); err != nil {
		return last, err
	}
	for _, record := range records {
		again, line, err := encode(record)
		if err != nil || again.Hash != record.Hash {
			return last, corruptRecord(key.String(), last.Version+1, "does not match its hash")
		}
		if last, err = check(key.String(), key, last, line); err != nil {
			return last, err
		}
		visit(line)
	}
	if len(records) == 0 {
		return last, fault.New(fault.InvalidParams, "a run has at least one record")
	}
	return last, nil
}

func validateRecord(record Record) error {
	if !wordPattern().MatchString(record.Kind) {
		return fault.New(fault.InvalidParams, "the kind %q of a record does not match %s", fault.Cut(record.Kind, 100), word)
	}
	if record.Status != "" && !wordPattern().MatchString(record.Status) {
		return fault.New(fault.InvalidParams, "the status %q of a record does not match %s", fault.Cut(record.Status, 100), word)
	}
	if !isHash(record.State) {
		return fault.New(fault.InvalidParams, "the state hash of a record is not printable ASCII of at most 256")
	}
	if _, err := time.Parse(time.RFC3339, record.Time); err != nil {
		return fault.New(fault.InvalidParams, "the time %q of a record is not RFC 3339", fault.Cut(record.Time, 100))
	}
	return nil
}

// isHash allows any short text that needs no escapes in JSON.
func isHash(text string) bool {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return len(text) <= 256
}
