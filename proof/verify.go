package proof

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/secure-systems-lab/go-securesystemslib/dsse"
	"golang.org/x/crypto/ssh"

	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/proof/keys"
	"savant/think"
	"savant/think/state"
)

// Code says why a proof is refused. Every verifier checks in this order and stops at the
// first reason.
type Code string

// The reasons in the order in which they are looked for.
const (
	BadEnvelope  Code = "ENVELOPE"  // the file is not the one form of a proof
	BadSignature Code = "SIGNATURE" // a signature does not fit the content
	BadTimestamp Code = "TIMESTAMP" // a time stamp is of something else, or too old
	BadKey       Code = "KEY"       // no signature is of a key that counts
	BadStatement Code = "STATEMENT" // the content is not a statement of this format
	BadRedaction Code = "REDACTION" // a value was redacted that must be seen
	BadChain     Code = "CHAIN"     // a record does not follow from the one before
	BadSource    Code = "SOURCE"    // a workflow or a result is not the one that the records name
	BadReceipt   Code = "RECEIPT"   // a receipt is not of the record that names it
	BadClaim     Code = "CLAIM"     // the records do not show what a claim says
	BadSubject   Code = "SUBJECT"   // a subject is not what the records show
	BadReplay    Code = "REPLAY"    // the workflow leads to other instructions or states
)

// Reason is why a proof is refused.
type Reason struct {
	Code    Code   `json:"code"`
	Message string `json:"message"`
}

func refuse(code Code, format string, args ...any) *Reason {
	return &Reason{code, fmt.Sprintf(format, args...)}
}

// Trust says whose signatures count.
type Trust struct {
	Allowed []keys.Allowed
	// Revoked are the fingerprints of keys that count no more.
	Revoked []string
	// Signers is how many different keys that count must have signed; 0 is 1.
	Signers int
	// Stamps checks the tokens of time stamps; nil takes the word of none.
	Stamps *Stamps
	Now    time.Time
}

// Signer is a key that signed a proof.
type Signer struct {
	Name        string `json:"name,omitempty"`
	Fingerprint string `json:"fingerprint"`
	// Counts: the verifier was told to take this key's word. Why says why not.
	Counts bool   `json:"counts"`
	Why    string `json:"why,omitempty"`
	// Stamped is when a time stamp says that the signature was there, StampedBy whose.
	Stamped   string `json:"stamped,omitempty"`
	StampedBy string `json:"stamped_by,omitempty"`
}

// Report is what a verifier found.
type Report struct {
	Verified bool    `json:"verified"`
	Reason   *Reason `json:"reason,omitempty"`
	// Signers, Run, Counts, Limits and Models are what the file says, also of one that is refused.
	Signers []Signer      `json:"signers,omitempty"`
	Run     Run           `json:"run"`
	Made    Made          `json:"made"`
	Counts  map[Grade]int `json:"counts,omitempty"`
	Limits  []string      `json:"limits,omitempty"`
	Models  []Model       `json:"models,omitempty"`
	// Refusals are those of the file.
	Refusals []Refusal `json:"refusals,omitempty"`
	// Replayed: every state and instruction was computed again from the workflow.
	Replayed  bool       `json:"replayed"`
	Statement *Statement `json:"-"`
}

// Verify checks the file of a proof, without the folder that it comes from. With an engine
// it replays the run, too, unless values were redacted.
func Verify(ctx context.Context, file []byte, trust Trust, engine *think.Engine) Report {
	v := verifier{trust: trust, engine: engine}
	report := Report{Reason: v.verify(ctx, file), Signers: v.signers, Replayed: v.replayed}
	report.Verified = report.Reason == nil
	if p := v.statement.Predicate; v.readable {
		report.Run, report.Made, report.Counts, report.Limits, report.Models, report.Refusals, report.Statement = p.Run, p.Made, Count(p.Claims), v.statement.Limits(), p.Models, p.Refusals, &v.statement
	}
	return report
}

// maxShown bounds what a message repeats of a file, in bytes.
const maxShown = 80

// verifier is one verification.
type verifier struct {
	trust     Trust
	engine    *think.Engine
	statement Statement
	readable  bool
	signers   []Signer
	entries   []entry
	line      []entry // the entries that count
	records   []state.Record
	redacted  redactions
	replayed  bool
}

func (v *verifier) verify(ctx context.Context, file []byte) *Reason {
	sealed, payload, ok := unpack(file)
	if !ok {
		return refuse(BadEnvelope, "the file is not a proof in its one form")
	}
	if reason := v.signatures(sealed, payload); reason != nil {
		return reason
	}
	v.readable = v.statement.readPayload(payload)
	if reason := v.times(); reason != nil {
		return reason
	}
	if reason := v.countSigners(); reason != nil {
		return reason
	}
	for _, check := range []func() *Reason{v.format, v.redactions, v.chain, v.sources, v.receipts, v.claims, v.subjects} {
		if reason := check(); reason != nil {
			return reason
		}
	}
	return v.replay(ctx)
}

// signatures checks that every signature fits the content, whosever it is.
func (v *verifier) signatures(sealed envelope, payload []byte) *Reason {
	message := dsse.PAE(PayloadType, payload)
	for _, each := range sealed.Signatures {
		sig, ok := strictBase64(each.Sig)
		if !ok {
			return refuse(BadSignature, "the signature of %s is not base64", fault.Cut(each.KeyID, maxShown))
		}
		key, err := keys.Check(sig, message)
		if err != nil {
			return refuse(BadSignature, "the signature of %s: %s", fault.Cut(each.KeyID, maxShown), err)
		}
		signer := Signer{Fingerprint: ssh.FingerprintSHA256(key)}
		if signer.Fingerprint != each.KeyID {
			return refuse(BadSignature, "the signature of %s is of another key", fault.Cut(each.KeyID, maxShown))
		}
		if slices.ContainsFunc(v.signers, func(other Signer) bool { return other.Fingerprint == signer.Fingerprint }) {
			return refuse(BadSignature, "the key %s signed twice", signer.Fingerprint)
		}
		if each.Timestamp != "" {
			if err := v.trust.Stamps.check(each.Timestamp, sig, &signer); err != nil {
				return refuse(BadTimestamp, "the time stamp of %s: %s", signer.Fingerprint, err)
			}
		}
		v.signers = append(v.signers, signer)
	}
	return nil
}

// times refuses a time stamp from before the end of the run.
func (v *verifier) times() *Reason {
	if !v.readable || len(v.statement.Predicate.Records) == 0 {
		return nil // format reports it
	}
	records := v.statement.Predicate.Records
	last, _ := readEntry(records[len(records)-1])
	ended, err := time.Parse("2006-01-02T15:04:05Z", last.Time) // which takes fractions, too
	for _, each := range v.signers {
		if at, none := time.Parse(time.RFC3339, each.Stamped); none == nil && (err != nil || at.Before(ended.Truncate(time.Second))) {
			return refuse(BadTimestamp, "the time stamp of %s, %s, is older than the last record, %s", each.Fingerprint, each.Stamped, last.Time)
		}
	}
	return nil
}

// countSigners checks that enough of the keys count.
func (v *verifier) countSigners() *Reason {
	counted := 0
	for i := range v.signers {
		signer := &v.signers[i]
		when := v.trust.Now
		if at, err := time.Parse(time.RFC3339, signer.Stamped); err == nil && v.trust.Stamps.trusted() {
			when = at
		}
		signer.Name, signer.Counts, signer.Why = v.trust.judge(signer.Fingerprint, when)
		if signer.Counts {
			counted++
		}
	}
	if need := max(1, v.trust.Signers); counted < need {
		var why []string
		for _, each := range v.signers {
			why = append(why, each.Fingerprint+" "+cmp.Or(each.Why, "counts"))
		}
		return refuse(BadKey, "%d of %d signatures that count: %s", counted, need, strings.Join(why, "; "))
	}
	return nil
}

// judge says whose a key is, and whether its signature counts at a time.
func (t Trust) judge(fingerprint string, when time.Time) (name string, counts bool, why string) {
	why = "is not among the keys that count here"
	for _, each := range t.Allowed {
		if each.Fingerprint != fingerprint {
			continue
		}
		name = each.Name
		if counts = each.At(when); counts {
			why = ""
			break
		}
		why = "does not count at that time"
	}
	if slices.Contains(t.Revoked, fingerprint) {
		return name, false, "is revoked"
	}
	return name, counts, why
}

func (v *verifier) format() *Reason {
	p := v.statement.Predicate
	switch {
	case !v.readable:
		return refuse(BadStatement, "the content is not a statement in its one form, or of a newer Savant")
	case v.statement.Type != StatementType || !isKnown(v.statement):
		return refuse(BadStatement, "the statement is of another type, or of a newer Savant")
	case len(p.Records) == 0 || len(p.Records) > maxRecords || len(p.Records) != p.Run.Records:
		return refuse(BadStatement, "the statement has %d records and says %d", len(p.Records), p.Run.Records)
	}
	for i, line := range p.Records {
		each, ok := readEntry(line)
		if !ok || strings.ContainsAny(line, "\r\n") {
			return refuse(BadStatement, "record %d is not one line of JSON", i+1)
		}
		v.entries = append(v.entries, each)
	}
	return nil
}

// isKnown reports whether a statement is of a format that this program reads.
func isKnown(s Statement) bool {
	if s.Predicate.Format == wholeFormat {
		return s.PredicateType == wholeType && len(s.Predicate.Models)+len(s.Predicate.Refusals) == 0
	}
	return s.Predicate.Format == Format && s.PredicateType == PredicateType
}

// chain checks that each record is whole, and follows the one before.
func (v *verifier) chain() *Reason {
	p := v.statement.Predicate
	key := state.Key{Workflow: p.Run.Workflow, Run: p.Run.ID}
	last := state.Link{}
	for i, line := range p.Records {
		each := v.entries[i]
		if i < v.redacted.first {
			record, err := state.ReadLine("the proof", key, last, []byte(line))
			if err != nil {
				return refuse(BadChain, "record %d does not match its hash, or does not follow record %d of %s", i+1, i, key)
			}
			v.records = append(v.records, record)
		} else if each.Version != i+1 || each.Prev != last.Hash || i == 0 && !named(line, key) {
			return refuse(BadChain, "record %d does not follow record %d of %s", i+1, i, key)
		}
		last = state.Link{Version: each.Version, Hash: each.Hash}
	}
	if last.Hash != p.Run.Head {
		return refuse(BadChain, "the last record is not the one that the proof names as the run's end")
	}
	var ok bool
	if v.line, ok = effective(v.entries); !ok {
		return refuse(BadChain, "a reset names a version that is not before it")
	}
	return nil
}

// named reports whether a first record names its run.
func named(line string, key state.Key) bool {
	head := state.ReadHead([]byte(line))
	return head.Format == state.Format && head.Workflow == key.Workflow && head.Run == key.Run
}

// sources checks that the workflows, schemas and long results are those that the records
// name, and whole.
func (v *verifier) sources() *Reason {
	p := v.statement.Predicate
	pinned := pinnedSources(v.entries[0])
	if !slices.Equal(pinned, p.Sources) {
		return refuse(BadSource, "the workflows are not those that the run is pinned to")
	}
	needed := map[string]bool{}
	for _, each := range pinned {
		needed[each.Digest] = true
	}
	for _, each := range v.entries {
		if ref := each.Data.ResultRef; ref != "" && !v.redacted.stands(ref) {
			needed[ref] = true
		}
	}
	if len(needed) != len(p.Texts) {
		return refuse(BadSource, "the proof has %d texts, and its records name %d", len(p.Texts), len(needed))
	}
	for digest, text := range p.Texts {
		if !needed[digest] || jsonvalue.HexSum([]byte(text)) != digest {
			return refuse(BadSource, "the text %s is changed, or no record names it", fault.Cut(digest, maxShown))
		}
	}
	return nil
}

// receipts checks that each receipt is of a record that names it.
func (v *verifier) receipts() *Reason {
	witnessed := map[string]string{}
	for _, each := range v.line {
		if each.Data.Witness == witnessGateway {
			witnessed[each.Data.Receipt] = each.Data.Digest
		}
	}
	for _, each := range v.statement.Predicate.Receipts {
		if digest, ok := witnessed[each.ID]; !ok || digest != each.Output || each.ID == "" {
			return refuse(BadReceipt, "the receipt %s is not of the record that names it", fault.Cut(each.ID, maxShown))
		}
	}
	return nil
}

// claims works out again what the records show.
func (v *verifier) claims() *Reason {
	p := v.statement.Predicate
	for _, each := range p.Observations {
		if each.Version == 0 && each.Outcome == "succeeded" {
			continue
		}
		if each.Version < 1 || each.Version > len(v.entries) || v.entries[each.Version-1].Kind != kindResult {
			return refuse(BadClaim, "an observation names record %d, which is no answer of a client", each.Version)
		}
	}
	shown, seen := answers(v.line, p.Run.Imported, p.Observations), map[string]bool{}
	for _, claim := range p.Claims {
		if seen[claim.Step] {
			return refuse(BadClaim, "step %s has two claims", fault.Cut(claim.Step, maxShown))
		}
		seen[claim.Step] = true
		want, answered := shown[claim.Step]
		if !answered {
			want = Claim{Step: claim.Step, Grade: claim.Grade}
			if claim.Grade != Engine && claim.Grade != Absent {
				return refuse(BadClaim, "step %s is claimed as %s, and no record answers it", fault.Cut(claim.Step, maxShown), claim.Grade)
			}
		}
		want.Status = claim.Status
		if want != claim {
			return refuse(BadClaim, "step %s is claimed as %s, and the records show %s", fault.Cut(claim.Step, maxShown), claim.Grade, want.Grade)
		}
	}
	for step := range shown {
		if !seen[step] {
			return refuse(BadClaim, "step %s was answered and has no claim", fault.Cut(step, maxShown))
		}
	}
	if p.Run.Workflow == AgentRun && !p.isOfAgent(v.entries) {
		return refuse(BadClaim, "the status, the graph or a claim of the run of the agent is not that of the records")
	}
	if p.Format != wholeFormat && !slices.Equal(p.Models, modelsOf(v.entries, p.Run.Imported)) {
		return refuse(BadClaim, "the models are not those that the records name")
	}
	return nil
}

// subjects checks what the proof says it is about.
func (v *verifier) subjects() *Reason {
	p := v.statement.Predicate
	b := builder{out: &Statement{Predicate: p}}
	_, stated := v.statement.Commits()
	if err := b.subjects(v.line, stated); err != nil {
		return refuse(BadSubject, "the subjects do not follow from the records")
	}
	if !slices.EqualFunc(b.out.Subject, v.statement.Subject, func(a, b Subject) bool {
		return a.Name == b.Name && len(a.Digest) == len(b.Digest) && fmt.Sprint(a.Digest) == fmt.Sprint(b.Digest)
	}) {
		return refuse(BadSubject, "the subjects are not those that the records show")
	}
	return nil
}
