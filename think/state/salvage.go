package state

import (
	"bytes"
	"encoding/json"
	"errors"
)

// salvage is what a damaged journal still holds.
type salvage struct {
	chain
	// good are the bytes of the whole records before the damage, those of the
	// file up to the end of the chain.
	good []byte
	// hashes are those of the whole records, by version from 1.
	hashes []string
	// damage is why the rest is not part of the chain; nil when all of the
	// file is, or all but a torn record.
	damage error
	// beyond are the records after the chain that are whole by themselves.
	beyond []Record
	// lines counts the lines after the chain, read or not.
	lines int
}

// salvageFrom reads the records of a journal from the first up to the damage,
// and up to a version unless that is 0.
func salvageFrom(name string, key Key, text []byte, upTo int) salvage {
	var found salvage
	s := scanner{name: name, key: key, file: bytes.NewReader(text), size: int64(len(text))}
	s.visit = func(link Link, line []byte) error {
		if upTo > 0 && link.Version > upTo {
			return errEnough
		}
		found.add(link, len(line)+1)
		found.hashes = append(found.hashes, link.Hash)
		return nil
	}
	if _, err := s.scan(chain{}, true); err != nil {
		found.damage = err
		found.readBeyond(text[found.end:])
	}
	found.good = text[:found.end]
	return found
}

// errEnough ends a scan where the caller has what it wants.
var errEnough = errors.New("enough")

// readBeyond reads the lines after the chain each by itself: their contents
// tell what is lost with them.
func (s *salvage) readBeyond(text []byte) {
	for line := range bytes.Lines(text) {
		line, whole := bytes.CutSuffix(line, []byte("\n"))
		if !whole {
			continue // a torn record that nobody was told of
		}
		s.lines++
		body, hash, ok := split(line)
		var record Record
		if ok && digestOf(body, "}") == hash && json.Unmarshal(line, &record) == nil {
			s.beyond = append(s.beyond, record)
		}
	}
}

// standsFor reports whether a snapshot stands for a record of the chain.
func (s *salvage) standsFor(snapshot Snapshot) bool {
	return snapshot.Version >= 1 && snapshot.Version <= len(s.hashes) && s.hashes[snapshot.Version-1] == snapshot.Record
}
