package proof

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"

	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/internal/pattern"
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
	BadKey       Code = "KEY"       // no signature is of a key that counts
	BadStatement Code = "STATEMENT" // the content is not a statement of this format
	BadRedaction Code = "REDACTION" // a value was redacted that must be seen
	BadChain     Code = "CHAIN"     // a record does not follow from the one before
	BadSource    Code = "SOURCE"    // a workflow or a result is not the one that the records name
	BadReceipt   Code = "RECEIPT"   // a receipt is not of the record that names it
	BadClaim     Code = "CLAIM"     // the records do not show what a claim says
	BadSubject   Code = "SUBJECT"   // a subject is not what the records show
	BadTimestamp Code = "TIMESTAMP" // a time stamp is of something else, or too old
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
	// Claimed: the project itself may have named the keys.
	Claimed bool
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
	// What follows is what the file says, also of one that is refused, except the limits. Only
	// the signers are told of one that nobody signed whose key counts: it is not read.
	Signers []Signer      `json:"signers,omitempty"`
	Run     Run           `json:"run"`
	Records int           `json:"records"`
	Made    Made          `json:"made"`
	Counts  map[Grade]int `json:"counts,omitempty"`
	Limits  []string      `json:"limits,omitempty"`
	// Models are who answered, as the records say it.
	Models   []Model    `json:"models,omitempty"`
	Refusals []Refusal  `json:"refusals,omitempty"`
	Rules    []RuleFile `json:"rules,omitempty"`
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
	if s := &v.statement; v.readable {
		p := &s.Predicate
		report.Statement, report.Run, report.Records, report.Made, report.Refusals, report.Rules = s, p.Run, len(p.Records), p.Made, p.Refusals, p.Rules
		report.Counts, report.Models = Count(p.Claims), modelsOf(s.entries, p.Run.Imported)
	}
	if report.Verified {
		report.Limits = v.statement.Limits()
		if trust.Claimed {
			report.Limits = append(report.Limits, "whose the keys are: a file of the project has them, and who changes the project can change it")
		}
	}
	return report
}

// maxShown bounds what a message repeats of a file, in bytes.
const maxShown = 80

// verifier is one verification.
type verifier struct {
	trust     Trust
	engine    *think.Engine
	payload   []byte
	statement Statement
	readable  bool
	signers   []Signer
	stamped   error // what is wrong with a time stamp
	replayed  bool
}

func (v *verifier) verify(ctx context.Context, file []byte) *Reason {
	sealed, payload, ok := unpack(file)
	if !ok {
		return refuse(BadEnvelope, "the file is not a proof in its one form")
	}
	v.payload = payload
	for _, each := range sealed.Signatures {
		if reason := v.signature(each); reason != nil {
			return reason
		}
	}
	for _, check := range []func() *Reason{v.countSigners, v.read, v.redactions, v.chain, v.texts, v.receipts, v.claims, v.subjects, v.times} {
		if reason := check(); reason != nil {
			return reason
		}
	}
	return v.replay(ctx)
}

// signature checks that a signature fits the content, whosever it is.
func (v *verifier) signature(each signature) *Reason {
	who := fault.Cut(each.KeyID, maxShown)
	sig, ok := strictBase64([]byte(each.Sig))
	if !ok {
		return refuse(BadSignature, "the signature of %s is not base64", who)
	}
	// The encoding of DSSE before signing, without a copy of the payload.
	start := fmt.Sprintf("DSSEv1 %d %s %d ", len(PayloadType), PayloadType, len(v.payload))
	key, err := keys.Check(sig, io.MultiReader(strings.NewReader(start), bytes.NewReader(v.payload)))
	if err != nil {
		return refuse(BadSignature, "the signature of %s: %s", who, err)
	}
	signer := Signer{Fingerprint: ssh.FingerprintSHA256(key)}
	if signer.Fingerprint != each.KeyID {
		return refuse(BadSignature, "the signature of %s is of another key", who)
	}
	if slices.ContainsFunc(v.signers, func(other Signer) bool { return other.Fingerprint == signer.Fingerprint }) {
		return refuse(BadSignature, "the key %s signed twice", who)
	}
	if each.Timestamp != "" {
		if err := v.trust.Stamps.check(each.Timestamp, sig, &signer); err != nil {
			v.stamped = cmp.Or(v.stamped, fmt.Errorf("the time stamp of %s: %w", who, err))
		}
	}
	v.signers = append(v.signers, signer)
	return nil
}

// timePattern fits the time of a record.
var timePattern = pattern.Lazy(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$`)

const toTheSecond = len("2006-01-02T15:04:05")

// times refuses a time stamp of something else, or from before the end of the run.
func (v *verifier) times() *Reason {
	if v.stamped != nil {
		return refuse(BadTimestamp, "%s", v.stamped)
	}
	last := v.statement.entries[len(v.statement.entries)-1].Time
	isTime := timePattern().MatchString(last)
	for _, each := range v.signers {
		if each.Stamped != "" && (!isTime || each.Stamped[:toTheSecond] < last[:toTheSecond]) {
			return refuse(BadTimestamp, "the time stamp of %s, %s, is older than the last record, %s", each.Fingerprint, each.Stamped, fault.Cut(last, maxShown))
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

// read reads the statement.
func (v *verifier) read() *Reason {
	s := &v.statement
	if v.readable = s.read(v.payload) && s.Type == StatementType && s.PredicateType == PredicateType; !v.readable {
		return refuse(BadStatement, "the content is not a statement in its one form, or of another version of Savant")
	}
	return nil
}

// chain checks that each record follows the one before. The hashes of whole ones were made
// from their lines.
func (v *verifier) chain() *Reason {
	run, last := v.statement.Predicate.Run, state.Link{}
	for i, each := range v.statement.entries {
		if each.Version != i+1 || each.Prev != last.Hash {
			return refuse(BadChain, "record %d does not follow record %d", i+1, i)
		}
		last = state.Link{Version: each.Version, Hash: each.Hash}
	}
	first, end := v.statement.entries[0], v.statement.entries[last.Version-1]
	if first.Format != state.Format || first.Workflow != run.Workflow || first.Run != run.ID || end.Status != run.Status || end.Hash != run.Head {
		return refuse(BadChain, "the first record is not of the run, or the last one is not the end that the proof names")
	}
	if !v.statement.count() {
		return refuse(BadChain, "a reset names a version that is not before it")
	}
	return nil
}

// texts checks that the workflows, schemas and long results are those that the records
// name, and whole.
func (v *verifier) texts() *Reason {
	var found []string
	for _, each := range v.statement.Predicate.Texts {
		found = append(found, jsonvalue.HexSum([]byte(each)))
	}
	if !slices.Equal(found, digests(v.statement.entries)) {
		return refuse(BadSource, "the texts are not those that the records name, in the order of their digests")
	}
	return nil
}

// receipts checks that each receipt is of a record that names it.
func (v *verifier) receipts() *Reason {
	if left := v.statement.match(); len(left) > 0 {
		return refuse(BadReceipt, "the receipt %s is not of the record that names it, nor of the call that its step asked for, or stands twice or out of order", fault.Cut(left[0].ID, maxShown))
	}
	return nil
}

// claims works out again what the records show.
func (v *verifier) claims() *Reason {
	p, entries := &v.statement.Predicate, v.statement.entries
	for _, each := range p.Observations {
		if each.Version < 0 || each.Version > len(entries) || each.Version > 0 && entries[each.Version-1].Kind != kindResult {
			return refuse(BadClaim, "an observation names record %d, which is no answer of a client", each.Version)
		}
	}
	shown, seen := v.statement.answers(), map[string]bool{}
	for _, claim := range p.Claims {
		if seen[claim.Step] {
			return refuse(BadClaim, "step %s has two claims", fault.Cut(claim.Step, maxShown))
		}
		seen[claim.Step] = true
		want, answered := shown[claim.Step]
		delete(shown, claim.Step)
		if !answered && p.Run.Workflow != AgentRun && (claim.Grade == Engine || claim.Grade == Absent) {
			want = Claim{Step: claim.Step, Grade: claim.Grade}
		}
		want.Status = cmp.Or(want.Status, claim.Status)
		if want != claim {
			return refuse(BadClaim, "step %s is claimed as %s, and the records show %q", fault.Cut(claim.Step, maxShown), claim.Grade, want.Grade)
		}
	}
	if len(shown) > 0 {
		return refuse(BadClaim, "%d steps were answered and have no claim", len(shown))
	}
	if p.Run.Workflow == AgentRun && len(p.Graph) > 0 {
		return refuse(BadClaim, "a run of the agent follows no workflow, and has a graph")
	}
	return nil
}

// subjects checks what the proof says it is about.
func (v *verifier) subjects() *Reason {
	want := v.statement
	_, stated := want.Commits()
	want.Subject = nil
	if want.addSubjects(stated) != nil || !slices.EqualFunc(want.Subject, v.statement.Subject, func(a, b Subject) bool {
		return a.Name == b.Name && maps.Equal(a.Digest, b.Digest)
	}) {
		return refuse(BadSubject, "the subjects are not those that the records show")
	}
	return nil
}
