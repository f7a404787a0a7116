// Package proof makes one signed file of a run that a stranger can check: the workflow,
// every record with its hash, and how each step is known. docs/proof.md describes the
// file exactly enough for other verifiers.
package proof

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"savant/fault"
	"savant/internal/jsonvalue"
)

// The types of a proof's parts.
const (
	StatementType = "https://in-toto.io/Statement/v1"
	PredicateType = "urn:savant:proof:v4"
	PayloadType   = "application/vnd.in-toto+json"
)

// Statement is the signed content of a proof, an in-toto Statement.
type Statement struct {
	Type          string    `json:"_type"`
	Subject       []Subject `json:"subject"`
	PredicateType string    `json:"predicateType"`
	Predicate     Predicate `json:"predicate"`

	entries []entry      // the records
	line    []entry      // those that count
	proven  map[int]bool // the versions of those whose receipts are here
}

// Subject is what the proof is about, by its digest: the run, what it produced, and the
// commit it saw.
type Subject struct {
	Name   string            `json:"name"`
	Digest map[string]string `json:"digest"`
}

// The subjects that have fixed names; SubjectArtifact and SubjectOutput are prefixes.
const (
	SubjectRun      = "run"
	SubjectSeen     = "commit:seen"   // a record that the gateway witnessed names it
	SubjectStated   = "commit:stated" // only the signer says so
	SubjectArtifact = "artifact:"
	SubjectOutput   = "output:"

	digestSHA256 = "sha256"
	digestCommit = "gitCommit"
)

// Predicate is what is said of the subjects. What follows from the records is not repeated,
// except how the steps are known. Every member is in the file.
type Predicate struct {
	Run  Run  `json:"run"`
	Made Made `json:"made"`
	// Texts are what the records name by digest, in the order of the digests: workflows,
	// schemas and long results.
	Texts []string `json:"texts"`
	// Graph is what the steps of the workflow depend on, for drawing.
	Graph []Node `json:"graph"`
	// Records are the lines of the journal, byte by byte. In the file the first Run.Whole
	// stand without the hashes in which they end, which follow from the lines.
	Records  []string  `json:"records"`
	Receipts []Receipt `json:"receipts"`
	// Observations are the calls that a hook of the client saw.
	Observations []Observation `json:"observations"`
	Claims       []Claim       `json:"claims"`
	// Refusals are the calls of the run that rules refused, by the signer's record.
	Refusals []Refusal `json:"refusals"`
	// Rules are the files of rules that judged calls of the run, and those that held when the
	// proof was made, by the signer's record.
	Rules []RuleFile `json:"rules"`
}

// Run names the run and the end of its chain.
type Run struct {
	Workflow string `json:"workflow"`
	ID       string `json:"id"`
	// Status and Head are the status and the hash of the last record.
	Status string `json:"status"`
	Head   string `json:"head"`
	// Imported is the version up to which the records were made elsewhere.
	Imported int `json:"imported"`
	// Whole is how many records stand before the first one that something was redacted in.
	Whole int `json:"whole"`
}

// Made says what made the proof, and when by its clock.
type Made struct {
	By   string `json:"by"`
	Time string `json:"time"`
}

// Node is a step of the workflow.
type Node struct {
	ID   string   `json:"id"`
	Call string   `json:"call"`
	Deps []string `json:"deps"`
}

// Receipt is what the gateway kept of a call, without its content.
type Receipt struct {
	ID     string `json:"id"`
	Tool   string `json:"tool"`
	Input  string `json:"input"`
	Output string `json:"output"`
	Time   string `json:"time"`
	Failed bool   `json:"failed"`
	// Command names the command that a ci.* tool carried out, by digest.
	Command       string `json:"command"`
	CommandDigest string `json:"command_digest"`
}

// Refusal is a call that rules refused, each named with its file and line.
type Refusal struct {
	Time  string   `json:"time"`
	Tool  string   `json:"tool"`
	Rules []string `json:"rules"`
}

// RuleFile is the text of a file of rules.
type RuleFile struct {
	File string `json:"file"`
	Text string `json:"text"`
}

// Observation is a call that a hook of the client saw, of the step that a record answers, or
// of one that none does: then Version is 0.
type Observation struct {
	Version int    `json:"version"`
	Client  string `json:"client"`
	Tool    string `json:"tool"`
	// Outcome is succeeded, failed or unknown, or Unseen: the hooks held the session, the
	// gateway saw its call, and they did not.
	Outcome string `json:"outcome"`
	// Savant: for the hook the call went to Savant.
	Savant bool `json:"savant"`
}

// Unseen is the outcome of a call that the hooks of its client did not see.
const Unseen = "unseen"

// encode returns a value in the form of RFC 8785.
func encode(value any) ([]byte, error) {
	text, err := jsonvalue.Canonical(value)
	if err != nil {
		return nil, fault.New(fault.Internal, "encoding a proof: %w", err)
	}
	return text, nil
}

// sharedDigest is the digest of a value in the form of RFC 8785. Half of a surrogate pair is
// read as U+FFFD, and a number beyond a double cannot be read.
func sharedDigest(raw json.RawMessage) (string, error) {
	var value any
	if err := json.Unmarshal(raw, &value); err != nil && len(raw) > 0 { // which stands for null
		return "", err
	}
	text, err := encode(value)
	return jsonvalue.HexSum(text), err
}

// decode reads a value that must be in the form of RFC 8785 and have the known members, each
// once: then it encodes to the same bytes again.
func decode(text []byte, into any) bool {
	return jsonvalue.UnmarshalShared(text, into) == nil && isForm(text, into)
}

// isForm reports whether a value encodes to a text.
func isForm(text []byte, value any) bool {
	encoded, err := encode(value)
	return err == nil && bytes.Equal(encoded, text)
}

// Payload returns the bytes that are signed.
func (s *Statement) Payload() ([]byte, error) {
	short := *s
	short.Predicate.Records = slices.Clone(s.Predicate.Records)
	for i, line := range s.Predicate.Records[:min(s.Predicate.Run.Whole, len(s.Predicate.Records))] {
		if at := strings.LastIndex(line, `,"prev":"`); at >= 0 {
			short.Predicate.Records[i] = line[:at] + "}"
		}
	}
	return encode(short)
}

// read reads the bytes that are signed.
func (s *Statement) read(payload []byte) bool {
	if jsonvalue.UnmarshalShared(payload, s) != nil {
		return false
	}
	inForm, short := make(chan bool, 1), *s
	short.Predicate.Records = slices.Clone(s.Predicate.Records)
	go func() { inForm <- isForm(payload, &short) }() // it takes as long as the records
	good := s.readRecords()
	return <-inForm && good
}

// readRecords reads the records, and gives the whole ones their hashes.
func (s *Statement) readRecords() bool {
	p, before := &s.Predicate, ""
	count, run := len(p.Records), p.Run
	if count == 0 || count > maxRecords || min(run.Whole, run.Imported) < 0 || max(run.Whole, run.Imported) > count {
		return false
	}
	s.entries = make([]entry, 0, count)
	for i, line := range p.Records {
		if i < p.Run.Whole {
			body, ended := strings.CutSuffix(line, "}")
			body += `,"prev":"` + before + `"`
			before = jsonvalue.HexSum([]byte(body + "}"))
			if line = body + `,"hash":"` + before + `"}`; !ended {
				return false
			}
		}
		each, ok := readEntry(line)
		if !ok {
			return false
		}
		p.Records[i], s.entries = line, append(s.entries, each)
	}
	return true
}

// Commits returns the commits that the proof is about: the one that the run saw, and the
// one that the signer states. The first of a name counts.
func (s *Statement) Commits() (seen, stated string) {
	for _, each := range slices.Backward(s.Subject) {
		switch each.Name {
		case SubjectSeen:
			seen = each.Digest[digestCommit]
		case SubjectStated:
			stated = each.Digest[digestCommit]
		}
	}
	return seen, stated
}
