package state

import (
	"errors"
	"io"

	"savant/internal/journal"
)

// chain is the verified records of a journal, oldest first, as far as finding
// and linking them needs.
type chain []point

// point is one record: its hash, and where its line ends, in bytes.
type point struct {
	hash string
	end  int64
}

// link returns what the next record has to follow.
func (c chain) link() Link { return Link{len(c), c.hashOf(len(c))} }

// hashOf returns the hash of the record of a version, "" if there is none.
func (c chain) hashOf(version int) string {
	if version < 1 || version > len(c) {
		return ""
	}
	return c[version-1].hash
}

// end returns where the records end. What the file has beyond is torn.
func (c chain) end() int64 { return c.endOf(len(c)) }

// endOf returns where the record of a version ends, 0 for version 0.
func (c chain) endOf(version int) int64 {
	if version < 1 {
		return 0
	}
	return c[version-1].end
}

// standsFor reports whether a snapshot stands for a record of the chain.
func (c chain) standsFor(snapshot Snapshot) bool {
	return snapshot.Record != "" && c.hashOf(snapshot.Version) == snapshot.Record
}

// scanner reads a journal up to size bytes.
type scanner struct {
	name string
	key  Key
	file io.ReaderAt
	size int64
	// visit gets each record after it was verified, in order, and may keep the
	// line; nil to only verify.
	visit func(link Link, line []byte) error
}

// scan verifies the records that follow a record whose line ends at an offset,
// and returns them. With an error it returns those before the damage. A torn
// record at the end is left out.
func (s scanner) scan(last Link, offset int64) ([]point, error) {
	if offset == 0 {
		if err := s.checkFormat(); err != nil {
			return nil, err
		}
	}
	var found []point
	var failed error
	at := offset
	err := journal.Read(s.file, offset, s.size, isWhole, func(line []byte) error {
		var link Link
		if link, failed = check(s.name, s.key, last, line); failed != nil {
			return failed
		}
		if s.visit != nil {
			if failed = s.visit(link, line); failed != nil {
				return failed
			}
		}
		last, at = link, at+int64(len(line))+1
		found = append(found, point{link.Hash, at})
		return nil
	})
	switch {
	case err == nil || failed != nil:
		return found, failed
	case errors.Is(err, journal.ErrNoNewline):
		return found, corruptRecord(s.name, last.Version+1, err.Error())
	default:
		return found, notRead(s.name, err)
	}
}

// checkFormat refuses a journal of a newer format, whose lines may be unlike
// those of this one.
func (s scanner) checkFormat() error {
	start, err := readRange(s.file, 0, min(s.size, headLength))
	if err != nil {
		return notRead(s.name, err)
	}
	if format := headOf(start).Format; format > Format {
		return newer(s.name, format)
	}
	return nil
}
