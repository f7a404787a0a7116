package memory

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"savant/fault"
	"savant/internal/jsonvalue"
)

// Head is what a snapshot says of a run as a whole.
type Head struct {
	Goal string `json:"goal"`
	// Status is an agent.Status.
	Status string `json:"status"`
	// Final is the answer, once there is one.
	Final string `json:"final,omitempty"`
	// Started and Updated are RFC 3339 in UTC.
	Started string `json:"started"`
	Updated string `json:"updated"`
	// State has small values of the agent by name.
	State map[string]any `json:"state"`
}

// Snapshot is a session as readers see it: schemas/session.json. It has at most
// Budget characters.
type Snapshot struct {
	SessionID string `json:"session_id"`
	Head
	// Count is how many steps the run has, omitted ones included.
	Count int `json:"step_count"`
	// Steps are Step; the first is a Stub if steps were omitted.
	Steps     []json.RawMessage `json:"steps"`
	Errors    []Failure         `json:"errors"`
	Summaries []string          `json:"summaries"`
	// Unread says why a list has only the id: the snapshot is too large to be read.
	Unread string `json:"-"`
}

// Saved counts what a snapshot holds.
type Saved struct {
	Steps      int `json:"steps"`
	Summarized int `json:"summarized"`
	Errors     int `json:"errors"`
	Bytes      int `json:"bytes"`
}

// View returns the memory within its budget.
func (s *Session) View() View {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, _ := s.fit()
	return v
}

// Save replaces the snapshot. It must not be called concurrently. An error,
// STATE_NOT_SAVED, need not end the run: runs resume from the journal, and the snapshot
// only serves readers.
func (s *Session) Save() (Saved, error) {
	document, data, saved, err := s.document()
	if err != nil {
		return Saved{}, err
	}
	return saved, s.journal.WriteSnapshot(document, data)
}

// document returns the snapshot as it is written. Outputs that it cuts are
// written to files.
func (s *Session) document() (Snapshot, []byte, Saved, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var v View
	var document Snapshot
	var err error
	for more := true; more; { // file names take room, so more outputs may need cutting
		v, document = s.fit()
		if more, err = s.saveCutOutputs(v); err != nil {
			return Snapshot{}, nil, Saved{}, err
		}
	}
	if v.Omitted > 0 {
		document.Summaries = []string{v.Summary}
		document.Steps = append(document.Steps, jsonvalue.Encoded(Stub{Index: "summary", Note: fmt.Sprintf("Summarized %d earlier steps", v.Omitted)}))
	}
	for _, each := range v.Steps {
		document.Steps = append(document.Steps, jsonvalue.Encoded(each))
	}
	data, err := jsonvalue.Encode(document)
	if err != nil {
		return Snapshot{}, nil, Saved{}, fault.New(fault.Internal, "the snapshot of run %s: %w", s.id, err)
	}
	data = append(data, '\n')
	return document, data, Saved{Steps: len(s.steps), Summarized: v.Omitted, Errors: len(s.failures), Bytes: len(data)}, nil
}

// stubRoom is room for the stub and the quotes of the summary, in characters.
const stubRoom = 150

// fit returns the view, and a snapshot with all but the view. The caller holds
// the lock.
func (s *Session) fit() (View, Snapshot) {
	document := Snapshot{SessionID: s.id, Head: s.head, Count: len(s.steps), Steps: []json.RawMessage{}, Summaries: []string{},
		Errors: append([]Failure{}, s.failures[max(0, len(s.failures)-maxFailures):]...)}
	document.Goal, document.Final = fault.Cut(document.Goal, maxGoal), fault.Cut(document.Final, maxFinal)
	document.Updated = s.store.now().UTC().Format(time.RFC3339Nano)
	return view(s.steps, Budget-size(document)-stubRoom), document
}

// saveCutOutputs writes each output that a view cuts to a file, and says whether
// any had no file before.
func (s *Session) saveCutOutputs(v View) (more bool, err error) {
	for i, step := range v.Steps {
		at := v.Omitted + i
		calls := slices.Clone(s.steps[at].Calls) // callers of Steps hold the others
		for c := range min(len(calls), len(step.Calls)) {
			if !step.Calls[c].Cut || calls[c].Artifact != "" {
				continue
			}
			if calls[c].Artifact, err = s.saveOutput(calls[c].Output, Lazy); err != nil { // the journal also has it
				return false, err
			}
			more = true
		}
		s.steps[at].Calls = calls
		s.steps[at].size = size(s.steps[at].Step)
	}
	return more, nil
}
