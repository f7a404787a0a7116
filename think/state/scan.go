package state

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// sector is the unit in which a crash may have kept or lost what was written,
// in bytes; disks with larger ones lose multiples of it.
const sector = 512

// chain is what a journal holds up to a point, verified.
type chain struct {
	Link
	// last is where the last record begins and end where it ends, in bytes.
	// What the file holds beyond is torn.
	last, end int64
	// starts are the offsets of the records, so that reading one back does
	// not go over others.
	starts []int64
}

// add extends the chain by a record whose line has the given length.
func (c *chain) add(link Link, length int) {
	c.starts = append(c.starts, c.end)
	c.Link, c.last = link, c.end
	c.end += int64(length)
}

// upTo returns the point of the chain after a version. Its hash is not known:
// it is what the next record says.
func (c *chain) upTo(version int) (at chain, hashKnown bool) {
	switch {
	case version <= 0:
		return chain{}, true
	case version >= c.Version:
		return *c, true
	}
	return chain{Link: Link{Version: version}, end: c.starts[version]}, false
}

// scanner reads a journal of size bytes from a point of its chain on.
type scanner struct {
	name string
	key  Key
	file io.ReaderAt
	size int64
	// visit is told of each record, verified, in order; it may keep line.
	visit func(link Link, line []byte) error
}

// scan verifies the records after from and returns the chain with them. A torn
// record at the end is left out. With hashKnown false the hash of from is
// taken from the first record.
func (s *scanner) scan(from chain, hashKnown bool) (chain, error) {
	rest := s.size - from.end
	reader := bufio.NewReaderSize(io.NewSectionReader(s.file, from.end, rest), int(min(rest+1, 256<<10)))
	for {
		line, err := reader.ReadBytes('\n')
		if len(line) == 0 && errors.Is(err, io.EOF) {
			return from, nil
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return chain{}, notRead(s.name, err)
		}
		if torn, err := s.torn(from, line); torn || err != nil {
			return from, err
		}
		line = line[:len(line)-1]
		if body, _, ok := split(line); ok && !hashKnown {
			from.Hash, hashKnown = prevOf(body), true
		}
		link, err := check(s.name, s.key, from.Link, line)
		if err != nil {
			return chain{}, err
		}
		from.add(link, len(line)+1)
		if err := s.visit(link, line); err != nil {
			return chain{}, err
		}
	}
}

// torn reports whether a line is what a crash left of a record that was never
// acknowledged. That is a last line which ends early, or in which whole
// sectors are zero because they did not reach the disk before the others. A
// last line changed in any other way is damage.
func (s *scanner) torn(at chain, line []byte) (bool, error) {
	if at.end+int64(len(line)) < s.size {
		return false, nil
	}
	if at.Version == 0 && formatOf(line) > Format {
		return false, checkBinding(s.name, s.key, line)
	}
	if line[len(line)-1] == '\n' {
		return holed(line, at.end), nil
	}
	if body, hash, ok := split(line[:len(line)-1]); ok && digestOf(body, "}") == hash {
		return false, corruptRecord(s.name, at.Version+1, "does not end in a newline")
	}
	return true, nil
}

// holed reports whether a line at an offset of the file has zeroes, and only
// such as fill it from a sector's start, or its own, to a sector's end.
func holed(line []byte, offset int64) bool {
	found := false
	for i := bytes.IndexByte(line, 0); i >= 0 && i < len(line); {
		end := i
		for end < len(line) && line[end] == 0 {
			end++
		}
		if (i > 0 && (offset+int64(i))%sector != 0) || (offset+int64(end))%sector != 0 {
			return false
		}
		found = true
		next := bytes.IndexByte(line[end:], 0)
		if next < 0 {
			break
		}
		i = end + next
	}
	return found
}
