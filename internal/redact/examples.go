package redact

import (
	"bytes"
	"encoding/base64"
	"strings"
	"unicode/utf8"

	"savant/internal/pattern"
)

// examplePair reports whether a user and a password are those of an example: one word for
// both, a password that stands for another, or what exampleWord knows.
func examplePair(user, password string) bool {
	user, password = strings.Trim(user, quoteBytes), strings.ReplaceAll(strings.Trim(password, quoteBytes), "%20", " ")
	return isPlaceholder(password) || namedForWhatItIs().MatchString(password) || strings.EqualFold(user, password) || password != "" && placeholder[password[0]]
}

const quoteBytes = "\"'"

// namedForWhatItIs matches what stands for a password in an address: aws_secret_access_key.
var namedForWhatItIs = pattern.Lazy(`^[a-z]+(_[a-z]+)*_(key|secret|token|pass|password)$`)

// basicPair returns the user and the password that a text has in base64, as in the
// header of basic authentication.
func basicPair(text string) (user, password string, is bool) {
	raw, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(text, "="))
	if err != nil || !bytes.ContainsRune(raw, ':') || !utf8.Valid(raw) {
		return "", "", false
	}
	user, password, _ = strings.Cut(string(raw), ":")
	return user, password, true
}

// exampleCount matches what examples have in place of a secret: mypass, test-token,
// abc123, password1.
var exampleCount = pattern.Lazy(`^((abc|default|dummy|example|fake|foo|hashed|my|not|a|sample|some|super|test|the|user|your)[-_ ]?){0,3}` +
	`(abc|bar|foo|key|pass|passwd|password|pwd|secret|test|token|value|xyz)[-_]?(\d|12|1?23|1234|12345|123456|456|789)?$`)

// isPlaceholder reports whether a text is what examples have in place of a secret.
func isPlaceholder(text string) bool {
	text = strings.ToLower(text)
	switch text {
	case "string", "redacted", "true", "false", "none", "null", "admin", "root", "guest", "tiger", "postgres", "mysql", "demo", "example", "dummy", "changeme", "change-me", "change_me":
		return true
	}
	if exampleCount().MatchString(text) || version().MatchString(text) || isElided(text) {
		return true
	}
	return strings.HasPrefix(text, "your") || strings.HasPrefix(text, "replace_") || strings.HasPrefix(text, "[redacted") || strings.Trim(text, "*x.-") == "" || filledIn(text) || strings.HasPrefix(text, "abcdefghijklmnopqrstuvwxyz")
}

// filledIn reports whether a text in small letters ends in what holds the place of a key.
func filledIn(text string) bool { return strings.HasSuffix(text, "xxxxxx") }

// version matches what a file of dependencies has behind a package's name, such as
// "tough-cookie": "npm:^4.1.4".
var version = pattern.Lazy(`^(npm:|workspace:)?([~^]|[<>]=?|v|==?)? ?\d+\.\d+\.\d+(-[a-z]+\.?\d*)?$`)

// mostShown is how many bytes of a secret that is shown shortened may be shown.
const mostShown = 24

// isElided reports whether a text is a secret of which the rest is left out:
// eyJhbGciOi...
func isElided(text string) bool {
	shown, _, is := strings.Cut(text, "...")
	return is && len(shown) < mostShown
}

// severalWordsOrOne reports whether a text is a word, or some; a token or a key that a
// program made has digits, or is longer.
func severalWordsOrOne(text string) bool { return oneWord().MatchString(text) || areWords(text) }

var oneWord = pattern.Lazy(`^[A-Z]?[a-z]{1,12}$`)

// areWords reports whether a text is some words with - and _ between them, as the name
// of a thing is: _aj_ruby2_keywords, todos-vuejs-3.x.
func areWords(text string) bool { return len(text) < 2*longWord && severalWords().MatchString(text) }

var severalWords = pattern.Lazy(`^[_-]?[a-z]{2,12}\d?([_-]([a-z]{2,12}\d?|\d(\.[\dx])*))+$`)
