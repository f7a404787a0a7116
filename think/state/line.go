package state

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"strconv"
	"strings"

	"savant/internal/jsonvalue"
)

// The line of a record is its JSON, which ends in its hash: that of all the
// bytes before, closed by a brace. These are the last fields of a line.
const (
	prevField = `,"prev":"`
	hashField = `,"hash":"`
	lineEnd   = `"}`
)

// The data of a record, and none. No text before it has this: quotes in texts are escaped.
const (
	dataField = `,"data":`
	noData    = dataField + "null"
)

const hashLength = 2 * sha256.Size // in hexadecimal digits

// encode returns a record as its line has it, and the line without its newline. The hash covers
// every byte, so one record must always encode the same.
func encode(record Record) (Record, []byte, error) {
	if len(record.Data) == 0 {
		record.Data = []byte("null")
	}
	compact, err := jsonvalue.Compact(record.Data)
	if err != nil {
		return Record{}, nil, err
	}
	record.Data, record.Hash = nil, ""
	text, err := jsonvalue.Encode(record)
	if err != nil {
		return Record{}, nil, err
	}
	// The data is put in as it is: encoding it within the record would read it once more.
	before, after, ok := bytes.Cut(text, []byte(noData))
	after, ended := bytes.CutSuffix(after, []byte(hashField+lineEnd))
	if !ok || !ended {
		return Record{}, nil, errors.New("a record does not end in its hash")
	}
	line := slices.Concat(before, []byte(dataField), compact, after)
	record.Data, record.Hash = compact, digestOf(line, "}")
	return record, append(line, hashField+record.Hash+lineEnd...), nil
}

// ReadLine returns the record of a line, without its newline, verified as the one of
// key after last. name is for messages. STATE_CORRUPT.
func ReadLine(name string, key Key, last Link, line []byte) (Record, error) {
	if format := headOf(line).Format; format > Format {
		return Record{}, newer(name, format)
	}
	if _, err := check(name, key, last, line); err != nil {
		return Record{}, err
	}
	record, err := recordOf(line)
	if err != nil {
		return Record{}, corruptRecord(name, last.Version+1, "is not JSON")
	}
	return record, nil
}

// ReadHead returns the fields of a line before its data, and its hash. Nothing is
// verified.
func ReadHead(line []byte) Record {
	head := headOf(line)
	_, head.Hash, _ = split(line)
	return head
}

// recordOf reads a verified line. Data shares the line's bytes.
func recordOf(line []byte) (Record, error) {
	var record Record
	for name, value := range jsonvalue.Members(line) {
		if name == "data" {
			record.Data = value
		} else {
			record.set(name, value)
		}
	}
	if record.Hash == "" {
		return Record{}, errors.New("the record has no hash")
	}
	return record, nil
}

// headLength is enough for the fields of a record before its data, in bytes:
// all are bounded, the two names (128 bytes each) being the longest.
const headLength = 1024

// headOf returns the fields of a record before its data, or of a snapshot before its
// state. The text may be truncated anywhere; missing fields are zero. Nothing is
// verified.
func headOf(text []byte) Record {
	var head Record
	for name, value := range jsonvalue.Members(text[:min(len(text), headLength)], "data", "state") {
		head.set(name, value)
	}
	return head
}

// set fills in a field from its JSON; others are passed over.
func (r *Record) set(field string, value []byte) {
	switch field {
	case "format":
		r.Format, _ = strconv.Atoi(string(value))
	case "version":
		r.Version, _ = strconv.Atoi(string(value))
	case "workflow":
		r.Workflow = jsonvalue.Text(value)
	case "run":
		r.Run = jsonvalue.Text(value)
	case "kind":
		r.Kind = jsonvalue.Text(value)
	case "time":
		r.Time = jsonvalue.Text(value)
	case "status":
		r.Status = jsonvalue.Text(value)
	case "state":
		r.State = jsonvalue.Text(value)
	case "prev":
		r.Prev = jsonvalue.Text(value)
	case "hash":
		r.Hash = jsonvalue.Text(value)
	}
}

// check verifies the line of a record, without its newline, as the one of key
// after last, and returns the link it makes. Since the hash covers every byte,
// nothing but the head has to be parsed. name is for messages.
func check(name string, key Key, last Link, line []byte) (Link, error) {
	number, head := last.Version+1, headOf(line)
	if number == 1 {
		if err := checkBinding(name, key, head); err != nil {
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
	want := Record{Version: number}
	if number == 1 {
		want = Record{Format: Format, Workflow: key.Workflow, Run: key.Run, Version: 1}
	}
	got := Record{Format: head.Format, Workflow: head.Workflow, Run: head.Run, Version: head.Version}
	if got.Version != want.Version || got.Format != want.Format || got.Workflow != want.Workflow || got.Run != want.Run ||
		!strings.HasSuffix(string(body[max(0, len(body)-len(prevField)-hashLength-1):]), prevField+last.Hash+`"`) {
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

// isWhole reports whether a line matches the hash that it carries.
func isWhole(line []byte) bool {
	body, hash, ok := split(line)
	return ok && digestOf(body, "}") == hash
}

// split returns the part of a line that its hash covers, without the last brace, and
// the hash.
func split(line []byte) (body []byte, hash string, ok bool) {
	end := len(line) - len(hashField) - hashLength - len(lineEnd)
	if end < 1 || !bytes.HasPrefix(line[end:], []byte(hashField)) || !bytes.HasSuffix(line, []byte(lineEnd)) {
		return nil, "", false
	}
	return line[:end], string(line[end+len(hashField) : len(line)-len(lineEnd)]), true
}

// digestOf returns the hex SHA-256 of data followed by more.
func digestOf(data []byte, more string) string {
	hasher := sha256.New()
	hasher.Write(data)
	hasher.Write([]byte(more))
	return hex.EncodeToString(hasher.Sum(nil))
}
