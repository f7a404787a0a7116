package state

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
)

// records returns at most limit records after a version, all of them where it
// is not positive. The caller holds the journal.
func (j *journal) records(after, limit int) ([]Record, error) {
	found := records{name: j.name, list: []Record{}}
	err := j.replay(after, limit, found.add)
	return found.list, err
}

// records collects what a scan visits.
type records struct {
	name string
	list []Record
}

func (r *records) add(link Link, line []byte) error {
	record, err := recordOf(line)
	if err != nil {
		return corruptRecord(r.name, link.Version, "is not JSON")
	}
	r.list = append(r.list, record)
	return nil
}

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

// replay visits at most limit records after a version, all of them where it is
// not positive. The chain is verified from there on; at the tip that proves
// that it is the one verified before.
func (j *journal) replay(after, limit int, visit func(Link, []byte) error) error {
	last := j.tip.Version
	after = min(max(after, 0), last)
	if limit > 0 {
		last = min(after+limit, last)
	}
	until, _ := j.tip.upTo(last)
	s := scanner{name: j.name, key: j.key, file: j.file, size: until.end, visit: visit}
	found, err := s.scan(j.tip.upTo(after))
	if err != nil {
		return err
	}
	if found.Version != last || last == j.tip.Version && found.Link != j.tip.Link {
		return corruptRecord(j.name, last, "is not the one that was verified")
	}
	return nil
}

// hashOf returns the hash of the record of a version, "" when there is none.
// The caller holds the journal.
func (j *journal) hashOf(version int) (hash string, err error) {
	if version == j.tip.Version {
		return j.tip.Hash, nil
	}
	if version < 1 || version > j.tip.Version {
		return "", nil
	}
	err = j.replay(version-1, 1, func(link Link, _ []byte) error {
		hash = link.Hash
		return nil
	})
	return hash, err
}
