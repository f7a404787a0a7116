package reasoning

import (
	"regexp"
	"strconv"
)

// named is what a member or variable that holds a secret is called.
const named = `\b[a-z0-9_-]*(?:api[_-]?key|token|secret|password|passwd|authorization)`

// secrets are the shapes of keys and tokens that must not be repeated: an
// authorization header, well-known key prefixes, JSON web tokens, members and
// variables named like a secret, and a password in an address.
var secrets = []struct {
	shape *regexp.Regexp
	shown string
}{
	{regexp.MustCompile(`(?i)\b(bearer|basic)(\s+|%20)[A-Za-z0-9._~+/=-]{6,}`), "$1 [redacted]"},
	{regexp.MustCompile(`\b(sk|pk|rk|ghp|gho|ghs|ghu|glpat|xox[abprs]|github_pat|AKIA|AIza)[-_]?[A-Za-z0-9_-]{8,}`), "[redacted]"},
	{regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]{4,}(\.[A-Za-z0-9_-]*)?`), "[redacted]"},
	{regexp.MustCompile(`(?i)(` + named + `\\*["']?\s*:?[:=]\s*)\\*(?:"[^"\n]+"|'[^'\n]+')`), "${1}[redacted]"},
	{regexp.MustCompile(`(?i)(` + named + `(?:=|:[ \t]+))[^\s"',;&{}()\[\]=]+`), "${1}[redacted]"},
	{regexp.MustCompile(`(?i)([a-z][a-z0-9+.-]*://)[^/\s@"]+@`), "${1}[redacted]@"},
}

// Redact returns text without what looks like a secret.
func Redact(text string) string {
	for _, each := range secrets {
		text = each.shape.ReplaceAllString(text, each.shown)
	}
	return text
}

// plural is "1 attempt", "2 attempts".
func plural(count int, noun string) string {
	if count != 1 {
		noun += "s"
	}
	return strconv.Itoa(count) + " " + noun
}
