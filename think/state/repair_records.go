package state

import (
	"bytes"
	"encoding/json"
	"errors"
)

// foundRecords is the readable records of a possibly damaged journal.
type foundRecords struct {
	// chain has the complete records before the damage.
	chain
	// damage is the reason why the rest is not part of the chain; nil if the chain is
	// the whole file, except for a torn record.
	damage error
	// beyond are the records after the chain that are intact by themselves.
	beyond []Record
	// lines counts the lines after the chain, whole or not.
	lines int
}

// findRecords reads the records of a journal from the first up to the damage,
// and up to a version unless that is 0.
func findRecords(name string, key Key, text []byte, upTo int) foundRecords {
	s := scanner{name: name, key: key, file: bytes.NewReader(text), size: int64(len(text))}
	s.visit = func(link Link, _ []byte) error {
		if upTo > 0 && link.Version > upTo {
			return errEnough
		}
		return nil
	}
	var found foundRecords
	found.chain, found.damage = s.scan(Link{}, 0)
	if found.damage != nil {
		found.readBeyond(text[found.end():])
	}
	return found
}

// errEnough ends a scan at the version that the caller asked for.
var errEnough = errors.New("enough")

// readBeyond reads the lines after the chain individually, to report what is lost with
// them.
func (f *foundRecords) readBeyond(text []byte) {
	for line := range bytes.Lines(text) {
		line, ended := bytes.CutSuffix(line, []byte("\n"))
		if !ended {
			continue // a torn record that was not acknowledged
		}
		f.lines++
		var record Record
		if isWhole(line) && json.Unmarshal(line, &record) == nil {
			f.beyond = append(f.beyond, record)
		}
	}
}
