package memory

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/crc32"

	"savant/fault"
)

// Record is one line of a journal. What Data holds is decided by its writer.
type Record struct {
	// Number counts from 1 without gaps.
	Number int             `json:"n"`
	Kind   string          `json:"kind"`
	Time   string          `json:"time"`
	Data   json.RawMessage `json:"data"`
}

// A line ends in the CRC-32 (IEEE) of what is before it, so that a line torn
// by a crash is known from one that is whole.
const (
	sumStart = `,"crc":"`
	sumSize  = len(sumStart) + 8 + len(`"}`)
)

func (r Record) line() ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(r); err != nil {
		return nil, err
	}
	body := bytes.TrimSuffix(out.Bytes(), []byte("}\n"))
	sum := crc32.ChecksumIEEE(body)
	return fmt.Appendf(body, `%s%08x"}`+"\n", sumStart, sum), nil
}

// readLine returns the record of a line without its end.
func readLine(line []byte, number int) (Record, error) {
	body := line[:max(0, len(line)-sumSize)]
	expected := fmt.Sprintf(`%s%08x"}`, sumStart, crc32.ChecksumIEEE(body))
	if string(line[len(body):]) != expected {
		return Record{}, fmt.Errorf("record %d is damaged", number)
	}
	var r Record
	if err := json.Unmarshal(line, &r); err != nil {
		return Record{}, fmt.Errorf("record %d: %w", number, err)
	}
	if r.Number != number {
		return Record{}, fmt.Errorf("record %d stands where %d is expected", r.Number, number)
	}
	return r, nil
}

// Damaged is STATE_CORRUPT of a session's journal: what is wrong with it, where,
// and what to do. Nothing makes a journal whole again, since what was decided is
// in no other file.
func Damaged(id string, cause error) *fault.Error {
	return fault.New(fault.StateCorrupt, "%s: %w; the file is kept as it is, and the run cannot go on:", journalName(id), cause).
		Hinted(fault.Hint{Call: "agent.list", Text: "shows its goal, for a new run, and " + snapshotName(id) + " what it had done"})
}

// readJournal returns the records and how many bytes they take. A last line
// that is torn was never acted on and is left out; other damage is
// STATE_CORRUPT.
func readJournal(id string, data []byte) (records []Record, whole int64, err error) {
	for len(data) > 0 {
		line, rest, ended := bytes.Cut(data, []byte("\n"))
		record, err := readLine(line, len(records)+1)
		if err != nil && len(rest) == 0 {
			break
		}
		if err != nil {
			return nil, 0, Damaged(id, err)
		}
		if !ended {
			break
		}
		records = append(records, record)
		whole += int64(len(line)) + 1
		data = rest
	}
	return records, whole, nil
}
