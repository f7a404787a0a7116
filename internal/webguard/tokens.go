package webguard

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"strings"

	"savant/fault"
	"savant/internal/jsonvalue"
)

// Token is one that a server accepts. Only its digest is kept.
type Token struct {
	Name string `json:"name"`
	// Digest is "sha256:" and the digest of the token's bytes, in hexadecimal.
	Digest string `json:"digest"`
	// Scopes are what its bearer may do; what they mean is the server's.
	Scopes []string `json:"scopes,omitempty"`
	// Path is the one folder that its bearer works in; empty: that of the server.
	Path string `json:"path,omitempty"`
	// PerMinute is how many requests its bearer may send in a minute, PerDay how many
	// tools they may call in a day; 0: what the server says.
	PerMinute int `json:"per_minute,omitempty"`
	PerDay    int `json:"per_day,omitempty"`
}

// Tokens are those that a server accepts.
type Tokens []Token

// maxTokens is how large a file of tokens may be, in bytes.
const maxTokens = 1 << 20

// ReadTokens reads a file of tokens: {"tokens": [{"name", "digest", "scopes"}]}. A file
// without one is an error, for it would keep everybody out. INVALID_PARAMS.
func ReadTokens(path string) (Tokens, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, unreadable(path, err)
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, fault.New(fault.InvalidParams, "the token file %s is not a regular file", path)
	}
	data, err := io.ReadAll(io.LimitReader(file, maxTokens+1))
	if err != nil {
		return nil, unreadable(path, err)
	}
	if len(data) > maxTokens {
		return nil, fault.New(fault.InvalidParams, "the token file %s has more than %d bytes", path, maxTokens)
	}
	tokens, err := parseTokens(data)
	if err != nil {
		return nil, fault.New(fault.InvalidParams, "the token file %s: %w", path, err)
	}
	return tokens, nil
}

func unreadable(path string, err error) error {
	var failed *fs.PathError
	if errors.As(err, &failed) {
		err = failed.Err
	}
	return fault.New(fault.InvalidParams, "the token file %s cannot be read: %w", path, err)
}

// parseTokens reads what a file of tokens holds. Members that it does not know are
// another server's.
func parseTokens(data []byte) (Tokens, error) {
	if _, err := jsonvalue.Decode(data); err != nil { // keys that are there twice, too
		return nil, err
	}
	var held struct{ Tokens Tokens }
	if err := json.Unmarshal(data, &held); err != nil {
		return nil, err
	}
	if len(held.Tokens) == 0 {
		return nil, fmt.Errorf(`%w: expected {"tokens": [{"name": "…", "digest": "sha256:…"}]}`, ErrNoTokens)
	}
	for _, each := range held.Tokens {
		digits, known := strings.CutPrefix(each.Digest, digestPrefix)
		if raw, err := hex.DecodeString(digits); !known || err != nil || len(raw) != sha256.Size || strings.ToLower(digits) != digits {
			return nil, fault.New(fault.InvalidParams, "the digest of token %q: expected sha256: and 64 hexadecimal digits in lower case", fault.Cut(each.Name, 100))
		}
	}
	return held.Tokens, nil
}

// ErrNoTokens is the cause of an error about a file of tokens without one.
var ErrNoTokens = errors.New("it has no tokens")

const digestPrefix = "sha256:"

// Digest is what is kept of a token.
func Digest(token string) string {
	sum := sha256.Sum256([]byte(token))
	return digestPrefix + hex.EncodeToString(sum[:])
}

// NewToken makes a token that nobody can guess.
func NewToken() string { return "savant_" + rand.Text() + rand.Text() }

// Find returns the accepted token that a text is. Each is compared, and digests are, so
// that the time it takes tells nothing of any token.
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

// Equal compares two texts in a time that depends on their lengths alone.
func Equal(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }
