package proof_test

import (
	"bytes"
	"cmp"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"time"

	stamping "github.com/digitorus/timestamp"
	"github.com/secure-systems-lab/go-securesystemslib/dsse"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"

	"savant/internal/jsonvalue"
	"savant/proof"
	"savant/proof/keys"
)

// spelled are records whose numbers, texts and names readers of JSON spell or take
// differently, chained anew, with the subjects that a careless reader would work out.
func (f *forger) spelled() {
	edit := func(code proof.Code, i int, old, text string, more ...func(*proof.Statement)) {
		f.forge(fmt.Sprintf("record %d: %.60q for %q, chained anew", i+1, text, old), code, f.plain, func(s *proof.Statement) {
			require.Contains(f.t, s.Predicate.Records[i], old)
			s.Predicate.Records[i] = strings.Replace(s.Predicate.Records[i], old, text, 1)
			chained(s)
			for _, change := range more {
				change(s)
			}
		})
	}
	for _, number := range []string{"NaN", "Infinity", "-Infinity", "01", "1.", ".5", "+1", "0x10", "1_000", "- 1", "\uff11"} {
		edit(proof.BadStatement, 2, `"by":"local"`, `"by":"local","n":`+number)
	}
	for _, number := range []string{"1e400", "-1e999", "1E400", strings.Repeat("9", 5000), "1e-400", "-0.0", "0e0", "1E5", "100000e-5", "123456789012345678901234567890"} {
		edit(unreplayed, 2, `"by":"local"`, `"by":"local","n":`+number)
	}
	output := func(value string) func(*proof.Statement) {
		return func(s *proof.Statement) {
			s.Subject = slices.Insert(s.Subject, 2, proof.Subject{Name: "output:more", Digest: map[string]string{"sha256": jsonvalue.HexSum([]byte(value))}})
		}
	}
	for text, reading := range map[string][]string{
		"1e400":                         {"null", "1.7976931348623157e+308", "Infinity"},
		`"\ud83d"`:                      {`"\ud83d"`, "\"\ufffd\xbf\"", `"?"`, `""`},
		"1.0":                           {"1.0"},
		"9007199254740993":              {"9007199254740993"},
		"-0":                            {"-0"},
		"1E2":                           {"1e2", "1E2", "100.0"},
		`"A\u030a"`:                     {"\"\u00c5\""},
		"\"\u212b\"":                    {"\"\u00c5\""},
		`"\/"`:                          {`"\/"`},
		`{"\ue000":1,"\ud83d\ude00":2}`: {"{\"\ue000\":1,\"\U0001f600\":2}"},
		"0.1e1":                         {"0.1e1", "1.0"},
	} {
		for _, each := range reading {
			edit(proof.BadSubject, 3, `"outputs":{`, `"outputs":{"more":`+text+`,`, output(each))
		}
	}
	for text, reading := range map[string]string{"1.0": "1", "9007199254740993": "9007199254740992", "-0": "0", "1E2": "100", `"\/"`: `"/"`, "5e-324": "5e-324", "1e21": "1e+21", "1e-7": "1e-7", "123456789012345680000": "123456789012345680000",
		"0.000001": "0.000001", `"A\u030a"`: "\"A\u030a\"", `{"\ue000":1,"\ud83d\ude00":2}`: "{\"\U0001f600\":2,\"\ue000\":1}", `"\ud83d"`: "\"\ufffd\"", "[]": "[]", `"\u007f\u0080\u2028"`: "\"\u007f\u0080\u2028\""} {
		edit(unreplayed, 3, `"outputs":{`, `"outputs":{"more":`+text+`,`, output(reading))
	}
	step := func(name string) func(*proof.Statement) {
		return func(s *proof.Statement) { s.Predicate.Claims[1].Step = name }
	}
	edit(alike, 2, `"step":"say"`, `"step":"\ud800"`, step("\ufffd"))
	edit(alike, 2, `"step":"say"`, `"step":"\ufffd"`, step("\ufffd"))
	edit(proof.BadClaim, 2, `"step":"say"`, `"step":"s\u00e5y"`, step("sa\u030ay"))
	edit(proof.BadClaim, 2, `"step":"say"`, `"step":"SAY"`)
	edit(proof.BadClaim, 2, `"step":"say"`, `"step":"say "`)
	edit(unreplayed, 2, `"step":"say"`, `"step":"s\u0061y"`)
	edit(unreplayed, 2, `"step":"say"`, `"st\u0065p":"say"`)
	edit(proof.BadStatement, 2, `"step":"say"`, `"step":"say","x":{"a":1,"a":1}`)
	edit(proof.BadStatement, 2, `"step":"say"`, `"step":"say","x":[{"a":1,"\u0061":2}]`)
	edit(proof.BadStatement, 2, `"step":"say"`, `"step":"say","prev":1,"x":{"":1,"":2}`)
	edit(unreplayed, 2, `"step":"say"`, `"step":"say","x":{"a":{"a":{"a":1}}}`)
	edit(proof.BadStatement, 2, `"by":"local"`, `"by":"local","x":"`+"\t"+`"`)
	edit(proof.BadStatement, 2, `"by":"local"`, `"by":"local","x":'y'`)
	edit(proof.BadStatement, 2, `"by":"local"`, `"by":"local",`)
	edit(proof.BadStatement, 2, `"by":"local"`, `"by":"local"/**/`)
	edit(proof.BadStatement, 2, `"by":"local"`, `"by":"local","x":"\x41"`)
	edit(proof.BadStatement, 2, `"by":"local"`, `"by":"local","x":"\u00e"`)
	edit(alike, 2, `"by":"local"`, `"by":"local" `)
	edit(alike, 2, `"kind":"result"`, `"kind":"result","prev":"x"`)
	edit(alike, 2, `"kind":"result"`, `"kind":"result","hash":"x"`)
	edit(alike, 2, `"version":3,`, `"version":3e0,`)
	edit(alike, 2, `"witness"`, `"witness":null,"other"`)
}

// signers are signatures of kinds of keys that do not count, or of keys that were mixed up.
func (f *forger) signers() {
	payload := payloadOf(f.t, f.plain)
	message := dsse.PAE(proof.PayloadType, payload)
	big, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(f.t, err)
	for name, key := range map[string]any{"RSA": big} {
		signer, err := ssh.NewSignerFromKey(key)
		require.NoError(f.t, err)
		f.extra = append(f.extra, signer)
		sig, err := keys.Sign(signer, message)
		require.NoError(f.t, err)
		f.add("a key of "+name, proof.BadSignature, closed(f.t, map[string]any{"payloadType": proof.PayloadType, "payload": base64.StdEncoding.EncodeToString(payload),
			"signatures": []any{map[string]any{"keyid": ssh.FingerprintSHA256(signer.PublicKey()), "sig": base64.StdEncoding.EncodeToString(sig), "timestamp": ""}}}))
	}
	both := func(change func(a, b map[string]any)) []byte {
		envelope := opened(f.t, sealed(f.t, f.plain, f.ada, f.eve))
		signatures := envelope["signatures"].([]any)
		change(signatures[0].(map[string]any), signatures[1].(map[string]any))
		return closed(f.t, envelope)
	}
	f.add("two signatures with their key ids swapped", proof.BadSignature, both(func(a, b map[string]any) { a["keyid"], b["keyid"] = b["keyid"], a["keyid"] }))
	f.add("two signatures with their content swapped", proof.BadSignature, both(func(a, b map[string]any) { a["sig"], b["sig"] = b["sig"], a["sig"] }))
	f.add("a second signature that fits nothing", proof.BadSignature, both(func(_, b map[string]any) { b["sig"] = "AAAA" }))
	f.add("a second signature of another content", proof.BadSignature, both(func(_, b map[string]any) {
		b["sig"] = opened(f.t, sealed(f.t, f.other, f.eve))["signatures"].([]any)[0].(map[string]any)["sig"]
	}))
	f.add("a second signature under the key id of the first", proof.BadSignature, both(func(a, b map[string]any) { b["keyid"] = a["keyid"] }))
	f.add("a key id without its kind", proof.BadSignature, both(func(a, _ map[string]any) { a["keyid"] = strings.TrimPrefix(a["keyid"].(string), "SHA256:") }))
	f.add("a key id with padding", proof.BadSignature, both(func(a, _ map[string]any) { a["keyid"] = a["keyid"].(string) + "=" }))
	f.add("a key id with a word behind it", proof.BadSignature, both(func(a, _ map[string]any) { a["keyid"] = a["keyid"].(string) + " ada" }))
	f.add("a key id in MD5", proof.BadSignature, both(func(a, _ map[string]any) { a["keyid"] = ssh.FingerprintLegacyMD5(f.ada.PublicKey()) }))
	for name, signed := range map[string][]byte{
		"of another type's length": bytes.Replace(message, []byte("DSSEv1 28 "), []byte("DSSEv1 29 "), 1),
		"of another version":       bytes.Replace(message, []byte("DSSEv1 "), []byte("DSSEv2 "), 1),
		"of a length with a zero":  bytes.Replace(message, fmt.Appendf(nil, " %d ", len(payload)), fmt.Appendf(nil, " 0%d ", len(payload)), 1),
		"of another type":          dsse.PAE("application/json", payload),
		"of a type in capitals":    dsse.PAE(strings.ToUpper(proof.PayloadType), payload),
		"of the base64":            dsse.PAE(proof.PayloadType, []byte(base64.StdEncoding.EncodeToString(payload))),
		"of nothing":               {},
		"of a line more":           append(slices.Clone(message), '\n'),
	} {
		sig, err := keys.Sign(f.ada, signed)
		require.NoError(f.t, err)
		f.add("a signature "+name, proof.BadSignature, f.around(payload, sig))
	}
}

// withoutPadding returns "" for a text that has none: a third of all lengths need none.
func withoutPadding(s string) string {
	if plain := strings.TrimRight(s, "="); plain != s {
		return plain
	}
	return ""
}

// encoded are envelopes in which the same bytes are written in another way.
func (f *forger) encoded() {
	for name, change := range map[string]func(string) string{
		"without padding":              func(s string) string { return cmp.Or(withoutPadding(s), s[:len(s)-1]) },
		"with more padding":            func(s string) string { return s + "====" },
		"in the alphabet of addresses": func(s string) string { return strings.NewReplacer("+", "-", "/", "_").Replace(s) + "-_-_" },
		"with a line break":            func(s string) string { return s[:76] + "\n" + s[76:] },
		"with a space":                 func(s string) string { return s[:4] + " " + s[4:] },
		"with a space before":          func(s string) string { return " " + s },
		"with a zero byte":             func(s string) string { return s + "\x00" },
		"empty":                        func(string) string { return "" },
		"with bits left over":          func(s string) string { return strings.TrimRight(s, "=")[:len(strings.TrimRight(s, "="))/4*4] + "QR==" },
		"in wide characters":           func(s string) string { return "\uff21" + s[1:] },
		"with an escape":               func(s string) string { return s + "\\u003d" },
	} {
		envelope := opened(f.t, f.file)
		envelope["payload"] = change(envelope["payload"].(string))
		f.add("the content "+name, "any", closed(f.t, envelope))
		envelope = opened(f.t, f.file)
		one := envelope["signatures"].([]any)[0].(map[string]any)
		one["sig"] = change(one["sig"].(string))
		f.add("a signature "+name, "any", closed(f.t, envelope))
		envelope = opened(f.t, f.stamped)
		one = envelope["signatures"].([]any)[0].(map[string]any)
		one["timestamp"] = change(one["timestamp"].(string))
		f.add("a time stamp "+name, alike, closed(f.t, envelope)) // an empty text is no time stamp
	}
	for _, kind := range []string{"", "application/vnd.in-toto+json ", "application/vnd.in-toto+JSON", "application/vnd.in-toto+dsse", "text/plain", "application/vnd.in-toto+json; charset=utf-8"} {
		payload := payloadOf(f.t, f.plain)
		sig, err := keys.Sign(f.ada, dsse.PAE(kind, payload))
		require.NoError(f.t, err)
		envelope := opened(f.t, f.around(payload, sig))
		envelope["payloadType"] = kind
		f.add(fmt.Sprintf("the type %q", kind), proof.BadEnvelope, closed(f.t, envelope))
	}
	text := string(f.file)
	for name, file := range map[string]string{
		"a carriage return":         strings.TrimSuffix(text, "\n") + "\r\n",
		"a byte order mark":         "\ufeff" + text,
		"the content twice":         strings.Replace(text, `{"payload":`, `{"payload":"AAAA","payload":`, 1),
		"the signatures twice":      strings.Replace(text, `"signatures":`, `"signatures":[],"signatures":`, 1),
		"a signature's key twice":   strings.Replace(text, `{"keyid":`, `{"keyid":"x","keyid":`, 1),
		"a member in other letters": strings.Replace(text, `"payloadType"`, `"PayloadType"`, 1),
		"an escaped name":           strings.Replace(text, `"payload":`, `"p\u0061yload":`, 1),
		"two envelopes":             text + text,
		"a list of one":             "[" + strings.TrimSuffix(text, "\n") + "]\n",
	} {
		f.add("an envelope with "+name, proof.BadEnvelope, []byte(file))
	}
	f.add("an empty content", proof.BadStatement, f.whole(nil))
}

// stamps are time stamps of something else, in another hash, or around the end of the run.
func (f *forger) stamps() {
	clock := newClock(f.t)
	sig, err := base64.StdEncoding.DecodeString(opened(f.t, f.file)["signatures"].([]any)[0].(map[string]any)["sig"].(string))
	require.NoError(f.t, err)
	ended, err := time.Parse(time.RFC3339Nano, jsonvalue.TextMember([]byte(f.plain.Predicate.Records[3]), "time"))
	require.NoError(f.t, err)
	sum := func(data []byte) []byte { found := sha256.Sum256(data); return found[:] }
	long := sha512.Sum512(sig)
	put := func(name string, code proof.Code, hash crypto.Hash, digest []byte, at time.Time, nonce []byte) {
		answer := stamping.Timestamp{HashAlgorithm: hash, HashedMessage: digest, Time: at, Policy: []int{1, 2, 3}, AddTSACertificate: true, Nonce: new(big.Int).SetBytes(nonce)}
		response, err := answer.CreateResponseWithOpts(clock.certificate, clock.key, crypto.SHA256)
		require.NoError(f.t, err)
		parsed, err := stamping.ParseResponse(response)
		require.NoError(f.t, err)
		envelope := opened(f.t, f.file)
		envelope["signatures"].([]any)[0].(map[string]any)["timestamp"] = base64.StdEncoding.EncodeToString(parsed.RawToken)
		f.add("a time stamp "+name, code, closed(f.t, envelope))
	}
	later := ended.Add(time.Hour)
	put("of the signature, an hour later", "", crypto.SHA256, sum(sig), later, nil)
	put("of the second in which the run ended", "", crypto.SHA256, sum(sig), ended.Truncate(time.Second), nil)
	put("of the second before", proof.BadTimestamp, crypto.SHA256, sum(sig), ended.Truncate(time.Second).Add(-time.Second), nil)
	put("of 1999", proof.BadTimestamp, crypto.SHA256, sum(sig), time.Date(1999, 12, 31, 23, 59, 59, 0, time.UTC), nil)
	put("of the year 2051", "", crypto.SHA256, sum(sig), time.Date(2051, 1, 1, 0, 0, 0, 0, time.UTC), nil)
	put("in another hash", proof.BadTimestamp, crypto.SHA512, long[:], later, nil)
	put("of the content", proof.BadTimestamp, crypto.SHA256, sum(payloadOf(f.t, f.plain)), later, nil)
	put("of the base64 of the signature", proof.BadTimestamp, crypto.SHA256, sum([]byte(base64.StdEncoding.EncodeToString(sig))), later, nil)
	put("of something else, with the digest as its nonce", proof.BadTimestamp, crypto.SHA256, sum([]byte("x")), later, append([]byte{4, 32}, sum(sig)...))
	put("in zeros", proof.BadTimestamp, crypto.SHA256, make([]byte, 32), later, nil)
}
