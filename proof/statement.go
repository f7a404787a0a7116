// Package proof makes one signed file of a run that a stranger can check: the workflow,
// every record with its hash, and how each step is known. docs/proof.md describes the
// file exactly enough for other verifiers.
package proof

import (
	"bytes"
	"slices"
	"strings"

	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/internal/pattern"
)

// The types of a proof's parts.
const (
	StatementType = "https://in-toto.io/Statement/v1"
	PredicateType = "urn:savant:proof:v2"
	PayloadType   = "application/vnd.in-toto+json"
)

// Format is the version of the predicate. A newer one is refused. Of the first one, whose
// records repeat the hash before and their own, proofs still verify.
const (
	Format = 2

	wholeFormat = 1
	wholeType   = "urn:savant:proof:v1"
)

// Statement is the signed content of a proof, an in-toto Statement.
type Statement struct {
	Type          string    `json:"_type"`
	Subject       []Subject `json:"subject"`
	PredicateType string    `json:"predicateType"`
	Predicate     Predicate `json:"predicate"`
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

// Predicate is what is said of the subjects.
type Predicate struct {
	Format int  `json:"format"`
	Run    Run  `json:"run"`
	Made   Made `json:"made"`
	// Sources are the workflows and the named schemas that the run is pinned to.
	Sources []Source `json:"sources"`
	// Texts are what Sources and the records name by digest: workflows, schemas and long
	// results.
	Texts map[string]string `json:"texts"`
	Graph []Node            `json:"graph"`
	// Records are the lines of the journal, byte by byte. In the file each stands without
	// the hashes in which it ends, which follow from the lines, up to the first that has a
	// redaction.
	Records  []string  `json:"records"`
	Receipts []Receipt `json:"receipts"`
	// Observations are the calls that a hook of the client saw.
	Observations []Observation `json:"observations"`
	Claims       []Claim       `json:"claims"`
	// Models are who answered, as the records say it.
	Models []Model `json:"models,omitempty"`
	// Refusals are the calls of the run that rules refused, by the signer's record.
	Refusals []Refusal `json:"refusals,omitempty"`
	// Redactions are the salted digests that stand in the place of values.
	Redactions []string `json:"redactions"`
}

// Run names the run and the end of its chain.
type Run struct {
	Workflow string `json:"workflow"`
	ID       string `json:"id"`
	Status   string `json:"status"`
	Records  int    `json:"records"`
	// Head is the hash of the last record.
	Head string `json:"head"`
	// Imported is the version up to which the records were made elsewhere.
	Imported int `json:"imported,omitempty"`
}

// Made says what made the proof, and when by its clock.
type Made struct {
	By   string `json:"by"`
	Time string `json:"time"`
}

// Source is a workflow that the run follows, or, without a name, its schemas.
type Source struct {
	Name    string `json:"name,omitempty"`
	Version string `json:"version,omitempty"`
	File    string `json:"file,omitempty"`
	Digest  string `json:"digest"`
}

// Node is a step of the workflow, for drawing.
type Node struct {
	ID   string   `json:"id"`
	Call string   `json:"call"`
	Deps []string `json:"deps"`
	// Writes: the workflow says that the step changes something outside of the run.
	Writes bool `json:"writes,omitempty"`
}

// Receipt is what the gateway kept of a call, without its content.
type Receipt struct {
	ID     string `json:"id"`
	Tool   string `json:"tool"`
	Input  string `json:"input"`
	Output string `json:"output"`
	Time   string `json:"time"`
	Failed bool   `json:"failed,omitempty"`
	// Command names the command that a ci.* tool carried out, by digest.
	Command       string `json:"command,omitempty"`
	CommandDigest string `json:"command_digest,omitempty"`
}

// Refusal is a call that rules refused, each named with its file and line.
type Refusal struct {
	Time  string   `json:"time"`
	Tool  string   `json:"tool"`
	Rules []string `json:"rules"`
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
	Savant bool `json:"savant,omitempty"`
}

// Unseen is the outcome of a call that the hooks of its client did not see.
const Unseen = "unseen"

// encode returns a value in the form of RFC 8785.
func encode(value any) ([]byte, error) {
	text, err := jsonvalue.Encode(value)
	if err == nil {
		text, err = jsonvalue.Canonical(text)
	}
	if err != nil {
		return nil, fault.New(fault.Internal, "encoding a proof: %w", err)
	}
	return text, nil
}

// decode reads a value that must be in the form of RFC 8785 and have no member that is
// not known: then it encodes to the same bytes again.
func decode(text []byte, into any) bool {
	if jsonvalue.UnmarshalStored(text, into) != nil {
		return false
	}
	again, err := encode(into)
	return err == nil && bytes.Equal(again, text)
}

// Payload returns the bytes that are signed.
func (s *Statement) Payload() ([]byte, error) {
	if s.Predicate.Format == wholeFormat {
		return encode(s)
	}
	short, listed := *s, redactionsOf(s.Predicate.Redactions)
	short.Predicate.Records = slices.Clone(s.Predicate.Records)
	for i, line := range s.Predicate.Records {
		if len(listed.in(line)) > 0 {
			break
		}
		short.Predicate.Records[i] = endPattern().ReplaceAllString(line, "}")
	}
	return encode(short)
}

// endPattern fits the hashes in which a record ends.
var endPattern = pattern.Lazy(`,"prev":"([0-9a-f]{64})?","hash":"[0-9a-f]{64}"}$`)

// hasNull reports whether null stands for a list or an object, which encodes to the same.
func (s *Statement) hasNull() bool {
	p := &s.Predicate
	return s.Subject == nil || p.Sources == nil || p.Texts == nil || p.Graph == nil || p.Records == nil || p.Receipts == nil ||
		p.Observations == nil || p.Claims == nil || p.Redactions == nil ||
		slices.ContainsFunc(s.Subject, func(each Subject) bool { return each.Digest == nil }) ||
		slices.ContainsFunc(p.Graph, func(each Node) bool { return each.Deps == nil })
}

// readPayload reads the bytes that are signed, which must be in their one form.
func (s *Statement) readPayload(payload []byte) bool {
	if !decode(payload, s) || s.hasNull() {
		return false
	}
	p := &s.Predicate
	if p.Format == wholeFormat {
		return true
	}
	before, listed := "", redactionsOf(p.Redactions)
	for i, line := range p.Records {
		if len(listed.in(line)) > 0 {
			break
		}
		if !strings.HasSuffix(line, "}") {
			return false
		}
		line = strings.TrimSuffix(line, "}") + `,"prev":"` + before + `"`
		before = jsonvalue.HexSum([]byte(line + "}"))
		p.Records[i] = line + `,"hash":"` + before + `"}`
	}
	return true
}

// subject returns the digest of a subject by its name, "" where there is none.
func (s *Statement) subject(name, kind string) string {
	for _, each := range s.Subject {
		if each.Name == name {
			return each.Digest[kind]
		}
	}
	return ""
}

// Commits returns the commits that the proof is about: the one that the run saw, and the
// one that the signer states.
func (s *Statement) Commits() (seen, stated string) {
	return s.subject(SubjectSeen, digestCommit), s.subject(SubjectStated, digestCommit)
}
