package access

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"

	"github.com/MicahParks/jwkset"
	"github.com/MicahParks/keyfunc/v3"
	"github.com/golang-jwt/jwt/v5"
)

// keysClient returns a client for the address of the issuer's keys.
func (i *Issuer) keysClient() *http.Client {
	client := *i.client
	client.Transport = verifyingKeys{i.client.Transport}
	return &client
}

// verifyingKeys leaves in a set of keys (RFC 7517) those that verify signatures. A key that
// is for something else, or of a kind that is not known, must be ignored; the library would
// take the one, and refuse the whole set for the other.
type verifyingKeys struct{ http.RoundTripper }

func (v verifyingKeys) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := v.RoundTripper.RoundTrip(r)
	if err != nil || answer.StatusCode != http.StatusOK {
		return answer, err
	}
	defer answer.Body.Close()
	data, err := io.ReadAll(answer.Body)
	if err != nil {
		return nil, err
	}
	var published map[string]json.RawMessage
	var all []json.RawMessage
	if err := json.Unmarshal(data, &published); err != nil {
		return nil, fmt.Errorf("the set of keys is not JSON: %w", err)
	}
	if err := json.Unmarshal(published["keys"], &all); err != nil {
		return nil, fmt.Errorf("the set of keys has no list of keys: %w", err)
	}
	usable := []json.RawMessage{}
	for _, each := range all {
		if key, verifies := verifying(each); verifies {
			usable = append(usable, key)
		}
	}
	text, err := json.Marshal(map[string]any{"keys": usable})
	if err != nil {
		return nil, err
	}
	answer.Body, answer.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
	return answer, nil
}

// signatures are the accepted algorithms (RFC 7518, RFC 8037).
func signatures() []string {
	return []string{"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"}
}

// keyMembers are the members of a public key that verify a signature.
var keyMembers = []string{"kty", "kid", "alg", "crv", "x", "y", "n", "e"}

// verifying returns a published key by the exact names of its members, and whether it
// verifies signatures.
func verifying(raw json.RawMessage) (key json.RawMessage, verifies bool) {
	key, err := exactMembers(raw, keyMembers)
	if err != nil {
		return nil, false
	}
	uses, err := exactMembers(raw, []string{"use", "key_ops"})
	if err != nil {
		return nil, false
	}
	var meant struct {
		Use *string  `json:"use"`
		Ops []string `json:"key_ops"`
	}
	if json.Unmarshal(uses, &meant) != nil || meant.Use != nil && *meant.Use != "sig" || meant.Ops != nil && !slices.Contains(meant.Ops, "verify") {
		return nil, false
	}
	read, err := jwkset.NewJWKFromRawJSON(key, jwkset.JWKMarshalOptions{}, jwkset.JWKValidateOptions{})
	if err != nil {
		return nil, false
	}
	algorithm := read.Marshal().ALG.String()
	return key, algorithm == "" || slices.Contains(signatures(), algorithm)
}

// unnamed returns the keys for a token that names none: those of its algorithm.
func unnamed(ctx context.Context, keys keyfunc.Keyfunc, algorithm string) (jwt.VerificationKeySet, error) {
	var set jwt.VerificationKeySet
	all, err := keys.Storage().KeyReadAll(ctx)
	for _, each := range all {
		if of := each.Marshal().ALG.String(); of == "" || of == algorithm {
			set.Keys = append(set.Keys, each.Key())
		}
	}
	return set, err
}
