package proof_test

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/big"
	random "math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	stamping "github.com/digitorus/timestamp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"

	"savant/internal/jsonvalue"
	"savant/proof"
	"savant/think/state"
)

// forged is a file that must be refused with a reason; "" is a true one.
type forged struct {
	name string
	file []byte
	code proof.Code
}

// forger makes forgeries of the proofs of two runs.
type forger struct {
	t                 testing.TB
	ada, eve          ssh.Signer
	plain, red, other *proof.Statement
	imported, agent   *proof.Statement
	looped            *proof.Statement
	replays           [][]byte // what only a replay refuses
	file, stamped     []byte
	extra             []ssh.Signer // whose keys count, too, though no proof takes their kind
	all               []forged
}

func newForger(t testing.TB) *forger {
	t.Helper()
	w := newWorld(t, map[string]string{"shipped": workflow})
	key := w.shipped("r1", greeting)
	f := &forger{t: t, ada: signerOf(t, 'a'), eve: signerOf(t, 'e'), plain: w.statement(key), red: w.statement(key), other: w.statement(w.shipped("r2", greeting))}
	_, err := proof.Redact(f.red, []string{"say.text"})
	require.NoError(t, err)
	f.file = sealed(t, f.plain, f.ada)
	require.NoError(t, w.store.MarkImported(t.Context(), key, state.Link{Version: len(f.plain.Predicate.Records), Hash: f.plain.Predicate.Run.Head}))
	f.imported = w.statement(key)
	f.agent = w.agentRun("a1")
	f.stamped = stampedBy(t, f.file, w.now.Add(time.Minute))
	return f
}

// add adds a file that must be refused.
func (f *forger) add(name string, code proof.Code, file []byte) {
	f.all = append(f.all, forged{name, file, code})
}

// change is forge, and adds the same with another key's signature and with the old one.
func (f *forger) change(name string, code proof.Code, from *proof.Statement, change func(*proof.Statement)) {
	f.t.Helper()
	changed := f.forge(name+", signed by the key's holder", code, from, change)
	f.add(name+", signed by another key", proof.BadKey, sealed(f.t, changed, f.eve))
	payload, err := changed.Payload()
	require.NoError(f.t, err)
	envelope := opened(f.t, sealed(f.t, from, f.ada))
	envelope["payload"] = base64.StdEncoding.EncodeToString(payload)
	f.add(name+", with the old signature", proof.BadSignature, closed(f.t, envelope))
}

// forge signs a changed copy of a statement with the true key.
func (f *forger) forge(name string, code proof.Code, from *proof.Statement, change func(*proof.Statement)) *proof.Statement {
	f.t.Helper()
	payload, err := from.Payload()
	require.NoError(f.t, err)
	changed := proof.Verify(f.t.Context(), sealed(f.t, from, f.ada), trusting(f.ada), nil).Statement
	change(changed)
	again, err := changed.Payload()
	require.NoError(f.t, err)
	require.False(f.t, bytes.Equal(payload, again), "%s changes nothing", name)
	f.add(name, code, sealed(f.t, changed, f.ada))
	return changed
}

func opened(t testing.TB, file []byte) (envelope map[string]any) {
	t.Helper()
	require.NoError(t, json.Unmarshal(file, &envelope))
	return envelope
}

func closed(t testing.TB, envelope map[string]any) []byte {
	t.Helper()
	text, err := jsonvalue.Encode(envelope)
	require.NoError(t, err)
	return append(text, '\n')
}

// sealedAs makes a record's hash fit its bytes again.
func sealedAs(line string) string {
	end := strings.LastIndex(line, `,"hash":"`)
	return line[:end] + `,"hash":"` + jsonvalue.HexSum([]byte(line[:end]+"}")) + `"}`
}

// chained makes the whole chain fit again, and the head with it.
func chained(s *proof.Statement) {
	before := ""
	for i, line := range s.Predicate.Records {
		at := strings.LastIndex(line, `,"prev":"`)
		line = sealedAs(line[:at] + `,"prev":"` + before + `","hash":"` + strings.Repeat("0", 64) + `"}`)
		s.Predicate.Records[i], before = line, line[len(line)-66:len(line)-2]
	}
	s.Predicate.Run.Head = before
	s.Subject[0].Digest["sha256"] = before
}

func (f *forger) bytes() {
	draw := random.New(random.NewPCG(1, 2))
	for i := range 40 {
		file := bytes.Clone(f.file)
		at := draw.IntN(len(file) - 1)
		file[at] = "ABCxyz019+/"[draw.IntN(11)]
		if file[at] == f.file[at] {
			file[at] = 'Q'
		}
		f.add(fmt.Sprintf("byte %d changed (%d)", at, i), "any", file)
	}
	f.add("a byte appended", proof.BadEnvelope, append(bytes.Clone(f.file), '\n'))
	f.add("the end is missing", proof.BadEnvelope, f.file[:len(f.file)-1])
	f.add("white space", proof.BadEnvelope, bytes.Replace(f.file, []byte(`,"payloadType"`), []byte(`, "payloadType"`), 1))
	f.add("empty", proof.BadEnvelope, []byte("\n"))
	f.add("a member more", proof.BadEnvelope, bytes.Replace(f.file, []byte(`{"payload":`), []byte(`{"about":"x","payload":`), 1))
}

func (f *forger) records() {
	edit := func(i int, old, text string) func(*proof.Statement) {
		return func(s *proof.Statement) {
			s.Predicate.Records[i] = strings.Replace(s.Predicate.Records[i], old, text, 1)
		}
	}
	for i := range f.plain.Predicate.Records {
		f.change(fmt.Sprintf("record %d: another time", i+1), proof.BadChain, f.plain, edit(i, `"time":"2026`, `"time":"2025`))
		f.change(fmt.Sprintf("record %d: another time, its hash made anew", i+1), proof.BadChain, f.plain, func(s *proof.Statement) {
			edit(i, `"time":"2026`, `"time":"2025`)(s)
			s.Predicate.Records[i] = sealedAs(s.Predicate.Records[i])
		})
		f.change(fmt.Sprintf("record %d removed", i+1), proof.BadChain, f.plain, func(s *proof.Statement) {
			s.Predicate.Records = slices.Delete(s.Predicate.Records, i, i+1)
			s.Predicate.Run.Whole--
		})
		f.change(fmt.Sprintf("record %d of another run", i+1), proof.BadChain, f.plain, func(s *proof.Statement) { s.Predicate.Records[i] = f.other.Predicate.Records[i] })
	}
	f.change("records swapped", proof.BadChain, f.plain, func(s *proof.Statement) {
		s.Predicate.Records[1], s.Predicate.Records[2] = s.Predicate.Records[2], s.Predicate.Records[1]
	})
	f.change("more whole records than there are", proof.BadStatement, f.plain, func(s *proof.Statement) { s.Predicate.Run.Whole = 5 })
	f.change("fewer whole records than there are", proof.BadRedaction, f.plain, func(s *proof.Statement) { s.Predicate.Run.Whole = 3 })
	f.change("another status", proof.BadChain, f.plain, func(s *proof.Statement) { s.Predicate.Run.Status = "failed" })
	f.change("another head", proof.BadChain, f.plain, func(s *proof.Statement) { s.Predicate.Run.Head = f.other.Predicate.Run.Head })
	f.change("another run's name", proof.BadChain, f.plain, func(s *proof.Statement) { s.Predicate.Run.ID = "r2" })
	f.change("another workflow's name", proof.BadChain, f.plain, func(s *proof.Statement) { s.Predicate.Run.Workflow = "safer" })
	f.change("another type", proof.BadStatement, f.plain, func(s *proof.Statement) { s.PredicateType = "urn:savant:proof:v5" })
	f.change("a witness put into a record, chained anew", proof.BadClaim, f.plain, func(s *proof.Statement) {
		edit(2, `"by":"local"`, `"witness":"gateway","receipt":"aaaaaaaa","by":"local"`)(s)
		chained(s)
	})
	f.change("an answer turned into a person's, chained anew", proof.BadClaim, f.plain, func(s *proof.Statement) {
		edit(2, `"kind":"result"`, `"kind":"person"`)(s)
		chained(s)
	})
}

func (f *forger) claims() {
	claim := func(i int, change func(*proof.Claim)) func(*proof.Statement) {
		return func(s *proof.Statement) { change(&s.Predicate.Claims[i]) }
	}
	for _, grade := range []proof.Grade{proof.Gateway, proof.Hook, proof.Person, proof.Engine} {
		f.change("what is said is claimed as "+string(grade), proof.BadClaim, f.plain, claim(1, func(c *proof.Claim) { c.Grade = grade }))
	}
	f.change("what is absent is claimed as said", proof.BadClaim, f.plain, claim(3, func(c *proof.Claim) { c.Grade = proof.Said }))
	f.change("what is absent is claimed as witnessed", proof.BadClaim, f.plain, claim(3, func(c *proof.Claim) { c.Grade, c.Version = proof.Gateway, 2 }))
	f.change("another person's way", proof.BadClaim, f.plain, claim(4, func(c *proof.Claim) { c.How = "hub" }))
	f.change("another version", proof.BadClaim, f.plain, claim(1, func(c *proof.Claim) { c.Version = 2 }))
	f.change("a claim removed", proof.BadClaim, f.plain, func(s *proof.Statement) { s.Predicate.Claims = slices.Delete(s.Predicate.Claims, 1, 2) })
	f.change("a claim twice", proof.BadClaim, f.plain, func(s *proof.Statement) { s.Predicate.Claims = append(s.Predicate.Claims, s.Predicate.Claims[1]) })
	f.change("an observation of a person's answer", proof.BadClaim, f.plain, func(s *proof.Statement) {
		s.Predicate.Observations = append(s.Predicate.Observations, proof.Observation{Version: 4, Client: "x", Tool: "y", Outcome: "succeeded"})
	})
	f.change("an import is hidden", proof.BadClaim, f.imported, func(s *proof.Statement) { s.Predicate.Run.Imported = 0 })
	f.change("an import is claimed as witnessed", proof.BadClaim, f.imported, func(s *proof.Statement) { s.Predicate.Claims[0] = f.plain.Predicate.Claims[0] })
}

func (f *forger) parts() {
	f.change("another receipt's output", proof.BadReceipt, f.plain, func(s *proof.Statement) { s.Predicate.Receipts[0].Output = strings.Repeat("0", 64) })
	f.change("another receipt's id", proof.BadReceipt, f.plain, func(s *proof.Statement) { s.Predicate.Receipts[0].ID = "aaaaaaaa" })
	f.change("a receipt of no record", proof.BadReceipt, f.plain, func(s *proof.Statement) {
		s.Predicate.Receipts = append(s.Predicate.Receipts, proof.Receipt{ID: "bbbbbbbb", Tool: "ci.run"})
	})
	text := func(change func(texts []string) []string) func(*proof.Statement) {
		return func(s *proof.Statement) { s.Predicate.Texts = change(slices.Clone(s.Predicate.Texts)) }
	}
	f.change("another workflow", proof.BadSource, f.plain, text(func(texts []string) []string {
		for i := range texts {
			texts[i] = strings.Replace(texts[i], "human.approve", "llm.generate", 1)
		}
		return texts
	}))
	f.change("a text is missing", proof.BadSource, f.plain, text(func(texts []string) []string { return texts[1:] }))
	f.change("a text that no record names", proof.BadSource, f.plain, text(func(texts []string) []string { return append(texts, "x") }))
	f.change("a text twice", proof.BadSource, f.plain, text(func(texts []string) []string { return append(texts, texts[0]) }))
	f.change("texts in another order", proof.BadSource, f.plain, text(func(texts []string) []string { slices.Reverse(texts); return texts }))
	f.change("another commit", proof.BadSubject, f.plain, func(s *proof.Statement) { s.Subject[1].Digest["gitCommit"] = strings.Repeat("a", 40) })
	f.change("a stated commit as one that was seen", proof.BadSubject, f.plain, func(s *proof.Statement) {
		s.Subject = append(s.Subject, proof.Subject{Name: proof.SubjectSeen, Digest: map[string]string{"gitCommit": strings.Repeat("a", 40)}})
	})
	f.change("an output of something else", proof.BadSubject, f.plain, func(s *proof.Statement) { s.Subject[2].Digest["sha256"] = strings.Repeat("a", 64) })
	f.change("an artifact more", proof.BadSubject, f.plain, func(s *proof.Statement) {
		s.Subject = append(s.Subject, proof.Subject{Name: "artifact:x", Digest: map[string]string{"sha256": strings.Repeat("a", 64)}})
	})
	f.change("the run is missing among the subjects", proof.BadSubject, f.plain, func(s *proof.Statement) { s.Subject = s.Subject[1:] })
}

func (f *forger) redactions() {
	fake := "redacted:" + strings.Repeat("0", 64)
	hide := func(i int, old, text string) func(*proof.Statement) {
		return func(s *proof.Statement) {
			s.Predicate.Records[i] = strings.Replace(s.Predicate.Records[i], old, text, 1)
		}
	}
	f.change("a redaction of the step", proof.BadRedaction, f.red, hide(3, `"step":"ask"`, `"step":"`+fake+`"`))
	f.change("a redaction of who answered", proof.BadRedaction, f.red, hide(3, `"by":"terminal"`, `"by":"`+fake+`"`))
	f.change("a redaction of the witness", proof.BadRedaction, f.red, hide(3, `"witness":"person"`, `"witness":"`+fake+`"`))
	f.change("a redaction of the kind", proof.BadRedaction, f.red, hide(3, `"kind":"person"`, `"kind":"`+fake+`"`))
	f.change("a redaction that shows a hash", proof.BadRedaction, f.plain, func(s *proof.Statement) {
		hide(2, `"result":`+greeting, `"result":"`+fake+`"`)(s)
		s.Predicate.Run.Whole = 2
	})
	f.change("a redaction in a whole record", proof.BadChain, f.plain, hide(2, `"result":`+greeting, `"result":"`+fake+`"`))
	f.change("a redacted record as a whole one", proof.BadStatement, f.red, func(s *proof.Statement) { s.Predicate.Run.Whole++ })
	f.change("a whole record as a redacted one", proof.BadRedaction, f.red, func(s *proof.Statement) { s.Predicate.Run.Whole-- })
	f.change("another redacted hash", proof.BadChain, f.red, hide(2, f.hashOf(2), fake))
	f.change("another redacted head", proof.BadChain, f.red, func(s *proof.Statement) { s.Predicate.Run.Head = fake })
	f.change("a redacted record removed", proof.BadChain, f.red, func(s *proof.Statement) { s.Predicate.Records = s.Predicate.Records[:3] })
}

// hashOf is the placeholder of the hash of a redacted record.
func (f *forger) hashOf(i int) string {
	return jsonvalue.TextMember([]byte(f.red.Predicate.Records[i]), "hash")
}

func (f *forger) signatures() {
	other := opened(f.t, sealed(f.t, f.other, f.ada))
	envelope := opened(f.t, f.file)
	envelope["signatures"] = other["signatures"]
	f.add("the signature of another run", proof.BadSignature, closed(f.t, envelope))
	envelope = opened(f.t, f.file)
	envelope["signatures"] = []any{}
	f.add("no signature", proof.BadEnvelope, closed(f.t, envelope))
	envelope = opened(f.t, f.file)
	one := envelope["signatures"].([]any)[0]
	envelope["signatures"] = []any{one, one}
	f.add("one signature twice", proof.BadSignature, closed(f.t, envelope))
	envelope = opened(f.t, f.file)
	envelope["signatures"].([]any)[0].(map[string]any)["keyid"] = ssh.FingerprintSHA256(f.eve.PublicKey())
	f.add("another keyid", proof.BadSignature, closed(f.t, envelope))
	envelope = opened(f.t, f.file)
	envelope["payloadType"] = "application/json"
	f.add("another type of content", proof.BadEnvelope, closed(f.t, envelope))
	f.add("only another's key", proof.BadKey, sealed(f.t, f.plain, f.eve))

	// Time stamps: of another signature, damaged, and from before the run ended.
	token := opened(f.t, f.stamped)["signatures"].([]any)[0].(map[string]any)["timestamp"]
	put := func(name string, token any) {
		envelope := opened(f.t, sealed(f.t, f.other, f.ada))
		envelope["signatures"].([]any)[0].(map[string]any)["timestamp"] = token
		f.add(name, proof.BadTimestamp, closed(f.t, envelope))
	}
	put("the time stamp of another signature", token)
	put("a time stamp that is none", "AAAA")
	put("a time stamp that is not base64", "!")
	for _, age := range []time.Duration{time.Minute, time.Hour, 24 * time.Hour} {
		f.add(fmt.Sprintf("a time stamp that is %s older than the run", age), proof.BadTimestamp, stampedBy(f.t, f.file, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).Add(-age)))
	}
}

// authority stamps with a certificate of its own.
type authority struct {
	key         *ecdsa.PrivateKey
	certificate *x509.Certificate
	at          time.Time
}

// newClock is an authority whose certificate is of any time.
func newClock(t testing.TB) authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "clock"}, NotBefore: time.Unix(0, 0), NotAfter: time.Date(2060, 1, 1, 0, 0, 0, 0, time.UTC),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageTimeStamping}}
	made, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(t, err)
	certificate, err := x509.ParseCertificate(made)
	require.NoError(t, err)
	return authority{key: key, certificate: certificate}
}

func stampedBy(t testing.TB, file []byte, at time.Time) []byte {
	t.Helper()
	clock := newClock(t)
	clock.at = at
	stamped, err := proof.Stamp(t.Context(), file, clock)
	require.NoError(t, err)
	return stamped
}

// forgeries are the files that every verifier must refuse, and the true ones.
func forgeries(t testing.TB) (*forger, []forged) {
	f := newForger(t)
	for _, make := range []func(){f.bytes, f.records, f.claims, f.parts, f.redactions, f.signatures, f.forms, f.lines, f.answered, f.hidden, f.sealsOf, f.ofAgent, f.ofRounds, f.changed, f.spelled, f.signers, f.encoded, f.stamps,
		f.imports, f.receipts, f.before, f.raised, f.fixed, f.curved, f.edwards, f.clocks, f.readings, f.forks, f.swapped} {
		make()
	}
	require.GreaterOrEqual(t, len(f.all), 300)
	f.add("a true one", "", f.file)
	f.add("a true one, redacted", "", sealed(t, f.red, f.ada))
	f.add("a true one, of the agent", "", sealed(t, f.agent, f.ada))
	f.add("a true one, imported", "", sealed(t, f.imported, f.ada))
	f.add("a true one, signed twice", "", sealed(t, f.plain, f.eve, f.ada))
	f.add("a true one, stamped", "", f.stamped)
	for _, curve := range []elliptic.Curve{elliptic.P256(), elliptic.P384(), elliptic.P521()} {
		key, err := ecdsa.GenerateKey(curve, rand.Reader)
		require.NoError(t, err)
		signer, err := ssh.NewSignerFromKey(key)
		require.NoError(t, err)
		f.add("a true one, signed by ECDSA, too", "", sealed(t, f.plain, signer, f.ada))
	}
	return f, f.all
}

func (each forged) check(t *testing.T, by, got string) {
	t.Helper()
	if each.code == alike {
		return
	}
	if each.code == unreplayed {
		each.code = ""
	}
	if each.code != "any" {
		assert.Equal(t, string(each.code), strings.TrimPrefix(got, "verified"), "%s: %s", by, each.name)
	}
	assert.NotEqual(t, each.code == "", got != "verified" && got != "", "%s: %s: %s", by, each.name, got)
}

// TestForgeriesAreRefused gives each forgery to Savant and to the verifier in Python,
// which shares nothing with it. Both say the same reason.
func TestForgeriesAreRefused(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing in it is concurrent, and the race detector slows it tenfold")
	}
	f, all := forgeries(t)
	engine := replayer(t)
	codes, words := make([]string, len(all)), make([]string, len(all))
	for i, each := range all {
		replays := engine
		if each.code == alike || each.code == unreplayed {
			replays = nil // which the others do not do
		}
		report := proof.Verify(t.Context(), each.file, trusting(f.ada), replays)
		codes[i] = "verified"
		if report.Reason != nil {
			codes[i] = string(report.Reason.Code)
			require.NotEmpty(t, report.Reason.Message)
		} else if count := report.Counts[proof.Recorded]; count > 0 {
			words[i] = fmt.Sprintf("; the signer's word, without a receipt: %d", count)
			require.Contains(t, strings.Join(report.Limits, "\n"), "the signer's word: the record says that Savant saw the call")
		}
		each.check(t, "savant", codes[i])
	}
	for _, file := range f.replays {
		report := proof.Verify(t.Context(), file, trusting(f.ada), engine)
		require.NotNil(t, report.Reason)
		require.Equal(t, proof.BadReplay, report.Reason.Code)
	}
	files := [][]byte{}
	for _, each := range all {
		files = append(files, each.file)
	}
	said := inPython(t, files, nil, append(f.extra, f.ada)...)
	require.Len(t, said, len(all))
	for i, each := range all {
		assert.Equal(t, codes[i]+words[i], said[i], "%s", each.name)
	}
}

// inPython returns what the verifier in Python says of files.
func inPython(t *testing.T, files [][]byte, revoked ssh.Signer, signers ...ssh.Signer) []string {
	t.Helper()
	python, err := exec.LookPath("python3")
	if _, missing := exec.LookPath("ssh-keygen"); err != nil || missing != nil {
		t.Skip("python3 and ssh-keygen are not installed")
	}
	folder := t.TempDir()
	arguments := []string{"testdata/verify.py", filepath.Join(folder, "allowed"), filepath.Join(folder, "revoked")}
	var lines, list []byte
	for _, each := range signers {
		lines = fmt.Appendf(lines, "ada %s", ssh.MarshalAuthorizedKey(each.PublicKey()))
	}
	if revoked != nil {
		list = ssh.MarshalAuthorizedKey(revoked.PublicKey())
	}
	require.NoError(t, os.WriteFile(arguments[1], lines, 0o600))
	require.NoError(t, os.WriteFile(arguments[2], list, 0o600))
	for i, each := range files {
		name := filepath.Join(folder, fmt.Sprintf("%d.proof", i))
		require.NoError(t, os.WriteFile(name, each, 0o600))
		arguments = append(arguments, name)
	}
	out, err := exec.CommandContext(t.Context(), python, arguments...).CombinedOutput()
	require.NoError(t, err, string(out))
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}

// TestRevokedKeysCountNowhere gives both verifiers keys that count and one that is revoked.
func TestRevokedKeysCountNowhere(t *testing.T) {
	w := newWorld(t, map[string]string{"shipped": workflow})
	ada, eve := signerOf(t, 'a'), signerOf(t, 'e')
	statement := w.statement(w.shipped("r1", greeting))
	files := [][]byte{sealed(t, statement, ada), sealed(t, statement, eve), sealed(t, statement, ada, eve), sealed(t, statement, eve, ada)}
	trust := trusting(ada, eve)
	trust.Revoked = []string{ssh.FingerprintSHA256(eve.PublicKey())}
	want := []string{"verified", "KEY", "verified", "verified"}
	for i, each := range files {
		report := proof.Verify(t.Context(), each, trust, nil)
		require.Equal(t, want[i] == "verified", report.Verified)
	}
	require.Equal(t, want, inPython(t, files, eve, ada, eve))
}

// Stamp implements proof.Authority.
func (a authority) Stamp(_ context.Context, request []byte) ([]byte, error) {
	asked, err := stamping.ParseRequest(request)
	if err != nil {
		return nil, err
	}
	answer := stamping.Timestamp{HashAlgorithm: asked.HashAlgorithm, HashedMessage: asked.HashedMessage, Time: a.at, Policy: []int{1, 2, 3}, AddTSACertificate: true}
	return answer.CreateResponseWithOpts(a.certificate, a.key, crypto.SHA256)
}
