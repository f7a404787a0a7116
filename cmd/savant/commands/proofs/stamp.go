package proofs

import (
	"bytes"
	"context"
	"crypto/x509"
	"io"
	"net/http"
	"time"

	"savant/fault"
	"savant/internal/httpclient"
	"savant/proof"
	"savant/proof/keys"
)

// authority is the address of an authority that makes time stamps.
type authority string

const (
	stampPatience = 30 * time.Second
	maxStamp      = 1 << 20
)

// Stamp implements proof.Authority.
func (a authority) Stamp(ctx context.Context, request []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, stampPatience)
	defer cancel()
	asked, err := http.NewRequestWithContext(ctx, http.MethodPost, string(a), bytes.NewReader(request))
	if err != nil {
		return nil, fault.New(fault.InvalidParams, "--timestamp: expected an address, such as https://tsa.example.com")
	}
	asked.Header.Set("Content-Type", "application/timestamp-query")
	answer, err := (&http.Client{CheckRedirect: httpclient.SameOrigin}).Do(asked)
	if err != nil {
		return nil, fault.New(fault.ToolFailed, "the authority of time stamps does not answer")
	}
	defer func() { _ = answer.Body.Close() }() // it was only read
	if answer.StatusCode != http.StatusOK {
		return nil, fault.New(fault.ToolFailed, "the authority of time stamps answers with status %d", answer.StatusCode)
	}
	content, err := io.ReadAll(io.LimitReader(answer.Body, maxStamp))
	if err != nil {
		return nil, fault.New(fault.ToolFailed, "the answer of the authority of time stamps was cut off")
	}
	return content, nil
}

// stamps reads the certificates of authorities whose time stamps count.
func stamps(file string) (*proof.Stamps, error) {
	if file == "" {
		return &proof.Stamps{}, nil
	}
	text, err := keys.File(file)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(text) {
		return nil, fault.New(fault.InvalidParams, "--timestamp-roots: there is no certificate in PEM in the file")
	}
	return &proof.Stamps{Roots: roots}, nil
}
