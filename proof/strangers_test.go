package proof_test

import (
	"bytes"
	"crypto/sha512"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/secure-systems-lab/go-securesystemslib/dsse"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"

	"savant/proof"
	"savant/proof/keys"
)

// whole seals bytes that need not be a statement.
func (f *forger) whole(payload []byte) []byte {
	f.t.Helper()
	sig, err := keys.Sign(f.ada, dsse.PAE(proof.PayloadType, payload))
	require.NoError(f.t, err)
	return f.around(payload, sig)
}

func (f *forger) around(payload, sig []byte) []byte {
	return closed(f.t, map[string]any{"payloadType": proof.PayloadType, "payload": base64.StdEncoding.EncodeToString(payload),
		"signatures": []any{map[string]any{"keyid": ssh.FingerprintSHA256(f.ada.PublicKey()), "sig": base64.StdEncoding.EncodeToString(sig), "timestamp": ""}}})
}

// rewrite replaces a text of the payload, and signs what comes out with the true key.
func (f *forger) rewrite(code proof.Code, old, text string) {
	f.t.Helper()
	payload, err := f.plain.Payload()
	require.NoError(f.t, err)
	require.Contains(f.t, string(payload), old)
	f.add(fmt.Sprintf("%q for %q", text, old), code, f.whole(bytes.Replace(payload, []byte(old), []byte(text), 1)))
}

// forms are statements that differ in form alone, or in what a careless reader passes over.
func (f *forger) forms() {
	for old, texts := range map[string][]string{
		`"whole":4,`:       {`"whole":4.0,`, `"whole":true,`, `"whole":"4",`, `"whole":null,`, `"whole":4,"whole":4,`, `"whole":4.5,`, `"whole":-4,`, `"whole":400000000000000000000,`},
		`"refusals":[`:     {`"refusals":null,"x":[`, `"note":"x","refusals":[`},
		`"run":{`:          {`"run":{"about":"x",`, `"run":{"Head":"x",`, `"run":{"__proto__":{},`},
		`{"by":"`:          {`{"By":"x","by":"`, `{"by":1,"with":"`},
		`"claims":[{`:      {`"claims":[{"also":1,`, `"claims":[null,{`, `"claims":[[],{`},
		`"_type":`:         {`"_type":"x","_type":`, ` "_type":`, `"\u005ftype":`},
		`"failed":false,`:  {`"failed":0,`, `"failed":null,`, ``},
		`"rules":[{"file"`: {`"rules":[{"digest":"x","file"`, `"rules":[null,{"file"`, `"ruled":[{"file"`},
		`"subject":[{`:     {`"subject":[{"uri":"x",`, `"subject":{"0":{`},
	} {
		for _, text := range texts {
			f.rewrite(proof.BadStatement, old, text)
		}
	}
	for _, each := range []string{"subject", "claims", "graph", "observations", "receipts", "records", "refusals", "texts", "deps", "digest", "rules"} {
		var text []byte
		for _, shape := range []string{`"` + each + `":[`, `"` + each + `":{`} {
			if at := bytes.Index(payloadOf(f.t, f.plain), []byte(shape)); at >= 0 {
				text = nulled(payloadOf(f.t, f.plain), at+len(shape)-1)
			}
		}
		require.NotEmpty(f.t, text, each)
		f.add("null for "+each, proof.BadStatement, f.whole(text))
	}
	f.rewrite(proof.BadStatement, `"predicateType":"urn:savant:proof:v4"`, `"predicateType":"urn:savant:proof:v2"`)
	payload, err := f.plain.Payload()
	require.NoError(f.t, err)
	for name, text := range map[string]string{"nothing": "", "null": "null", "a list": "[]", "not UTF-8": strings.Replace(string(payload), "Ada", "Ad\xff", 1),
		"a byte order mark": "\ufeff" + string(payload), "UTF-16": "\xff\xfe{\x00}\x00", "a statement twice": string(payload) + string(payload)} {
		f.add("as content, "+name, proof.BadStatement, f.whole([]byte(text)))
	}
}

func payloadOf(t testing.TB, s *proof.Statement) []byte {
	t.Helper()
	payload, err := s.Payload()
	require.NoError(t, err)
	return payload
}

// nulled puts null in the place of the list or object at an offset.
func nulled(payload []byte, at int) []byte {
	value, err := jsontext.NewDecoder(bytes.NewReader(payload[at:])).ReadValue()
	if err != nil {
		return nil
	}
	return slices.Concat(payload[:at], []byte("null"), payload[at+len(value):])
}

// lines are records that are chained to their hashes, and that readers could take differently.
func (f *forger) lines() {
	edit := func(code proof.Code, i int, old, text string) {
		f.forge(fmt.Sprintf("record %d: %q for %q, chained anew", i+1, text, old), code, f.plain, func(s *proof.Statement) {
			require.Contains(f.t, s.Predicate.Records[i], old)
			s.Predicate.Records[i] = strings.Replace(s.Predicate.Records[i], old, text, 1)
			chained(s)
		})
	}
	edit(proof.BadStatement, 2, `"by":"local"`, `"by":"local","by":"local"`)
	edit(proof.BadStatement, 2, `"by":"local"`, `"by":"local","\u0062y":"terminal"`)
	edit(proof.BadStatement, 2, `"by":"local"`, `"by":7`)
	edit(proof.BadStatement, 2, `"by":"local"`, `"by":["local"]`)
	edit(proof.BadStatement, 2, `"kind":"result"`, `"kind":"result","kind":"result"`)
	edit(proof.BadStatement, 2, `"kind":"result"`, `"kind":true`)
	edit(unreplayed, 2, `"version":3`, `"version":3.0`)
	edit(proof.BadStatement, 2, `"version":3`, `"version":"3"`)
	edit(unreplayed, 2, `{"version":3`, ` {"version":3`)
	edit(unreplayed, 2, `{"version":3`, `{"format":1,"version":3`)
	edit(unreplayed, 2, `"by":"local"`, `"by":"local","used":{"prompt_tokens":"9"}`)
	edit(unreplayed, 2, `"by":"local"`, `"by":"local","used":{"models":{}}`)
	edit(unreplayed, 2, `"by":"local"`, `"by":"local","used":{"models":[{"model":"m","calls":1.5}]}`)
	edit(proof.BadStatement, 0, `"pins":{`, `"pins":{"more":"x",`)
	edit(proof.BadStatement, 0, `"pins":{`, `"pins":[],"pinned":{`)
	edit(proof.BadChain, 0, `"format":1,`, `"format":2,`)
	edit(proof.BadChain, 2, `"version":3`, `"version":4`)
	edit(proof.BadChain, 3, `"kind":"person","`, `"kind":"reset","`)
	edit(proof.BadSource, 2, `"by":"local"`, `"by":"local","result_ref":"`+strings.Repeat("a", 64)+`"`)
	edit(proof.BadSource, 0, `"pins":{`, `"pins":{"more":{"digest":"x"},`)
	edit(proof.BadClaim, 2, `"step":"say"`, `"step":"count"`)
	edit(unreplayed, 2, `"by":"local"`, `"by":"local","by_claims":"claude"`)
	edit(unreplayed, 2, `"by":"local"`, `"by":"local","used":{"prompt_tokens":9}`)
	edit(unreplayed, 2, `"by":"local"`, `"by":"local","used":{"models":[{"model":"m","calls":1}]}`)
	edit(proof.BadClaim, 3, `"by":"terminal"`, `"By":"terminal"`)
	edit(proof.BadSubject, 1, `"head":"`+head+`"`, `"head":["`+head+`"]`)
	edit(proof.BadSubject, 1, `"head":"`+head+`"`, `"HEAD":"`+head+`"`)
	edit(proof.BadSubject, 3, `"outputs":{`, `"outputs":{"more":12345678901234567890.5e-7,`)
	edit(proof.BadSubject, 3, `"outputs":{`, `"outputs":[],"out":{`)
}

// answered are models, observations and subjects that the records do not show.
func (f *forger) answered() {
	observed := func(name string, change func(*proof.Statement)) { f.forge(name, proof.BadClaim, f.plain, change) }
	for _, version := range []int{-1, 1, 5, 1 << 40} {
		observed(fmt.Sprintf("an observation of record %d", version), func(s *proof.Statement) {
			s.Predicate.Observations = []proof.Observation{{Version: version, Client: "x", Tool: "y", Outcome: proof.Unseen}}
		})
	}
	observed("what no hook saw is claimed as seen by one", func(s *proof.Statement) {
		s.Predicate.Observations = []proof.Observation{{Version: 3, Client: "x", Tool: "y", Outcome: proof.Unseen}}
		s.Predicate.Claims[1].Grade = proof.Hook
	})
	observed("an observation whose claim was not raised", func(s *proof.Statement) {
		s.Predicate.Observations = []proof.Observation{{Version: 3, Client: "x", Tool: "y", Outcome: "succeeded"}}
	})
	commit := func(digest map[string]string) proof.Subject {
		return proof.Subject{Name: proof.SubjectStated, Digest: digest}
	}
	for name, more := range map[string][]proof.Subject{
		"a stated commit with another digest": {commit(map[string]string{"gitCommit": head, "sha1": "x"})},
		"a stated commit in capitals":         {commit(map[string]string{"gitCommit": strings.ToUpper(head)})},
		"a stated commit with a line break":   {commit(map[string]string{"gitCommit": head + "\n"})},
		"a stated commit that is short":       {commit(map[string]string{"gitCommit": head[:7]})},
		"two stated commits":                  {commit(map[string]string{"gitCommit": head}), commit(map[string]string{"gitCommit": strings.Repeat("b", 40)})},
		"a stated commit after the outputs":   {commit(map[string]string{"gitCommit": head})},
	} {
		f.forge(name, proof.BadSubject, f.plain, func(s *proof.Statement) { s.Subject = append(s.Subject, more...) })
	}
}

// hidden are redactions where a reader could overlook them.
func (f *forger) hidden() {
	fake := "redacted:" + strings.Repeat("0", 64)
	for old, text := range map[string]string{
		`"by":"terminal"`: `"by":"terminal","by_claims":"` + fake + `"`,
		`"kind":"person"`: `"kind":"person","` + fake + `":1`,
		`"step":"ask"`:    `"step":"ask","used":{"models":[{"model":"` + "redacted:" + strings.Repeat("0", 63) + `\u0030","calls":1}]}`,
		`"person":true`:   `"person":true,"` + fake + `":{}`,
	} {
		f.forge("hidden: "+text, proof.BadRedaction, f.red, func(s *proof.Statement) {
			require.Contains(f.t, s.Predicate.Records[3], old)
			s.Predicate.Records[3] = strings.Replace(s.Predicate.Records[3], old, text, 1)
		})
	}
	f.forge("a redaction that is the input of a receipt of nothing", proof.BadReceipt, f.red, func(s *proof.Statement) {
		s.Predicate.Receipts = append(s.Predicate.Receipts, proof.Receipt{ID: "bbbbbbbb", Input: fake})
	})
}

// blob is what an SSH signature signs, and wrapped the signature, as its format has them.
type blob struct {
	Namespace, Reserved, Hash string
	Digest                    []byte
}

type wrapped struct {
	Key                       []byte
	Namespace, Reserved, Hash string
	Signature                 []byte
}

// sealsOf are signatures of the true key for something else, or in another form.
func (f *forger) sealsOf() {
	payload, err := f.plain.Payload()
	require.NoError(f.t, err)
	digest := sha512.Sum512(dsse.PAE(proof.PayloadType, payload))
	plain := sha512.Sum512(payload)
	make := func(name string, signed blob, shown wrapped, end string) {
		made, err := f.ada.Sign(nil, append([]byte("SSHSIG"), ssh.Marshal(signed)...))
		require.NoError(f.t, err)
		if shown.Key == nil {
			shown.Key = f.ada.PublicKey().Marshal()
		}
		shown.Signature = ssh.Marshal(made)
		sig := append([]byte("SSHSIG\x00\x00\x00\x01"), ssh.Marshal(shown)...)
		f.add("a signature "+name, proof.BadSignature, f.around(payload, append(sig, end...)))
	}
	good, name := blob{keys.Namespace, "", "sha512", digest[:]}, wrapped{Namespace: keys.Namespace, Hash: "sha512"}
	make("of the content alone", blob{keys.Namespace, "", "sha512", plain[:]}, name, "")
	make("of a file", blob{"file", "", "sha512", digest[:]}, wrapped{Namespace: "file", Hash: "sha512"}, "")
	make("of a file, which says another", blob{"file", "", "sha512", digest[:]}, name, "")
	make("with another hash", blob{keys.Namespace, "", "md5", digest[:]}, wrapped{Namespace: keys.Namespace, Hash: "md5"}, "")
	make("with the name of another hash", good, wrapped{Namespace: keys.Namespace, Hash: "sha256"}, "")
	make("with bytes behind it", good, name, "x")
	make("with another's key", good, wrapped{Key: f.eve.PublicKey().Marshal(), Namespace: keys.Namespace, Hash: "sha512"}, "")
	make("with bytes behind the key", good, wrapped{Key: append(f.ada.PublicKey().Marshal(), 0), Namespace: keys.Namespace, Hash: "sha512"}, "")

	envelope := opened(f.t, f.file)
	one := envelope["signatures"].([]any)[0]
	many := []any{}
	for range 17 {
		many = append(many, one)
	}
	for name, signatures := range map[string]any{"seventeen signatures": many, "signatures that are none": map[string]any{}, "null for signatures": nil} {
		envelope["signatures"] = signatures
		f.add(name, proof.BadEnvelope, closed(f.t, envelope))
	}
	for _, member := range []string{"cert", "timestamp", "sig", "keyid"} {
		for _, value := range []any{"", 5, nil, []any{}} {
			envelope := opened(f.t, f.file)
			envelope["signatures"].([]any)[0].(map[string]any)[member] = value
			f.add(fmt.Sprintf("a signature whose %s is %#v", member, value), alike, closed(f.t, envelope)) // no time stamp is none
		}
	}
}
