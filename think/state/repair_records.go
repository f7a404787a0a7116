package state

import (
	"errors"
	"io"

	"savant/internal/journal"
)

// foundRecords is the readable records of a possibly damaged journal.
type foundRecords struct {
	// chain has the complete records before the damage.
	chain
	// damage is the reason why the rest is not part of the chain; nil if the chain is
	// the whole file, except for a torn record.
	damage error
	// beyond are records after the chain that are intact by themselves, by version.
	beyond map[int]Record
	// lines counts the lines after the chain, whole or not.
	lines int
}

// findRecords reads the records of a journal from the first up to the damage,
// and up to a version unless that is 0. An error is no damage: nothing may be repaired.
func findRecords(name string, key Key, text io.ReaderAt, size int64, upTo int) (found foundRecords, err error) {
	s := scanner{name: name, key: key, file: text, size: size}
	s.visit = func(link Link, _ []byte) error {
		if upTo > 0 && link.Version > upTo {
			return errEnough
		}
		return nil
	}
	found.chain, found.damage = s.scan(Link{}, 0)
	switch {
	case found.damage == nil:
		return found, nil
	case isNewer(found.damage), !isCorrupt(found.damage) && !errors.Is(found.damage, errEnough):
		return found, found.damage
	}
	if err = found.readBeyond(text, size); errors.Is(err, journal.ErrNoNewline) || errors.Is(err, journal.ErrLongLine) {
		return found, nil
	}
	if err != nil {
		return found, notRead(name, err)
	}
	return found, nil
}

// errEnough ends a scan at the version that the caller asked for.
var errEnough = errors.New("enough")

// maxBeyond bounds what is kept of the lines after the chain, in bytes.
const maxBeyond = 16 << 20

// readBeyond reads the lines after the chain individually, to report what is lost with
// them.
func (f *foundRecords) readBeyond(text io.ReaderAt, size int64) error {
	f.beyond = map[int]Record{}
	held := 0
	return journal.Read(text, f.end(), size, isWhole, func(line []byte) error {
		f.lines++
		if !isWhole(line) || len(f.beyond) >= maxLost {
			return nil
		}
		record := ReadHead(line)
		if held += len(line); held <= maxBeyond {
			record, _ = recordOf(line)
		}
		f.beyond[record.Version] = record
		return nil
	})
}
