package mount

import (
	"encoding/json"
	"slices"
	"strings"
)

// redacted stands where a secret was.
const redacted = "[redacted]"

// minSecret is the length in bytes below which a text is no secret that could
// be looked for: it would be found everywhere.
const minSecret = 4

// redactor takes the secrets of one server out of what it says.
type redactor struct{ replace *strings.Replacer }

func newRedactor(secrets []string) redactor {
	secrets = slices.DeleteFunc(slices.Clone(secrets), func(s string) bool { return len(s) < minSecret })
	// The longest first: one secret may be part of another.
	slices.SortFunc(secrets, func(a, b string) int { return len(b) - len(a) })
	var pairs []string
	for _, secret := range slices.Compact(secrets) {
		pairs = append(pairs, secret, redacted)
		if escaped, err := json.Marshal(secret); err == nil && string(escaped) != `"`+secret+`"` {
			pairs = append(pairs, string(escaped[1:len(escaped)-1]), redacted)
		}
	}
	return redactor{strings.NewReplacer(pairs...)}
}

func (r redactor) text(text string) string {
	if r.replace == nil {
		return text
	}
	return r.replace.Replace(text)
}

func (r redactor) json(raw json.RawMessage) json.RawMessage {
	if r.replace == nil || raw == nil {
		return raw
	}
	return json.RawMessage(r.replace.Replace(string(raw)))
}
