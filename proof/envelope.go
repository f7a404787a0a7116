package proof

import (
	"context"
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
	// Timestamp is a token of RFC 3161 for the bytes of Sig.
	Timestamp string `json:"timestamp,omitempty"`
}

// maxFile bounds the file of a proof, in bytes; maxSignatures its signatures.
const (
	maxFile       = 128 << 20
	maxSignatures = 16
)

// MaxFile is the size in bytes up to which Verify reads a file.
const MaxFile = maxFile

// sealer signs an envelope with a key of SSH. It implements dsse.Signer.
type sealer struct{ signer ssh.Signer }

func (s sealer) Sign(_ context.Context, message []byte) ([]byte, error) {
	return keys.Sign(s.signer, message)
}

func (s sealer) KeyID() (string, error) { return ssh.FingerprintSHA256(s.signer.PublicKey()), nil }

// Seal returns the file of a statement, signed by each key.
func Seal(ctx context.Context, statement *Statement, signers ...ssh.Signer) ([]byte, error) {
	payload, err := statement.Payload()
	if err != nil {
		return nil, err
	}
	var sealers []dsse.Signer
	for _, each := range signers {
		sealers = append(sealers, sealer{each})
	}
	sealing, err := dsse.NewEnvelopeSigner(sealers...)
	if err != nil {
		return nil, fault.New(fault.InvalidParams, "a proof needs a key that signs it")
	}
	sealed, err := sealing.SignPayload(ctx, PayloadType, payload)
	if err != nil {
		return nil, fault.New(fault.Internal, "signing a proof: %w", err)
	}
	out := envelope{sealed.PayloadType, sealed.Payload, nil}
	for _, each := range sealed.Signatures {
		out.Signatures = append(out.Signatures, signature{KeyID: each.KeyID, Sig: each.Sig})
	}
	return out.file()
}

func (e envelope) file() ([]byte, error) {
	text, err := encode(e)
	return append(text, '\n'), err
}

// unpack reads the envelope of a file and its payload. Only one form of it counts.
func unpack(file []byte) (sealed envelope, payload []byte, ok bool) {
	if len(file) > maxFile || len(file) == 0 || file[len(file)-1] != '\n' || !decode(file[:len(file)-1], &sealed) {
		return sealed, nil, false
	}
	payload, ok = strictBase64(sealed.Payload)
	return sealed, payload, ok && sealed.PayloadType == PayloadType && len(sealed.Signatures) > 0 && len(sealed.Signatures) <= maxSignatures
}

// strictBase64 decodes base64 that is written in its one form.
func strictBase64(text string) ([]byte, bool) {
	data, err := base64.StdEncoding.Strict().DecodeString(text)
	return data, err == nil && base64.StdEncoding.EncodedLen(len(data)) == len(text)
}
