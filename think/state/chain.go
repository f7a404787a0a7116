package state

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path"

	"savant/internal/journal"
)

// chain is the verified records of a journal, oldest first, as far as finding
// and linking them needs.
type chain []recordEnd

// recordEnd is one record: its hash, and where its line ends, in bytes.
type recordEnd struct {
	hash string
	end  int64
}

// link returns what the next record must follow.
func (c chain) link() Link { return Link{len(c), c.hashOf(len(c))} }

// hashOf returns the hash of a version's record, or "".
func (c chain) hashOf(version int) string {
	if version < 1 || version > len(c) {
		return ""
	}
	return c[version-1].hash
}

// end returns the offset at which the records end. Anything after it is a torn write.
func (c chain) end() int64 { return c.endOf(len(c)) }

// endOf returns where the record of a version ends, 0 for version 0.
func (c chain) endOf(version int) int64 {
	if version < 1 {
		return 0
	}
	return c[version-1].end
}

// standsFor reports whether a snapshot refers to a record of the chain.
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

// scan verifies the records that follow a record whose line ends at an offset, and
// returns them. With an error it returns those before the damage. A torn write at the
// end is dropped.
func (s scanner) scan(last Link, offset int64) ([]recordEnd, error) {
	if offset == 0 {
		if err := s.checkFormat(); err != nil {
			return nil, err
		}
	}
	var found []recordEnd
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
		found = append(found, recordEnd{link.Hash, at})
		return nil
	})
	switch {
	case err == nil || failed != nil:
		return found, failed
	case errors.Is(err, journal.ErrNoNewline), errors.Is(err, journal.ErrLongLine):
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

// Mark is the last record read from a journal; reading continues after it.
type Mark struct {
	Version int    `json:"version"`
	Hash    string `json:"hash"`
	// State is the engine's hash of the run's state after the record.
	State string `json:"state"`
	// Start and End are where the record's line is, in bytes.
	Start int64 `json:"start"`
	End   int64 `json:"end"`
}

// Reader reads journals without locks or writes, for observers that must not wait. It
// may miss a record that is being appended, or see it before it is durable.
type Reader struct{ disk disk }

// OpenReader returns a reader of the folder SAVANT_PATH, which must exist.
func OpenReader(savantPath string) (*Reader, error) {
	target, err := openDisk(savantPath)
	if err != nil {
		return nil, notRead("SAVANT_PATH", err)
	}
	return &Reader{target}, nil
}

// Close ends the reader.
func (r *Reader) Close() error { return r.disk.Close() }

// Find returns the runs of an id, in every workflow.
func (r *Reader) Find(run string) ([]Key, error) {
	if err := validateName("run_id", run); err != nil {
		return nil, err
	}
	folders, err := namesIn(r.disk, stateFolder)
	if err != nil && !missing(err) {
		return nil, notRead(stateFolder, err)
	}
	var found []Key
	for _, workflow := range folders {
		key := Key{workflow, run}
		if key.Validate() != nil {
			continue
		}
		if _, err := r.disk.Stat(journalName(key)); err == nil {
			found = append(found, key)
		}
	}
	return found, nil
}

// After returns the verified records after a mark, and the mark of the last one. If the
// journal no longer has the mark, because it was repaired or recreated, whole is true
// and the records are all of the journal. UNKNOWN_RUN, STATE_CORRUPT.
func (r *Reader) After(key Key, mark Mark) (records []Record, last Mark, whole bool, err error) {
	if err := key.Validate(); err != nil {
		return nil, Mark{}, false, err
	}
	name := journalName(key)
	opened, info, err := openFile(r.disk, name, os.O_RDONLY)
	if missing(err) {
		return nil, Mark{}, false, unknownRun(key)
	}
	if err != nil {
		return nil, Mark{}, false, notRead(name, err)
	}
	defer func() { _ = opened.Close() }() // only read
	if !mark.matches(opened, info.size) {
		mark = Mark{}
	}
	whole, last = mark == Mark{}, mark
	_, err = scanner{name, key, opened, info.size, func(link Link, line []byte) error {
		record, err := recordOf(line)
		if err != nil {
			return corruptRecord(name, link.Version, "is not JSON")
		}
		records = append(records, record)
		last = Mark{link.Version, link.Hash, record.State, last.End, last.End + int64(len(line)) + 1}
		return nil
	}}.scan(Link{mark.Version, mark.Hash}, mark.End)
	if err == nil && last.Version == 0 {
		err = unknownRun(key) // a journal without a record does not count as a run
	}
	return records, last, whole, err
}

// matches reports whether a journal has the record of a mark where it was.
func (m Mark) matches(journal io.ReaderAt, size int64) bool {
	if m.Version < 1 || m.Start < 0 || m.End <= m.Start+1 || m.End > size {
		return false
	}
	line, err := readRange(journal, m.Start, m.End)
	content, ended := bytes.CutSuffix(line, []byte("\n"))
	if err != nil || int64(len(line)) != m.End-m.Start || !ended {
		return false
	}
	_, hash, ok := split(content)
	return ok && hash == m.Hash && isWhole(content)
}

// head is the end of a run's journal as it stands in a second place, a file of its own:
// so a journal that lost its last records is not taken for a shorter one. It is written
// after the journal has reached the disk and before the record is acknowledged, without a
// sync of its own: after a crash of the machine it may be behind the journal, never ahead.
type head struct {
	last Link
	// first is the hash of the first record: the file of an earlier run of the name
	// says nothing.
	first string
	// home is the identity of the file that has it: what came with a clone or a copy of the
	// folder names another.
	home string
	here bool // home is that of the file it was read from
}

// line returns the file's content: for one file always of the same length, and with a hash of its own,
// so that one that was half overwritten counts as none.
func (h head) line() []byte {
	line := fmt.Appendf(nil, "%010d %s %s %s ", h.last.Version, h.last.Hash, h.first, h.home)
	return append(line, digestOf(line, "")+"\n"...)
}

func headName(key Key) string { return path.Join(headFolder, key.Workflow, key.Run) }

// noteHead writes the end of the journal to its second place. A failure leaves an older
// end there, which is true too.
func (j *runJournal) noteHead() {
	if j.head == nil && !j.openHead() {
		return
	}
	last := j.verified.link()
	_, _ = j.head.WriteAt(head{last: last, first: j.verified.hashOf(1), home: j.home}.line(), 0)
}

func (j *runJournal) openHead() bool {
	open := func() (err error) {
		j.head, err = j.disk.Open(headName(j.key), os.O_RDWR|os.O_CREATE)
		return err
	}
	err := open()
	if missing(err) {
		_ = j.disk.Mkdir(headFolder) // another process may have made it: the second open decides
		_ = j.disk.Mkdir(path.Dir(headName(j.key)))
		err = open()
	}
	if err != nil {
		j.head = nil
		return false
	}
	j.home = j.head.Identity()
	if found, known := readHeadOf(j.disk, j.key); !known || !found.here {
		_ = j.head.Truncate(0) // a line of another length may be there
	}
	return true
}

// readHeadOf returns what stands in the second place of a run; false for nothing that can
// be read.
func readHeadOf(target disk, key Key) (found head, ok bool) {
	opened, info, err := openFile(target, headName(key), os.O_RDONLY)
	if err != nil {
		return found, false
	}
	defer func() { _ = opened.Close() }() // only read
	text, err := readRange(opened, 0, min(info.size, maxHead))
	if err != nil {
		return found, false
	}
	if _, err := fmt.Sscanf(string(text), "%d %s %s %s", &found.last.Version, &found.last.Hash, &found.first, &found.home); err != nil {
		return found, false
	}
	found.here = found.home == opened.Identity()
	return found, bytes.Equal(text, found.line())
}

// maxHead is longer than any second place: a folder may bring a larger file.
const maxHead = 1 << 10

// cut returns STATE_CORRUPT if a chain lacks the record that its second place names.
func (h head) cut(name string, key Key, found chain) error {
	switch {
	case found.hashOf(1) != h.first || found.hashOf(h.last.Version) == h.last.Hash:
		return nil
	case h.last.Version > len(found):
		return corrupt(name, "ends after record %d, but %s stands for record %d", len(found), headName(key), h.last.Version)
	}
	return corruptRecord(name, h.last.Version, "is not the one that "+headName(key)+" stands for")
}

// dropHead removes the second place of a run that is moved, or whose journal is repaired.
func dropHead(target disk, key Key) { _ = target.Remove(headName(key)) }
