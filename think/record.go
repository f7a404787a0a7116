package think

import (
	"bytes"
	"encoding/json"
	"strconv"

	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/think/state"
)

// The kinds of records that a run's journal holds.
const (
	kindPlan   = "plan"
	kindResult = "result"
	kindPerson = "person"
	kindReset  = "reset"
)

// pin is one workflow that a run follows, whatever becomes of its file. The
// source is an artifact under Digest.
type pin struct {
	Version string `json:"version"`
	Digest  string `json:"digest"`
	File    string `json:"file"`
}

// planData is the data of the first record.
type planData struct {
	Workflow string         `json:"workflow"`
	Pins     map[string]pin `json:"pins"`
	// Schemas is the digest of the named schemas the run is held against.
	Schemas string         `json:"schemas,omitempty"`
	Params  map[string]any `json:"params"`
	// Lineage says what a fork was made from.
	Lineage *lineage `json:"lineage,omitempty"`
	Reply   reply    `json:"reply"`
}

// lineage names the version of the run that a fork continues.
type lineage struct {
	Run     string `json:"run_id"`
	Version int    `json:"version"`
	Hash    string `json:"hash"`
}

// resultData is the data of an answer's record. Result and Reply come behind
// all that a run needs to go on, so that opening a long run need not read them.
type resultData struct {
	resultHead
	// Result is the answer as it came; a large one stands under ResultRef.
	Result json.RawMessage `json:"result,omitempty"`
	Reply  reply           `json:"reply"`
}

// resultHead is what a run needs of an answer's record to go on.
type resultHead struct {
	Step string `json:"step"`
	// Attempt is what the client said, 0 when it said nothing.
	Attempt int    `json:"attempt,omitempty"`
	Digest  string `json:"digest"`
	// Value is the digest of the capture where the step is done with this,
	// sameDigest where that is the answer's own.
	Value   string `json:"value,omitempty"`
	Size    int    `json:"size,omitempty"`
	Person  bool   `json:"person,omitempty"`
	Shown   string `json:"shown,omitempty"`
	Witness string `json:"witness,omitempty"`
	// Receipt is that of the call which gave the result, where the witness is
	// the gateway. What it stood for is in Result: it may be gone by now.
	Receipt string `json:"receipt,omitempty"`
	Late    bool   `json:"late,omitempty"`
	// During is the version of the answer whose call asked the person.
	During int `json:"during,omitempty"`
	// ResultRef is the artifact that holds a large result.
	ResultRef string `json:"result_ref,omitempty"`
}

// encode writes the data as encoding/json would. Its long parts are JSON
// already and are put in as they are: going over them again is what a step
// would cost most.
func (d *resultData) encode() (json.RawMessage, error) {
	head, err := jsonvalue.Encode(d.resultHead)
	if err != nil {
		return nil, err
	}
	replied, err := d.Reply.encode()
	if err != nil {
		return nil, err
	}
	data := bytes.NewBuffer(make([]byte, 0, len(head)+len(d.Result)+len(replied)+32))
	data.Write(head[:len(head)-1])
	if len(d.Result) > 0 {
		data.WriteString(`,"result":`)
		if err := jsonvalue.Compact(data, d.Result); err != nil {
			return nil, err
		}
	}
	data.WriteString(`,"reply":`)
	data.Write(replied)
	data.WriteByte('}')
	return data.Bytes(), nil
}

// resetData is the data of a reset's record.
type resetData struct {
	To    int    `json:"to"`
	Name  string `json:"checkpoint,omitempty"`
	Reply reply  `json:"reply"`
}

// inlineLimit is the size from which a result is kept as an artifact instead
// of in the journal; artifacts are shared by equal results.
const inlineLimit = 8 << 10

// headOf reads what stands before the result in an answer's record. Nothing in
// it needs escapes, so the first of the long fields ends it.
func headOf(data json.RawMessage) (head resultHead, ok bool) {
	end := headEnd(data[:min(len(data), maxHead)])
	if end < 0 {
		return head, false
	}
	if head, ok = plainHead(data[:end]); ok {
		return head, true
	}
	err := json.Unmarshal(append(bytes.Clone(data[:end]), '}'), &head)
	return head, err == nil
}

// headEnd returns where the first of the long fields begins, or -1.
func headEnd(data []byte) int {
	for end := 0; ; end++ {
		at := bytes.Index(data[end:], []byte(`,"re`))
		if at < 0 {
			return -1
		}
		end += at
		for _, long := range []string{`,"result":`, `,"result_ref":`, `,"reply":`} {
			if bytes.HasPrefix(data[end:], []byte(long)) {
				return end
			}
		}
	}
}

// plainHead reads the head of an answer that has the usual fields alone, in
// their order: a decoder would take as long as all else of opening a run.
func plainHead(data []byte) (head resultHead, ok bool) {
	fields := bytes.Split(data, []byte(`,"`))
	for i, field := range fields {
		name, value, found := bytes.Cut(field, []byte(`":`))
		if !found {
			return resultHead{}, false
		}
		switch string(name) {
		case `{"step`:
			head.Step, ok = plainText(value)
		case "digest":
			head.Digest, ok = plainText(value)
		case "value":
			head.Value, ok = plainText(value)
		case "witness":
			head.Witness, ok = plainText(value)
		case "size":
			size, err := strconv.Atoi(string(value))
			head.Size, ok = size, err == nil
		case "attempt":
			attempt, err := strconv.Atoi(string(value))
			head.Attempt, ok = attempt, err == nil
		default:
			return resultHead{}, false
		}
		if !ok || (i == 0) != (name[0] == '{') {
			return resultHead{}, false
		}
	}
	return head, true
}

// plainText reads a JSON string without escapes.
func plainText(value []byte) (string, bool) {
	if len(value) < 2 || value[0] != '"' || value[len(value)-1] != '"' || bytes.ContainsAny(value[1:len(value)-1], `"\\`) {
		return "", false
	}
	return string(value[1 : len(value)-1]), true
}

// sameDigest stands for the digest of a capture that is the answer as it came,
// which most are: two digests would be a twelfth of a record of 1 KB.
const sameDigest = "="

// maxHead bounds the head of a record: a step's id, digests and flags.
const maxHead = 4096

func decodeData(record state.Record, into any) error {
	if err := json.Unmarshal(record.Data, into); err != nil {
		return fault.New(fault.StateCorrupt, "record %d: its data cannot be read", record.Version)
	}
	// Numbers of parameters must be what they were.
	if plan, ok := into.(*planData); ok {
		var exact struct {
			Params json.RawMessage `json:"params"`
		}
		if err := json.Unmarshal(record.Data, &exact); err != nil {
			return fault.New(fault.StateCorrupt, "record %d: its data cannot be read", record.Version)
		}
		value, err := jsonvalue.DecodeStored(exact.Params)
		if err != nil {
			return fault.New(fault.StateCorrupt, "record %d: its parameters cannot be read", record.Version)
		}
		plan.Params, _ = value.(map[string]any)
	}
	return nil
}
