package state

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
)

// recordOf reads a verified line, whose fields stand where encode puts them. It
// goes around Data, which is most of a line and was JSON when it was sealed:
// that makes opening a long run four times as fast. Data shares the line's
// bytes.
func recordOf(line []byte) (Record, error) {
	start, end := bytes.Index(line, []byte(dataField)), stateAt(line)
	if start < 0 || end < start {
		var record Record
		return record, json.Unmarshal(line, &record)
	}
	record, ok := beginningOf(line[:start])
	if !ok {
		record = Record{}
		if err := json.Unmarshal(append(bytes.Clone(line[:start]), '}'), &record); err != nil {
			return Record{}, err
		}
	}
	body, hash, ok := split(line)
	state, prev, fits := strings.Cut(string(body[min(end+len(stateField), len(body)):]), prevField)
	if !ok || !fits || len(prev) == 0 {
		return Record{}, errors.New("state, prev and hash are not where they belong")
	}
	record.State, record.Prev, record.Hash = strings.TrimSuffix(state, `"`), strings.TrimSuffix(prev, `"`), hash
	record.Data = line[start+len(dataField) : end : end]
	return record, nil
}

// stateAt returns where the state field of a line begins, or -1: in its last
// bytes, since what follows the data is bounded.
func stateAt(line []byte) int {
	const behindData = len(stateField) + 256 + len(prevField) + hashLength + len(hashField) + hashLength + len(lineEnd)
	from := max(0, len(line)-behindData-1)
	at := bytes.LastIndex(line[from:], []byte(stateField))
	if at < 0 {
		return -1
	}
	return from + at
}

// beginningOf reads what stands before the data of any record but the first:
// three short texts without escapes, for which a decoder takes longer than all
// else of opening a run. ok is false where it is not that.
func beginningOf(head []byte) (record Record, ok bool) {
	rest, ok := bytes.CutPrefix(head, []byte(`{"version":`))
	number, rest, found := bytes.Cut(rest, []byte(","))
	record.Version, _ = strconv.Atoi(string(number))
	if !ok || !found || record.Version < 1 {
		return Record{}, false
	}
	record.Kind, rest = textOf(rest, `"kind":"`)
	record.Time, rest = textOf(rest, `,"time":"`)
	if len(rest) > 0 {
		record.Status, rest = textOf(rest, `,"status":"`)
	}
	return record, len(rest) == 0 && record.Kind != "" && record.Time != "" && bytes.IndexByte(head, '\\') < 0
}

// textOf returns a text field that comes first, and what follows it; both are
// empty and nil where it is not there.
func textOf(head []byte, field string) (string, []byte) {
	value, ok := bytes.CutPrefix(head, []byte(field))
	end := bytes.IndexByte(value, '"')
	if !ok || end < 0 {
		return "", nil
	}
	return string(value[:end]), value[end+1:]
}
