package proof_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"time"

	"github.com/secure-systems-lab/go-securesystemslib/dsse"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"

	"savant/internal/jsonvalue"
	"savant/proof"
	"savant/proof/keys"
	"savant/think"
	"savant/think/state"
)

// imports are proofs that say wrongly how many of their records were made elsewhere, of
// runs with answers and of one that has none.
func (f *forger) imports() {
	w := newWorld(f.t, map[string]string{"shipped": workflow})
	_, err := w.engine.Plan(f.t.Context(), think.PlanInput{Workflow: "shipped", RunID: "new", Caller: think.Caller{Name: think.ByLocal}})
	require.NoError(f.t, err)
	planned := w.statement(state.Key{Workflow: "shipped", Run: "new"})
	f.add("a true one, without an answer", "", sealed(f.t, planned, f.ada))
	for _, from := range []*proof.Statement{planned, f.plain, f.red, f.imported, f.agent} {
		count := len(from.Predicate.Records)
		for _, imported := range []int{-1, -1 << 40, count + 1, 1 << 40} {
			f.forge(fmt.Sprintf("%d of %d records imported", imported, count), proof.BadStatement, from, func(s *proof.Statement) { s.Predicate.Run.Imported = imported })
		}
	}
	f.forge("the plan alone imported", unreplayed, planned, func(s *proof.Statement) { s.Predicate.Run.Imported = 1 })
	for imported := range len(f.imported.Predicate.Records) {
		if imported != 1 { // which says nothing of an answer
			f.forge(fmt.Sprintf("imported up to %d", imported), proof.BadClaim, f.imported, func(s *proof.Statement) { s.Predicate.Run.Imported = imported })
		}
	}
}

// raised are claims of all runs with each stronger grade than they have.
func (f *forger) raised() {
	for _, from := range []*proof.Statement{f.looped, f.imported, f.agent} {
		for i, claim := range from.Predicate.Claims {
			for _, grade := range proof.Grades[:slices.Index(proof.Grades, claim.Grade)] {
				if claim.Version > 0 && i%3 == 0 {
					f.forge(fmt.Sprintf("%s %s raised from %s to %s", from.Predicate.Run.ID, claim.Step, claim.Grade, grade), proof.BadClaim, from,
						func(s *proof.Statement) { s.Predicate.Claims[i].Grade = grade })
				}
			}
		}
	}
	for _, grade := range []proof.Grade{"", "GATEWAY", "gateway ", "seen", "g\u0430teway"} {
		f.forge(fmt.Sprintf("a grade %q", grade), proof.BadClaim, f.plain, func(s *proof.Statement) { s.Predicate.Claims[0].Grade = grade })
		f.forge(fmt.Sprintf("a grade %q of a step without an answer", grade), proof.BadClaim, f.plain, func(s *proof.Statement) { s.Predicate.Claims[3].Grade = grade })
	}
}

// fixed are redactions of each member that a claim, the chain or a subject is made of.
func (f *forger) fixed() {
	fake := `"redacted:` + strings.Repeat("0", 64) + `"`
	for member, at := range map[string]int{"version": 3, "kind": 3, "time": 3, "status": 3, "data": 3, "step": 3, "by": 3, "witness": 3, "person": 3} {
		f.forge("hidden: "+member, "any", f.red, func(s *proof.Statement) {
			var record map[string]json.RawMessage
			line := s.Predicate.Records[at]
			require.NoError(f.t, json.Unmarshal([]byte(line), &record))
			value, ok := record[member]
			if !ok {
				var data map[string]json.RawMessage
				require.NoError(f.t, json.Unmarshal(record["data"], &data))
				value, ok = data[member]
			}
			require.True(f.t, ok, member)
			s.Predicate.Records[at] = strings.Replace(line, `"`+member+`":`+string(value), `"`+member+`":`+fake, 1)
		})
	}
	put := func(code proof.Code, text string) {
		f.forge("redacted: "+text, code, f.red, func(s *proof.Statement) {
			s.Predicate.Records[3] = strings.Replace(s.Predicate.Records[3], `"step":"ask"`, `"step":"ask",`+text, 1)
		})
	}
	for _, member := range []string{"call", "allowed", "receipt", "by_claims", "schemas", "used", "attempt", "late", "during", "approval"} {
		put(proof.BadRedaction, `"`+member+`":`+fake)
	}
	put(proof.BadRedaction, `"used":{"models":[{"model":`+fake+`}]}`)
	put(proof.BadRedaction, `"note":["x",{"y":`+fake+`}]`)
	put(proof.BadStatement, `"to":`+fake)
	put(proof.BadStatement, `"pins":`+fake)
	put("", `"input":`+fake)
	put("", `"note":"redacted:0"`)
	put(proof.BadSource, `"result_ref":"redacted:0"`)
	put(proof.BadSource, `"result_ref":`+strings.ToUpper(fake))
	for _, whole := range []int{0, 1} {
		f.forge(fmt.Sprintf("%d whole records", whole), proof.BadRedaction, f.plain, func(s *proof.Statement) { s.Predicate.Run.Whole = whole })
	}
}

// curved are signatures by ECDSA, good ones and ones that are written in another way.
func (f *forger) curved() {
	payload := payloadOf(f.t, f.plain)
	message := dsse.PAE(proof.PayloadType, payload)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(f.t, err)
	signer, err := ssh.NewSignerFromKey(key)
	require.NoError(f.t, err)
	f.extra = append(f.extra, signer)
	beside := func(name string, code proof.Code, public []byte, change func(value *struct{ R, S *big.Int }) []byte, format string) {
		raw, err := keys.Sign(signer, message)
		require.NoError(f.t, err)
		var shown wrapped
		require.NoError(f.t, ssh.Unmarshal(raw[10:], &shown))
		var made ssh.Signature
		require.NoError(f.t, ssh.Unmarshal(shown.Signature, &made))
		var value struct{ R, S *big.Int }
		require.NoError(f.t, ssh.Unmarshal(made.Blob, &value))
		made.Blob = change(&value)
		made.Format = format
		shown.Signature = ssh.Marshal(made)
		if public != nil {
			shown.Key = public
		}
		sig := append([]byte("SSHSIG\x00\x00\x00\x01"), ssh.Marshal(shown)...)
		envelope := opened(f.t, f.file)
		second := map[string]any{"keyid": fingerprintOf(shown.Key), "sig": base64.StdEncoding.EncodeToString(sig), "timestamp": ""}
		for _, order := range [][]any{{envelope["signatures"].([]any)[0], second}, {second, envelope["signatures"].([]any)[0]}} {
			envelope["signatures"] = order
			f.add("beside a good signature, one by ECDSA "+name, code, closed(f.t, envelope))
			envelope = opened(f.t, f.file)
		}
	}
	plain := func(value *struct{ R, S *big.Int }) []byte { return ssh.Marshal(value) }
	const kind = "ecdsa-sha2-nistp256"
	order := elliptic.P256().Params().N
	beside("", "", nil, plain, kind)
	beside("with its other root", "", nil, func(v *struct{ R, S *big.Int }) []byte { v.S.Sub(order, v.S); return ssh.Marshal(v) }, kind)
	beside("with its parts swapped", proof.BadSignature, nil, func(v *struct{ R, S *big.Int }) []byte { v.R, v.S = v.S, v.R; return ssh.Marshal(v) }, kind)
	beside("of zeros", proof.BadSignature, nil, func(v *struct{ R, S *big.Int }) []byte { v.R, v.S = new(big.Int), new(big.Int); return ssh.Marshal(v) }, kind)
	beside("beyond the order", proof.BadSignature, nil, func(v *struct{ R, S *big.Int }) []byte { v.S.Add(v.S, order); return ssh.Marshal(v) }, kind)
	beside("below zero", proof.BadSignature, nil, func(v *struct{ R, S *big.Int }) []byte { v.S.Neg(v.S); return ssh.Marshal(v) }, kind)
	beside("with bytes behind it", proof.BadSignature, nil, func(v *struct{ R, S *big.Int }) []byte { return append(ssh.Marshal(v), 0) }, kind)
	beside("that ends early", proof.BadSignature, nil, func(v *struct{ R, S *big.Int }) []byte { made := ssh.Marshal(v); return made[:len(made)-1] }, kind)
	beside("of nothing", proof.BadSignature, nil, func(*struct{ R, S *big.Int }) []byte { return nil }, kind)
	beside("that says another curve", proof.BadSignature, nil, plain, "ecdsa-sha2-nistp384")
	beside("that says Ed25519", proof.BadSignature, nil, plain, ssh.KeyAlgoED25519)
	beside("that says a certificate", proof.BadSignature, nil, plain, ssh.CertAlgoECDSA256v01)
	padded := func(v *struct{ R, S *big.Int }) []byte {
		return ssh.Marshal(struct{ R, S []byte }{append([]byte{0, 0, 0}, v.R.Bytes()...), append([]byte{0, 0, 0}, v.S.Bytes()...)})
	}
	beside("with zeros before its parts", "", nil, padded, kind)
	bare := func(v *struct{ R, S *big.Int }) []byte {
		return ssh.Marshal(struct{ R, S []byte }{v.R.FillBytes(make([]byte, 32)), v.S.FillBytes(make([]byte, 32))})
	}
	for range 4 { // of a part with its highest bit set this is a number below zero
		beside("with parts of 32 bytes", alike, nil, bare, kind)
	}
	type public struct {
		Name, Curve string
		Point       []byte
	}
	point, err := key.PublicKey.Bytes()
	require.NoError(f.t, err)
	short := elliptic.MarshalCompressed(elliptic.P256(), key.X, key.Y)
	off := slices.Clone(point)
	off[64] ^= 1
	for name, blob := range map[string]public{
		"with the name of another curve": {kind, "nistp384", point}, "with an unknown curve": {kind, "p", point}, "with no curve": {kind, "", point},
		"with a short point": {kind, "nistp256", short}, "with a point that is off the curve": {kind, "nistp256", off}, "with another name": {"ecdsa-sha2-nistp384", "nistp256", point},
	} {
		beside("by a key "+name, proof.BadSignature, ssh.Marshal(blob), plain, kind)
	}
	beside("by a key with bytes behind it", proof.BadSignature, append(signer.PublicKey().Marshal(), 0), plain, kind)
}

// fingerprintOf is the fingerprint of a key that need not be one.
func fingerprintOf(public []byte) string { return ssh.FingerprintSHA256(blobKey(public)) }

type blobKey []byte

func (k blobKey) Type() string                        { return "" }
func (k blobKey) Marshal() []byte                     { return k }
func (k blobKey) Verify([]byte, *ssh.Signature) error { return nil }

// edwards are signatures by Ed25519 that are written in another way.
func (f *forger) edwards() {
	payload := payloadOf(f.t, f.plain)
	raw, err := keys.Sign(f.ada, dsse.PAE(proof.PayloadType, payload))
	require.NoError(f.t, err)
	var shown wrapped
	require.NoError(f.t, ssh.Unmarshal(raw[10:], &shown))
	var made ssh.Signature
	require.NoError(f.t, ssh.Unmarshal(shown.Signature, &made))
	good := made.Blob
	slices.Reverse(good[32:])
	scalar := new(big.Int).SetBytes(good[32:])
	slices.Reverse(good[32:])
	order, _ := new(big.Int).SetString("7237005577332262213973186563042994240857116359379907606001950938285454250989", 10)
	larger := scalar.Add(scalar, order).FillBytes(make([]byte, 32))
	slices.Reverse(larger)
	zero := make([]byte, 64)
	zero[0] = 1
	for name, blob := range map[string][]byte{"with its number beyond the order": slices.Concat(good[:32], larger), "with a byte more": append(slices.Clone(good), 0), "with a byte less": good[:63], "empty": {}, "of zeros": zero,
		"twice": slices.Concat(good, good)} {
		shown.Signature = ssh.Marshal(ssh.Signature{Format: ssh.KeyAlgoED25519, Blob: blob})
		f.add("a signature "+name, proof.BadSignature, f.around(payload, append([]byte("SSHSIG\x00\x00\x00\x01"), ssh.Marshal(shown)...)))
	}
	for _, kind := range []string{"", "ssh-rsa", "ssh-ed25519 ", ssh.CertAlgoED25519v01, ssh.KeyAlgoSKED25519} {
		shown.Signature = ssh.Marshal(ssh.Signature{Format: kind, Blob: good})
		f.add(fmt.Sprintf("a signature of the kind %q", kind), proof.BadSignature, f.around(payload, append([]byte("SSHSIG\x00\x00\x00\x01"), ssh.Marshal(shown)...)))
	}
	for _, start := range []string{"SSHSIG\x00\x00\x00\x02", "SSHSIG\x00\x00\x00\x00", "sshsig\x00\x00\x00\x01", ""} {
		f.add(fmt.Sprintf("a signature that begins with %q", start), proof.BadSignature, f.around(payload, append([]byte(start), raw[10:]...)))
	}
}

// times are records whose time is odd. Nobody reads it, but beside a time stamp.
func (f *forger) clocks() {
	stamp := func(name string, code proof.Code, time string, at time.Time) {
		s := proof.Verify(f.t.Context(), f.file, trusting(f.ada), nil).Statement
		line := s.Predicate.Records[3]
		from := strings.Index(line, `"time":"`) + len(`"time":"`)
		s.Predicate.Records[3] = line[:from] + time + line[from+strings.IndexByte(line[from:], '"'):]
		chained(s)
		file := sealed(f.t, s, f.ada)
		f.add("unstamped, "+name, unreplayed, file)
		f.add("stamped, "+name, code, stampedBy(f.t, file, at))
	}
	at := time.Date(2026, 1, 2, 3, 4, 30, 0, time.UTC)
	stamp("before the record before", unreplayed, "2020-01-02T03:04:05Z", at)
	stamp("the same second", unreplayed, "2026-01-02T03:04:30.999999999Z", at)
	stamp("a second later", proof.BadTimestamp, "2026-01-02T03:04:31Z", at)
	for _, odd := range []string{"2026-01-02T03:04:05+01:00", "2026-01-02 03:04:05Z", "2026-01-02t03:04:05z", "", "1767323045", "2026-01-02T03:04:0\u0665Z", "\u0662026-01-02T03:04:05Z", "2026-01-02T03:04:05.Z", "2026-01-02T03:04:05Z\\n",
		"20260102T030405Z", "2026-1-2T3:4:5Z", "+2026-01-02T03:04:05Z", "redacted:" + strings.Repeat("0", 64)} {
		stamp("the time "+odd, proof.BadTimestamp, odd, at)
	}
	stamp("a time that is none on a clock", proof.BadTimestamp, "2026-99-99T99:99:99Z", at)
}

// readings are numbers, texts and names in records that readers take differently.
func (f *forger) readings() {
	edit := func(i int, code proof.Code, old, text string) {
		f.forge(fmt.Sprintf("record %d: %.60q, chained anew", i+1, text), code, f.plain, func(s *proof.Statement) {
			require.Contains(f.t, s.Predicate.Records[i], old)
			s.Predicate.Records[i] = strings.Replace(s.Predicate.Records[i], old, text, 1)
			chained(s)
		})
	}
	for _, number := range []string{"3.0000000000000000001", "30e-1", "0.3e1", "3.0e0", "300000000000000000000e-20", "-3", "9007199254740993", "3e400", "2.9999999999999999999", "true", "null", "3e-400", "0e999", "1e-1000000000000000000000"} {
		edit(2, alike, `"version":3,`, `"version":`+number+`,`)
		edit(2, alike, `"by":"local"`, `"by":"local","to":`+number)
		edit(0, unreplayed, `"format":1,`, `"format":1.0,"n":`+number+`,`)
	}
	for _, names := range []string{`"a\ud800":1,"a\udbff":2`, `"\ud800":1,"\ufffd":2`} {
		edit(2, proof.BadStatement, `"by":"local"`, `"by":"local",`+names)
		edit(3, proof.BadStatement, `"outputs":{`, `"outputs":{`+names+`,`)
	}
	for _, version := range []int{1 << 53, 1<<53 - 1, -1 << 53} {
		f.forge(fmt.Sprintf("a claim of record %d", version), alike, f.plain, func(s *proof.Statement) { s.Predicate.Claims[0].Version = version })
	}
	for _, number := range []string{"1.0", "1e0", "10e-1", "1.00000000000000000001", "true", `"1"`, "null", "[1]", "1e1"} {
		edit(0, alike, `"format":1,`, `"format":`+number+`,`)
	}
	for _, text := range []string{`"prev":"`, `"hash":"`} {
		edit(2, alike, `"kind":"result",`, `"kind":"result",`+text+strings.Repeat("0", 64)+`",`)
	}
	for _, text := range []string{`"\uFFFF"`, `"\u0000"`, `"\ufeff"`, `"\ud83d\ude00"`, `"\ude00\ud83d"`, `"\u200b"`, `"` + "\u202e" + `"`, `"\uD800x"`, `"e\u0301"`} {
		edit(2, alike, `"by":"local"`, `"by":`+text)
		edit(2, unreplayed, `"by":"local"`, `"by":"local","x":`+text)
		edit(2, alike, `"by":"local"`, `"by":"local",`+text+`:{`+text+`:1}`)
	}
	for _, text := range []string{`"data":[],`, `"data":"x",`, `"data":null,`, `"data":7,`, ``} {
		line := f.plain.Predicate.Records[2]
		from, to := strings.Index(line, `"data":`), strings.Index(line, `"state":`)
		edit(2, alike, line[from:to], text)
	}
	edit(3, alike, `"reply":{`, `"reply":null,"other":{`)
	edit(3, alike, `"outputs":{`, `"outputs":null,"other":{`)
	edit(3, alike, `"outputs":{`, `"artifacts":null,"outputs":{`)
	edit(3, alike, `"outputs":{`, `"artifacts":[null],"outputs":{`)
	edit(3, alike, `"outputs":{`, `"artifacts":[{"name":"a"}],"outputs":{`)
	edit(3, alike, `"outputs":{`, `"artifacts":[{"name":"a","sha256":7}],"outputs":{`)
	edit(3, alike, `"outputs":{`, `"outputs":{"\ud800":1,`)
	edit(3, alike, `"outputs":{`, `"outputs":{"__proto__":1,"constructor":2,"":3,"2":4,"10":5,`)
	edit(1, alike, `"head":"`, `"head":null,"other":"`)
	edit(1, alike, `"result":{`, `"result":[{"head":"`+head+`"}],"other":{`)
	edit(1, alike, `"result":{`, `"result":"`+head+`","other":{`)
	edit(0, alike, `"pins":{`, `"pins":{"__proto__":{"digest":"x","file":"y"},`)
	edit(0, alike, `"pins":{`, `"pins":null,"other":{`)
	edit(2, alike, `"step":"say"`, `"step":"__proto__"`)
	edit(2, alike, `"step":"say"`, `"step":""`)
	edit(2, alike, `"step":"say"`, `"step":null`)
}

// forks are proofs of a run that continues another one's answers, and of the answers as
// if they were its own.
func (f *forger) forks() {
	w := newWorld(f.t, map[string]string{"shipped": workflow})
	key := w.shipped("r1", greeting)
	records, err := w.store.Records(f.t.Context(), key, 0, 0)
	require.NoError(f.t, err)
	reply, err := w.engine.Fork(f.t.Context(), key, records[:3], "r2", nil, think.Caller{Name: think.ByLocal})
	require.NoError(f.t, err)
	require.Equal(f.t, "r2", reply.State.RunID)
	fork, origin := w.statement(state.Key{Workflow: "shipped", Run: "r2"}), w.statement(key)
	require.Contains(f.t, fork.Predicate.Records[0], `"lineage"`)
	f.add("a true one, of a fork", "", sealed(f.t, fork, f.ada))
	change := func(name string, code proof.Code, change func(*proof.Statement)) {
		f.forge("a fork: "+name, code, fork, change)
	}
	change("with the records of its origin", proof.BadChain, func(s *proof.Statement) { s.Predicate.Records = slices.Clone(origin.Predicate.Records[:3]) })
	change("with the answer of its origin", proof.BadChain, func(s *proof.Statement) { s.Predicate.Records[2] = origin.Predicate.Records[2] })
	change("with the end of its origin", proof.BadChain, func(s *proof.Statement) {
		s.Predicate.Records = append(s.Predicate.Records, origin.Predicate.Records[3])
		s.Predicate.Run.Whole++
	})
	change("with the person's answer of its origin", proof.BadClaim, func(s *proof.Statement) { s.Predicate.Claims[4] = origin.Predicate.Claims[4] })
	change("with the head of its origin", proof.BadChain, func(s *proof.Statement) { s.Predicate.Run.Head = origin.Predicate.Run.Head })
	change("under the name of its origin", proof.BadChain, func(s *proof.Statement) { s.Predicate.Run.ID = "r1" })
	change("with the subjects of its origin", proof.BadSubject, func(s *proof.Statement) { s.Subject = origin.Subject })
	change("as one that is done", proof.BadChain, func(s *proof.Statement) { s.Predicate.Run.Status = "done" })
	change("without its plan", proof.BadChain, func(s *proof.Statement) {
		s.Predicate.Records = s.Predicate.Records[1:]
		s.Predicate.Run.Whole--
	})
}

// swapped are workflows that were changed under their name, with all digests made anew: what
// other instructions follow from is refused by a replay, and by a demand for the same file.
func (f *forger) swapped() {
	for old, text := range map[string]string{`call: human.approve`: `call: llm.generate`, `witness: required, `: ``, `"size > 1000"`: `"size > 1"`, `{{ len(said.text) }}`: `{{ len(said.text) + 1 }}`} {
		f.forge(fmt.Sprintf("a workflow with %q for %q, chained anew", text, old), unreplayed, f.plain, func(s *proof.Statement) {
			for i, each := range s.Predicate.Texts {
				if changed := strings.Replace(each, old, text, 1); changed != each {
					s.Predicate.Texts[i] = changed
					s.Predicate.Records[0] = strings.Replace(s.Predicate.Records[0], jsonvalue.HexSum([]byte(each)), jsonvalue.HexSum([]byte(changed)), 1)
				}
			}
			slices.SortFunc(s.Predicate.Texts, func(a, b string) int {
				return strings.Compare(jsonvalue.HexSum([]byte(a)), jsonvalue.HexSum([]byte(b)))
			})
			chained(s)
		})
		f.replays = append(f.replays, f.all[len(f.all)-1].file)
	}
}
