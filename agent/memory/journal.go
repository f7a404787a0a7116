package memory

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"savant/fault"
	"savant/internal/journal"
	"savant/internal/jsonvalue"
	"savant/internal/ownfolder"
)

// Record is one line of a journal. Its writer defines the content of Data.
type Record struct {
	// Number counts from 1 without gaps.
	Number int    `json:"n"`
	Kind   string `json:"kind"`
	Time   string `json:"time"`
	// By is the name of who ordered what is recorded, Claims what the client calls itself.
	By     string          `json:"by,omitempty"`
	Claims string          `json:"by_claims,omitempty"`
	Data   json.RawMessage `json:"data"`
}

// A line ends in the CRC-32 (IEEE) of the bytes before it, which detects torn writes.
const (
	sumStart = `,"crc":"`
	sumSize  = len(sumStart) + 8 + len(`"}`)
)

// Line returns the line of a record, without its newline.
func (r Record) Line() ([]byte, error) {
	data, err := jsonvalue.Encode(r)
	if err != nil {
		return nil, err
	}
	body := data[:len(data)-1] // without the closing brace
	sum := crc32.ChecksumIEEE(body)
	return fmt.Appendf(body, `%s%08x"}`, sumStart, sum), nil
}

// isWhole reports whether a line matches its checksum.
func isWhole(line []byte) bool {
	body := line[:max(0, len(line)-sumSize)]
	return string(line[len(body):]) == fmt.Sprintf(`%s%08x"}`, sumStart, crc32.ChecksumIEEE(body))
}

// ReadLine decodes a line without its newline, and checks that the record has the given
// number.
func ReadLine(line []byte, number int) (Record, error) {
	if !isWhole(line) {
		return Record{}, fmt.Errorf("record %d is damaged", number)
	}
	var r Record
	if err := json.Unmarshal(line, &r); err != nil {
		return Record{}, fmt.Errorf("record %d: %w", number, err)
	}
	if r.Number != number {
		return Record{}, fmt.Errorf("record %d is where record %d is expected", r.Number, number)
	}
	return r, nil
}

// Damaged is STATE_CORRUPT of a session's journal: the damage, its place, and what to
// do. A journal cannot be repaired, because no other file has its decisions.
func Damaged(id string, cause error) *fault.Error {
	return fault.New(fault.StateCorrupt, "%s: %w; the file is kept as it is, and the run cannot go on:", journalName(id), cause).
		Hinted(fault.Hint{Call: "agent.list", Text: "shows its goal, for a new run; " + snapshotName(id) + " shows what it had done"})
}

// readJournal returns the records of a journal whose line has a text, and the byte offsets
// where the last line begins and ends. A torn last line is dropped; other damage to what is
// returned is STATE_CORRUPT.
func readJournal(id string, file io.ReaderAt, size int64, text string) (records []Record, last, end int64, err error) {
	var failed error
	number, part := 0, []byte(text)
	err = journal.Read(file, 0, size, isWhole, func(line []byte) error {
		number++
		last, end = end, end+int64(len(line))+1
		if !bytes.Contains(line, part) {
			return nil
		}
		record, err := ReadLine(line, number)
		if err != nil {
			failed = err
			return err
		}
		records = append(records, record)
		return nil
	})
	switch {
	case err == nil:
		return records, last, end, nil
	case failed != nil || errors.Is(err, journal.ErrNoNewline):
		return nil, 0, 0, Damaged(id, err)
	}
	return nil, 0, 0, ownfolder.NotRead(journalName(id), err)
}
