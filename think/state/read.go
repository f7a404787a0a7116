package state

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
)

// records returns at most limit records after a version, all of them where it
// is not positive. The caller holds the journal.
func (j *journal) records(after, limit int) ([]Record, error) {
	records := []Record{}
	err := j.replay(after, limit, func(link Link, line []byte) error {
		record, err := recordOf(line)
		if err != nil {
			return corruptRecord(j.name, link.Version, "is not JSON")
		}
		records = append(records, record)
		return nil
	})
	return records, err
}

// recordOf reads a verified line, whose fields stand where encode puts them. It
// goes around Data, which is most of a line and was JSON when it was sealed:
// that makes opening a long run four times as fast. Data shares the line's
// bytes.
func recordOf(line []byte) (Record, error) {
	var record Record
	start, end := bytes.Index(line, []byte(dataField)), bytes.LastIndex(line, []byte(stateField))
	if start < 0 || end < start {
		return record, json.Unmarshal(line, &record)
	}
	head := append(bytes.Clone(line[:start]), '}')
	if err := json.Unmarshal(head, &record); err != nil {
		return Record{}, err
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
