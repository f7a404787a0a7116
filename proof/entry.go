package proof

import (
	"encoding/json"
	"slices"
	"strings"

	"savant/internal/jsonvalue"
	"savant/think/state"
)

// entry is a record, and what a verifier reads of its data.
type entry struct {
	state.Record
	data `json:"-"`
}

type data struct {
	Step      string         `json:"step"`
	Call      string         `json:"call"`
	Done      string         `json:"status"`
	Allowed   string         `json:"allowed"`
	Digest    string         `json:"digest"`
	Witness   string         `json:"witness"`
	Receipt   string         `json:"receipt"`
	By        string         `json:"by"`
	Claims    string         `json:"by_claims"`
	To        int            `json:"to"`
	ResultRef string         `json:"result_ref"`
	Schemas   string         `json:"schemas"`
	Pins      map[string]pin `json:"pins"`
	// Commands are those that the run is held to, by their digests.
	Commands map[string]string `json:"commands"`
	// These may be anything.
	Used   json.RawMessage `json:"used"`
	Result json.RawMessage `json:"result"`
	Reply  json.RawMessage `json:"reply"`
}

// pin is a workflow that the run follows.
type pin struct {
	Digest string `json:"digest"`
	File   string `json:"file"`
}

// readEntry reads a record, in which no name stands twice, since readers differ on which
// counts. Nor do they agree on half of a surrogate pair, which Go reads as U+FFFD.
func readEntry(line string) (read entry, ok bool) {
	return read, jsonvalue.UnmarshalShared([]byte(line), &read.Record) == nil && read.readData()
}

// readData reads the data of a record.
func (e *entry) readData() bool {
	if jsonvalue.UnmarshalShared(e.Data, &e.data) != nil {
		return false
	}
	texts := []string{e.Workflow, e.Run, e.Kind, e.Time, e.Status, e.State, e.Prev, e.Hash, e.Step, e.Call, e.Done, e.Allowed, e.Digest, e.Witness, e.Receipt, e.By, e.Claims, e.ResultRef, e.Schemas}
	for name, each := range e.Pins {
		texts = append(texts, name, each.Digest, each.File)
	}
	for name, each := range e.Commands {
		texts = append(texts, name, each)
	}
	return areWhole(texts)
}

func areWhole(texts []string) bool { return !strings.ContainsRune(strings.Join(texts, ""), '\ufffd') }

// replied is what is read of the reply of a record: what it asks for, and the end of a run.
type replied struct {
	Instruction  instruction                `json:"instruction"`
	Instructions []instruction              `json:"instructions"`
	Outputs      map[string]json.RawMessage `json:"outputs"`
	Artifacts    []struct {
		Name   string `json:"name"`
		SHA256 string `json:"sha256"`
	} `json:"artifacts"`
}

// instruction is what a step asks for, and the time of its record.
type instruction struct {
	Step  string          `json:"step_id"`
	Call  string          `json:"call"`
	Input json.RawMessage `json:"input"`
	time  string
}

// replied returns nothing of a reply that is redacted or missing.
func (e entry) replied() replied {
	var found struct {
		Reply replied `json:"reply"`
	}
	if jsonvalue.UnmarshalShared(e.Reply, &found) != nil {
		return replied{}
	}
	var texts []string
	for _, each := range append(found.Reply.Instructions, found.Reply.Instruction) {
		texts = append(texts, each.Step, each.Call)
	}
	for name := range found.Reply.Outputs {
		texts = append(texts, name)
	}
	for _, each := range found.Reply.Artifacts {
		texts = append(texts, each.Name, each.SHA256)
	}
	if !areWhole(texts) {
		return replied{}
	}
	return found.Reply
}

const (
	kindResult = "result"
	kindPerson = "person"
	kindReset  = "reset"

	witnessGateway = "gateway"
)

// answers reports whether a record is the answer of a step.
func (e entry) answers() bool { return e.Kind == kindResult || e.Kind == kindPerson }

// count finds the entries that count: a reset takes those after the version it names away.
// It returns false for a reset to a version that is not before it.
func (s *Statement) count() bool {
	s.line = make([]entry, 0, len(s.entries))
	for at := len(s.entries); at > 0; {
		each := s.entries[at-1]
		if each.Kind != kindReset {
			s.line = append(s.line, each)
			at--
			continue
		}
		if each.To < 1 || each.To >= at {
			return false
		}
		at = each.To
	}
	slices.Reverse(s.line)
	return true
}

// digests returns what records name by digest, in order: the workflows and schemas of the
// first, and long results that are not redacted.
func digests(entries []entry) (named []string) {
	for _, each := range entries[0].Pins {
		named = append(named, each.Digest)
	}
	if schemas := entries[0].Schemas; schemas != "" {
		named = append(named, schemas)
	}
	for _, each := range entries {
		if each.ResultRef != "" && !isPlaceholder(each.ResultRef) {
			named = append(named, each.ResultRef)
		}
	}
	slices.Sort(named)
	return slices.Compact(named)
}

// texts returns the texts of a proof by their digests.
func (p *Predicate) texts() map[string]string {
	found := map[string]string{}
	for _, each := range p.Texts {
		found[jsonvalue.HexSum([]byte(each))] = each
	}
	return found
}
