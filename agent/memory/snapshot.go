package memory

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"savant/fault"
)

// Head is what a snapshot says of a run as a whole.
type Head struct {
	Goal string `json:"goal"`
	// Status is how the run stands; its words are the agent's.
	Status string `json:"status"`
	// Final is the answer, once there is one.
	Final string `json:"final,omitempty"`
	// Started and Updated are RFC 3339 in UTC.
	Started string `json:"started"`
	Updated string `json:"updated"`
	// State is what else the agent keeps, small values by name.
	State map[string]any `json:"state"`
}

// Snapshot is a session as it is kept for readers: schemas/session.json. It
// has at most Budget characters.
type Snapshot struct {
	SessionID string `json:"session_id"`
	Head
	// Count is how many steps the run has, told or not.
	Count int `json:"step_count"`
	// Steps are Step, the first maybe a Stub.
	Steps     []json.RawMessage `json:"steps"`
	Errors    []Failure         `json:"errors"`
	Summaries []string          `json:"summaries"`
}

// Saved says what a snapshot holds.
type Saved struct {
	Steps      int `json:"steps"`
	Summarized int `json:"summarized"`
	Errors     int `json:"errors"`
	Bytes      int `json:"bytes"`
}

// made is a snapshot on its way to disk.
type made struct {
	view     View
	cut      bool // outputs were cut to fit
	document Snapshot
}

// snapshot fits the memory into its budget. The caller holds the lock.
func (s *Session) snapshot() made {
	document := Snapshot{SessionID: s.id, Head: s.head, Count: len(s.steps), Steps: []json.RawMessage{}, Summaries: []string{},
		Errors: s.failures[max(0, len(s.failures)-maxFailures):]}
	if document.Errors == nil {
		document.Errors = []Failure{}
	}
	document.Goal, document.Final = fault.Cut(document.Goal, maxGoal), fault.Cut(document.Final, maxFinal)
	document.Updated = s.store.now().UTC().Format(time.RFC3339Nano)
	const stub = 150 // characters of the stub, the summary's quotes, and a longer time and count
	if s.outline == 0 {
		s.outline = size(document)
	}
	shown, cut := view(s.steps, s.sizes, s.lines, Budget-s.outline-stub)
	if shown.Omitted > 0 {
		document.Summaries = []string{shown.Summary}
		document.Steps = append(document.Steps, encoded(Stub{Index: "summary", Note: fmt.Sprintf("Summarized %d earlier steps", shown.Omitted)}))
	}
	for i, each := range shown.Steps {
		text := s.encoded[shown.Omitted+i]
		if cut || text == nil {
			text = encoded(each)
		}
		document.Steps = append(document.Steps, text)
	}
	for i := range shown.Omitted { // over the budget once, a run stays over it
		s.encoded[i] = nil
	}
	return made{shown, cut, document}
}

// encoded returns the JSON of a step, which always has one.
func encoded(value any) json.RawMessage {
	data, err := json.Marshal(value)
	if err != nil {
		return json.RawMessage("null")
	}
	return data
}

func (s Snapshot) encode() ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(s); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
