package state

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"time"

	"savant/fault"
)

// Link is the end of a chain: what the next record has to follow. The zero
// Link is the end of an empty one.
type Link struct {
	Version int
	Hash    string
}

// maxRecord bounds the line of one record, in bytes: the largest message the
// server reads. Large values belong into artifacts long before.
const maxRecord = 64 << 20

const hashLength = 2 * sha256.Size // in hexadecimal digits

// The fixed parts of a line, as encode writes them.
const (
	formatField = `{"format":`
	dataField   = `,"data":`
	stateField  = `,"state":"`
	prevField   = `,"prev":"`
	hashField   = `,"hash":"`
	lineEnd     = `"}`
)

// word is what isWord allows, for messages.
const word = `[a-z][a-z0-9_.-]{0,63}`

// Seal completes a record as the one after last: Prev, Hash, the time when it
// is empty, the binding to the run when it is the first. STATE_CONFLICT when
// its Version does not follow; INVALID_PARAMS, LIMIT_EXCEEDED for its content.
func Seal(key Key, last Link, record Record, now time.Time) (Record, error) {
	sealed, _, err := seal(key, last, record, now)
	return sealed, err
}

// Verify returns STATE_CORRUPT unless the record is one that Seal made for key
// as the one after last.
func Verify(key Key, last Link, record Record) error {
	again, line, err := encode(record)
	if err != nil || again.Hash != record.Hash {
		return corruptRecord(key.String(), last.Version+1, "does not match its hash")
	}
	_, err = check(key.String(), key, last, line[:len(line)-1])
	return err
}

// seal also returns the line of the record, with its newline.
func seal(key Key, last Link, record Record, now time.Time) (Record, []byte, error) {
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
	record, line, err := encode(record)
	if err != nil {
		return Record{}, nil, fault.New(fault.InvalidParams, "the data of a record is not JSON: %w", err)
	}
	if len(line) > maxRecord {
		return Record{}, nil, fault.New(fault.LimitExceeded, "a record of %d bytes is over %d", len(line), maxRecord)
	}
	return record, line, nil
}

func validateRecord(record Record) error {
	if !isWord(record.Kind) {
		return fault.New(fault.InvalidParams, "the kind %q of a record does not match %s", fault.Cut(record.Kind, 100), word)
	}
	if record.Status != "" && !isWord(record.Status) {
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

func isWord(text string) bool {
	if text == "" || len(text) > 64 || text[0] < 'a' || text[0] > 'z' {
		return false
	}
	for i := range len(text) {
		c := text[i]
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '_' && c != '.' && c != '-' {
			return false
		}
	}
	return true
}

// isHash allows any short text that stands in JSON as it is.
func isHash(text string) bool {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return len(text) <= 256
}

// encode writes the line of a record and returns the record as the line has it.
// The fields are written by hand, so that Data keeps its bytes (encoding/json
// would escape them for HTML) and is gone over only once: marshalling is what
// makes a large record slow.
func encode(record Record) (Record, []byte, error) {
	line := bytes.NewBuffer(make([]byte, 0, len(record.Data)+512))
	line.WriteString(opening(record))
	line.WriteString(`,"kind":` + quote(record.Kind) + `,"time":` + quote(record.Time))
	if record.Status != "" {
		line.WriteString(`,"status":` + quote(record.Status))
	}
	line.WriteString(dataField)
	start := line.Len()
	switch {
	case len(record.Data) == 0:
		line.WriteString("null")
	case record.Encoded:
		line.Write(record.Data)
	default:
		if err := json.Compact(line, record.Data); err != nil {
			return Record{}, nil, err
		}
	}
	record.Data, record.Encoded = line.Bytes()[start:line.Len():line.Len()], false
	line.WriteString(`,"state":` + quote(record.State) + prevField + record.Prev + `"}`)
	sum := sha256.Sum256(line.Bytes())
	record.Hash = hex.EncodeToString(sum[:])
	line.Truncate(line.Len() - 1)
	line.WriteString(hashField + record.Hash + lineEnd + "\n")
	return record, line.Bytes(), nil
}

// opening is how the line of a record begins, up to its version.
func opening(record Record) string {
	version := `"version":` + strconv.Itoa(record.Version)
	if record.Version != 1 {
		return `{` + version
	}
	return formatField + strconv.Itoa(record.Format) + `,"workflow":` + quote(record.Workflow) +
		`,"run":` + quote(record.Run) + `,` + version
}

// quote makes a JSON string of a text that needs no escapes: names, words,
// times and hashes were all validated.
func quote(text string) string { return `"` + text + `"` }

// check verifies the line of a record, without its newline, as the one of key
// after last, and returns the link it makes. Every byte counts for the hash,
// so that nothing else of the line has to be parsed. name is for messages.
func check(name string, key Key, last Link, line []byte) (Link, error) {
	number := last.Version + 1
	if number == 1 {
		if err := checkBinding(name, key, headOf(line)); err != nil {
			return Link{}, err
		}
	}
	body, hash, ok := split(line)
	if !ok {
		return Link{}, corruptRecord(name, number, "is not a whole record")
	}
	if digestOf(body, "}") != hash {
		return Link{}, corruptRecord(name, number, "does not match its hash")
	}
	start := opening(Record{Version: number, Format: Format, Workflow: key.Workflow, Run: key.Run}) + ","
	if !bytes.HasPrefix(line, []byte(start)) || prevOf(body) != last.Hash {
		return Link{}, corruptRecord(name, number, "does not follow the one before it")
	}
	return Link{number, hash}, nil
}

// checkBinding refuses a journal of a newer format or of another run, by the
// head of its first record.
func checkBinding(name string, key Key, first Record) error {
	if first.Format > Format {
		return newer(name, first.Format)
	}
	if bound := (Key{first.Workflow, first.Run}); bound != key && bound != (Key{}) {
		return corrupt(name, "record 1 belongs to the run %s; the file is kept as it is", bound)
	}
	return nil
}

// split returns what of a line its hash is taken of, but for the last brace,
// and the hash.
func split(line []byte) (body []byte, hash string, ok bool) {
	end := len(line) - len(hashField) - hashLength - len(lineEnd)
	if end < 1 || !bytes.HasPrefix(line[end:], []byte(hashField)) || !bytes.HasSuffix(line, []byte(lineEnd)) {
		return nil, "", false
	}
	return line[:end], string(line[end+len(hashField) : len(line)-len(lineEnd)]), true
}

// prevOf returns the hash of the record before that a body names.
func prevOf(body []byte) string {
	tail := body[max(0, len(body)-len(prevField)-hashLength-1):]
	start := bytes.LastIndex(tail, []byte(prevField))
	if start < 0 {
		return "none" // no hash, so that it equals none
	}
	return string(tail[start+len(prevField) : len(tail)-1])
}

// digestOf returns the hex SHA-256 of data followed by more.
func digestOf(data []byte, more string) string {
	hasher := sha256.New()
	hasher.Write(data)
	hasher.Write([]byte(more))
	return hex.EncodeToString(hasher.Sum(nil))
}
