package telemetry

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// Redacted stands where a secret was.
const Redacted = "[redacted]"

// minSecret is the length in bytes below which a value is not looked for: it
// would be found in ordinary text.
const minSecret = 8

// secretName are names of variables, headers and members that hold secrets.
var secretName = regexp.MustCompile(`(?i)(^|[_-])(token|api[_-]?key|apikey|secret|password|passwd|passphrase|authorization|cookie|credentials?|private[_-]?key|access[_-]?key)$|` +
	`_(TOKEN|KEY|SECRET|PASSWORD)$|[a-z](Token|ApiKey|APIKey|Secret|Password|AccessKey|PrivateKey)$`)

// SecretName says whether what has this name is a secret.
func SecretName(name string) bool { return secretName.MatchString(name) }

// shape is how a kind of secret looks. It is only searched where one of the
// hints stands in the text: a pattern costs a hundred times as much.
type shape struct {
	hints   []string
	pattern *regexp.Regexp
	shown   string
}

var shapes = []shape{
	{[]string{"earer", "EARER", "asic ", "ASIC "}, regexp.MustCompile(`(?i)\b(bearer|basic)(\s+|%20)[A-Za-z0-9._~+/=-]{6,}`), "$1 " + Redacted},
	{[]string{"sk-", "pk-", "rk-", "sk_", "rk_"}, regexp.MustCompile(`\b[spr]k[-_][A-Za-z0-9_-]{8,}`), Redacted},
	{[]string{"gh", "glpat-"}, regexp.MustCompile(`\b(gh[pousr]_|github_pat_|glpat-)[A-Za-z0-9_-]{8,}`), Redacted},
	{[]string{"AKIA", "ASIA", "AIza"}, regexp.MustCompile(`\b(AKIA|ASIA|AIza)[A-Za-z0-9_-]{12,}`), Redacted},
	{[]string{"xox"}, regexp.MustCompile(`\bxox[abeoprs]-[A-Za-z0-9-]{8,}`), Redacted},
	{[]string{"eyJ"}, regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]{4,}(\.[A-Za-z0-9_-]*)?`), Redacted},
	{[]string{"PRIVATE KEY"}, regexp.MustCompile(`(?s)-----BEGIN [A-Z0-9 ]*PRIVATE KEY( BLOCK)?-----.*?(-----END [A-Z0-9 ]*PRIVATE KEY( BLOCK)?-----|\z)`), Redacted},
	{[]string{"://"}, regexp.MustCompile(`([A-Za-z][A-Za-z0-9+.-]*://)[^/\s@"'<>]+@`), "${1}" + Redacted + "@"},
}

// assignment is a value given to what is named like a secret. Source code is
// full of such that are none, so it is only taken out of what nobody works with.
var assignment = shape{[]string{"oken", "OKEN", "ey", "EY", "ecret", "ECRET", "assw", "ASSW", "ookie", "OOKIE", "uthorization", "UTHORIZATION"},
	regexp.MustCompile(`((?i:[a-z0-9_-]*(?:api[_-]?key|access[_-]?key|secret|password|passwd|cookie|authorization)|[a-z0-9_-]+[_-]token|\btoken)|[A-Z0-9_]+_KEY)` +
		`("?\s*[:=]\s*)("[^"\s][^"]*"?|'[^'\s][^']*'?|[^\s,;&}"'\[][^\s,;&}"']*)`), "${1}${2}" + Redacted}

// Redactor takes secrets out of what is shown: the values it was told of, in
// the usual encodings, and what looks like a secret. It may be used by several
// goroutines at once.
type Redactor struct {
	known  []string
	shapes []shape
}

// NewRedactor returns one that knows these values. Those under 8 bytes are not
// looked for.
func NewRedactor(values ...string) *Redactor {
	r := &Redactor{shapes: append(slices.Clone(shapes), assignment)}
	for _, value := range values {
		for _, each := range []string{value, strings.TrimSpace(value)} {
			if len(each) >= minSecret {
				r.known = append(r.known, encodings(each)...)
			}
		}
	}
	slices.SortFunc(r.known, func(a, b string) int { return cmp.Or(len(b)-len(a), cmp.Compare(a, b)) }) // the longest first
	r.known = slices.Compact(r.known)
	return r
}

// RedactorOf returns one that knows the values of the variables of an
// environment ("NAME=value") whose names are those of secrets.
func RedactorOf(environment []string, further ...string) *Redactor {
	values := slices.Clone(further)
	for _, each := range environment {
		if name, value, ok := strings.Cut(each, "="); ok && SecretName(name) {
			values = append(values, value)
		}
	}
	return NewRedactor(values...)
}

// Certain returns a redactor for what a model works with, such as source code:
// it takes out what is a secret for certain, and leaves what is only named like
// one.
func (r *Redactor) Certain() *Redactor { return &Redactor{known: r.known, shapes: shapes} }

// encodings are the ways a value stands in JSON, addresses and headers.
func encodings(value string) []string {
	escaped, err := json.Marshal(value)
	if err != nil {
		escaped = []byte(`""`)
	}
	return []string{value, string(escaped[1 : len(escaped)-1]), url.QueryEscape(value), url.PathEscape(value),
		base64.StdEncoding.EncodeToString([]byte(value)), base64.RawURLEncoding.EncodeToString([]byte(value))}
}

// Text returns text without secrets.
func (r *Redactor) Text(text string) string {
	for _, value := range r.known {
		if strings.Contains(text, value) {
			text = strings.ReplaceAll(text, value, Redacted)
		}
	}
	for _, each := range r.shapes {
		if each.hinted(text) {
			text = each.pattern.ReplaceAllString(text, each.shown)
		}
	}
	return text
}

// JSON returns a JSON value without secrets: in texts, in names, and in
// members with the name of a secret. What is not JSON is redacted as text.
func (r *Redactor) JSON(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 || r.harmless(raw) {
		return raw
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var value any
	err := decoder.Decode(&value)
	if _, end := decoder.Token(); err != nil || !errors.Is(end, io.EOF) {
		return marshal(r.Text(string(raw))) // no JSON, or more than one value
	}
	clean, changed := r.value(value)
	if !changed {
		return raw
	}
	return marshal(clean)
}

// secretWords are those of which every name of a secret holds one. The last two
// are letters that a pattern which ignores case takes for s and k.
var secretWords = []string{"token", "key", "secret", "passw", "passphrase", "authorization", "cookie", "credential", "\u017f", "\u212a"}

// namesSecret says whether one of the words is in JSON, in whatever case.
func namesSecret(raw json.RawMessage) bool {
	lower := make([]byte, len(raw))
	for i, c := range raw {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		lower[i] = c
	}
	return slices.ContainsFunc(secretWords, func(word string) bool { return bytes.Contains(lower, []byte(word)) })
}

// harmless says for certain that a JSON value holds no secret, without taking it
// apart: no escapes that could hide one, no name of one, no value and no shape.
func (r *Redactor) harmless(raw json.RawMessage) bool {
	if bytes.IndexByte(raw, '\\') >= 0 || namesSecret(raw) || !json.Valid(raw) {
		return false
	}
	text := string(raw)
	for _, value := range r.known {
		if strings.Contains(text, value) {
			return false
		}
	}
	for _, each := range r.shapes {
		if each.hinted(text) {
			return false
		}
	}
	return true
}

func (s shape) hinted(text string) bool {
	return slices.ContainsFunc(s.hints, func(hint string) bool { return strings.Contains(text, hint) })
}

// marshal encodes what consists of JSON values alone, without HTML escapes.
func marshal(value any) json.RawMessage {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return json.RawMessage(`"` + Redacted + `"`)
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}

// Value returns a value of JSON without secrets; the one given is not changed.
// Values that are not of the types of encoding/json are encoded first.
func (r *Redactor) Value(value any) any {
	clean, _ := r.value(value)
	return clean
}

func (r *Redactor) value(value any) (clean any, changed bool) {
	switch v := value.(type) {
	case nil, bool, json.Number, int, int64, uint64, float64:
		return v, false
	case string:
		text := r.Text(v)
		return text, text != v
	case []any:
		return r.list(v)
	case map[string]any:
		return r.object(v)
	}
	raw, err := json.Marshal(value)
	if err != nil {
		return Redacted, true
	}
	var plain any
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	if err := decoder.Decode(&plain); err != nil {
		return Redacted, true
	}
	clean, _ = r.value(plain)
	return clean, true
}

func (r *Redactor) list(list []any) (clean any, changed bool) {
	made := make([]any, len(list))
	for i := range list {
		item, differs := r.value(list[i])
		made[i] = item
		changed = changed || differs
	}
	return made, changed
}

func (r *Redactor) object(object map[string]any) (clean any, changed bool) {
	made := make(map[string]any, len(object))
	for name, value := range object {
		if text, isText := value.(string); isText && text != "" && SecretName(name) {
			made[r.Text(name)], changed = Redacted, true
			continue
		}
		item, differs := r.value(value)
		shown := r.Text(name)
		made[shown] = item
		changed = changed || differs || shown != name
	}
	return made, changed
}

// event returns an event without secrets and with its texts cut. Texts are
// redacted whole, before they are cut.
func (r *Redactor) event(e Event) Event {
	for _, text := range []*string{&e.SessionID, &e.RunID, &e.Workflow, &e.StepID, &e.Model, &e.Action, &e.ToolName, &e.CallID,
		&e.Output, &e.Status, &e.TraceParent} {
		*text = cut(r.Text(*text))
	}
	if len(e.Args) > 0 {
		e.Args = short(r.JSON(e.Args))
	}
	if e.Error != nil {
		e.Error = &Failure{Code: cut(r.Text(e.Error.Code)), Details: cut(r.Text(e.Error.Details))}
	}
	if e.Metadata != nil {
		e.Metadata, _ = bounded(r.Value(e.Metadata)).(map[string]any)
	}
	return e
}
