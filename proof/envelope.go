package proof

import (
	"bytes"
	"encoding/base64"

	"github.com/secure-systems-lab/go-securesystemslib/dsse"
	"golang.org/x/crypto/ssh"

	"savant/fault"
	"savant/proof/keys"
)

// envelope is a DSSE envelope, whose signatures may carry the token of a time stamp.
type envelope struct {
	PayloadType string      `json:"payloadType"`
	Payload     string      `json:"payload"`
	Signatures  []signature `json:"signatures"`
}

// signature is one signature of a payload. Sig is that of SSH, with its key.
type signature struct {
	KeyID string `json:"keyid"`
	Sig   string `json:"sig"`
	// Timestamp is a token of RFC 3161 for the bytes of Sig, "" for none.
	Timestamp string `json:"timestamp"`
}

// MaxFile is the size in bytes up to which Verify reads a file; maxAround bounds what is
// around the payload, and maxSignatures its signatures.
const (
	MaxFile       = 64 << 20
	maxAround     = 1 << 20
	maxSignatures = 16
)

// Seal returns the file of a statement, signed by each key.
func Seal(statement *Statement, signers ...ssh.Signer) ([]byte, error) {
	payload, err := statement.Payload()
	if err != nil {
		return nil, err
	}
	if len(signers) == 0 {
		return nil, fault.New(fault.InvalidParams, "a proof needs a key that signs it")
	}
	out := envelope{PayloadType, base64.StdEncoding.EncodeToString(payload), nil}
	for _, each := range signers {
		sig, err := keys.Sign(each, dsse.PAE(PayloadType, payload))
		if err != nil {
			return nil, err
		}
		out.Signatures = append(out.Signatures, signature{KeyID: ssh.FingerprintSHA256(each.PublicKey()), Sig: base64.StdEncoding.EncodeToString(sig)})
	}
	return out.file()
}

func (e envelope) file() ([]byte, error) {
	text, err := encode(e)
	return append(text, '\n'), err
}

// payloadStart is how a file begins.
const payloadStart = `{"payload":"`

// unpack reads the envelope of a file and its payload. Only one form of it counts. The
// payload, which may be large, is read once.
func unpack(file []byte) (sealed envelope, payload []byte, ok bool) {
	encoded, started := bytes.CutPrefix(file, []byte(payloadStart))
	size := bytes.IndexByte(encoded, '"')
	if !started || size < 0 || len(file) > MaxFile || len(encoded)-size > maxAround {
		return sealed, nil, false
	}
	around, ended := bytes.CutSuffix(append([]byte(payloadStart), encoded[size:]...), []byte("\n"))
	if !ended || !decode(around, &sealed) || sealed.PayloadType != PayloadType || len(sealed.Signatures) == 0 || len(sealed.Signatures) > maxSignatures {
		return sealed, nil, false
	}
	payload, ok = strictBase64(encoded[:size])
	return sealed, payload, ok
}

// strictBase64 decodes base64 that is written in its one form.
func strictBase64(text []byte) ([]byte, bool) {
	data := make([]byte, base64.StdEncoding.DecodedLen(len(text)))
	size, err := base64.StdEncoding.Strict().Decode(data, text)
	return data[:size], err == nil && base64.StdEncoding.EncodedLen(size) == len(text)
}
