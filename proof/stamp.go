package proof

import (
	"bytes"
	"context"
	"crypto"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"slices"
	"time"

	"github.com/digitorus/timestamp"

	"savant/fault"
)

// Stamps are the authorities whose time stamps count.
type Stamps struct {
	// Roots are their certificates; nil takes a time stamp for its own word.
	Roots *x509.CertPool
}

func (s *Stamps) trusted() bool { return s != nil && s.Roots != nil }

// check checks that a token is of a signature, and notes its time.
func (s *Stamps) check(token string, sig []byte, signer *Signer) error {
	raw, ok := strictBase64([]byte(token))
	if !ok {
		return errors.New("it is not base64")
	}
	found, err := timestamp.Parse(raw)
	if err != nil || len(found.Certificates) == 0 {
		return errors.New("it is no whole token of RFC 3161 with its certificate")
	}
	digest := sha256.Sum256(sig)
	if found.HashAlgorithm != crypto.SHA256 || !bytes.Equal(found.HashedMessage, digest[:]) {
		return errors.New("it is of another signature")
	}
	signer.Stamped, signer.StampedBy = found.Time.UTC().Format(time.RFC3339), found.Certificates[0].Subject.CommonName
	if !s.trusted() {
		signer.StampedBy += " (not checked who that is)"
		return nil
	}
	if !slices.ContainsFunc(found.Certificates, func(each *x509.Certificate) bool { return s.leads(each, found) }) {
		return errors.New("no authority that counts has made it")
	}
	return nil
}

// leads reports whether a certificate may stamp, and leads to an authority that counts.
func (s *Stamps) leads(certificate *x509.Certificate, found *timestamp.Timestamp) bool {
	between := x509.NewCertPool()
	for _, each := range found.Certificates {
		between.AddCert(each)
	}
	_, err := certificate.Verify(x509.VerifyOptions{Roots: s.Roots, Intermediates: between, CurrentTime: found.Time,
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageTimeStamping}})
	return err == nil
}

// Authority answers requests of RFC 3161.
type Authority interface {
	Stamp(ctx context.Context, request []byte) (response []byte, err error)
}

// Stamp gives each signature of a file a time stamp, unless it has one.
func Stamp(ctx context.Context, file []byte, authority Authority) ([]byte, error) {
	sealed, payload, ok := unpack(file)
	if !ok {
		return nil, fault.New(fault.InvalidParams, "the file is no proof")
	}
	sealed.Payload = base64.StdEncoding.EncodeToString(payload)
	for i := range sealed.Signatures {
		each := &sealed.Signatures[i]
		sig, ok := strictBase64([]byte(each.Sig))
		if !ok || each.Timestamp != "" {
			continue
		}
		request, err := timestamp.CreateRequest(bytes.NewReader(sig), &timestamp.RequestOptions{Hash: crypto.SHA256, Certificates: true})
		if err != nil {
			return nil, fault.New(fault.Internal, "asking for a time stamp: %w", err)
		}
		response, err := authority.Stamp(ctx, request)
		if err != nil {
			return nil, err
		}
		stamped, err := timestamp.ParseResponse(response)
		if err != nil {
			return nil, fault.New(fault.ToolFailed, "the authority did not answer with a time stamp")
		}
		each.Timestamp = base64.StdEncoding.EncodeToString(stamped.RawToken)
		if err := (&Stamps{}).check(each.Timestamp, sig, &Signer{}); err != nil {
			return nil, fault.New(fault.ToolFailed, "the authority's time stamp does not hold: %w", err)
		}
	}
	return sealed.file()
}
