package state

import (
	"bytes"
	"encoding/json"
)

// records returns the records after a version. The caller holds the journal.
func (j *journal) records(after int) ([]Record, error) {
	records := []Record{}
	err := j.replay(after, func(link Link, line []byte) error {
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
	for _, around := range [][]byte{append(bytes.Clone(line[:start]), '}'), append([]byte{'{'}, line[end+1:]...)} {
		if err := json.Unmarshal(around, &record); err != nil {
			return Record{}, err
		}
	}
	record.Data = line[start+len(dataField) : end : end]
	return record, nil
}

// replay visits the records after a version. The chain is verified from there
// to the tip, which proves that it is the one verified before.
func (j *journal) replay(after int, visit func(Link, []byte) error) error {
	s := scanner{name: j.name, key: j.key, file: j.file, size: j.tip.end}
	s.visit = func(link Link, line []byte) error {
		if link.Version <= after {
			return nil
		}
		return visit(link, line)
	}
	found, err := s.scan(j.tip.before(after))
	if err != nil {
		return err
	}
	if found.Link != j.tip.Link {
		return corruptRecord(j.name, j.tip.Version, "is not the one that was verified")
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
	err = j.replay(version-1, func(link Link, _ []byte) error {
		if link.Version == version {
			hash = link.Hash
		}
		return nil
	})
	return hash, err
}
