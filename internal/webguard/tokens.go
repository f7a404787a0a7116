package webguard

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"strings"

	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/internal/regular"
)

// Token is an accepted token. Only its digest is stored.
type Token struct {
	Name string `json:"name"`
	// Digest is "sha256:" and the digest of the token, in hexadecimal.
	Digest string `json:"digest"`
	// Scopes are the permissions of the bearer; the server defines their meaning.
	Scopes []string `json:"scopes,omitempty"`
	// Path is the only folder of the bearer; empty: the server's.
	Path string `json:"path,omitempty"`
	// PerMinute is the maximum number of requests in a minute, PerDay that of tool
	// calls in a day; 0: the server's limits.
	PerMinute int `json:"per_minute,omitempty"`
	PerDay    int `json:"per_day,omitempty"`
}

// Tokens are the accepted tokens of a server.
type Tokens []Token

// maxTokens is the maximum size of a token file, in bytes.
const maxTokens = 1 << 20

// ReadTokens reads a token file: {"tokens": [{"name", "digest", "scopes"}]}; none if it is
// absent, or path is "". The error is INVALID_PARAMS.
func ReadTokens(path string) (Tokens, error) {
	data, err := regular.ReadPath(path, maxTokens)
	if path == "" || errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fault.New(fault.InvalidParams, "the token file %s cannot be read: %w", path, fault.WithoutPath(err))
	}
	tokens, err := parseTokens(data)
	if err != nil {
		return nil, fault.New(fault.InvalidParams, "the token file %s: %w", path, err)
	}
	return tokens, nil
}

// parseTokens parses a token file. Unknown members belong to other servers.
func parseTokens(data []byte) (Tokens, error) {
	if _, err := jsonvalue.Decode(data); err != nil { // also refuses duplicate keys
		return nil, err
	}
	var held struct{ Tokens Tokens }
	if err := json.Unmarshal(data, &held); err != nil {
		return nil, err
	}
	for _, each := range held.Tokens {
		digits, known := strings.CutPrefix(each.Digest, digestPrefix)
		if raw, err := hex.DecodeString(digits); !known || err != nil || len(raw) != sha256.Size || strings.ToLower(digits) != digits {
			return nil, fault.New(fault.InvalidParams, "the digest of token %q: expected sha256: and 64 hexadecimal digits in lower case", fault.Cut(each.Name, 100))
		}
	}
	return held.Tokens, nil
}

const digestPrefix = "sha256:"

// Digest returns the stored form of a token.
func Digest(token string) string {
	return digestPrefix + jsonvalue.HexSum([]byte(token))
}

// NewToken returns a random token.
func NewToken() string { return "savant_" + rand.Text() + rand.Text() }

// Find returns the accepted token with a text. It compares digests, and all of them, so
// that its duration reveals nothing about a token.
func (t Tokens) Find(text string) (Token, bool) {
	given := Digest(text)
	var found Token
	known := false
	for _, each := range t {
		if Equal(each.Digest, given) && text != "" {
			found, known = each, true
		}
	}
	return found, known
}

// Bearer returns the bearer token of a request, or "".
func Bearer(r *http.Request) string {
	scheme, given, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "bearer") {
		return ""
	}
	return strings.TrimSpace(given)
}

// Equal compares two texts in a time that depends only on their lengths.
func Equal(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }
