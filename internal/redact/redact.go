// Package redact removes secrets from text and JSON before it is logged, traced,
// shown or given to a model: known values, in the usual encodings, and texts that
// look like a secret. It alone defines how a secret looks. engines/repo/files
// decides by name which files are withheld as a whole.
package redact

import (
	"cmp"
	"net/url"
	"slices"
	"strings"
	"sync"
)

// Mark replaces a secret.
const Mark = "[redacted]"

// usual is the least length in bytes of a value of the environment, shortest that
// of any value. Shorter ones would be found in ordinary text.
const (
	usual    = 8
	shortest = 3
)

// Redactor redacts secrets: it replaces each secret in a text or a JSON value by
// Mark. It is safe for concurrent use.
type Redactor struct {
	// names also removes the values of JSON members that are named like a secret.
	names bool
	// words are made on first use: many programs end, or answer first, without a text.
	words func() *finder
	// spaced are the known values with white space in them.
	spaced         []string
	certain, known *Redactor
}

// New returns a redactor for logs and traces. It removes these values if they have
// 8 bytes or more, texts that look like a secret, and everything that is assigned
// to the name of a secret.
func New(values ...string) *Redactor { return FromLength(usual, values...) }

// FromLength is New with another least length in bytes, at least 3. It is for
// values that are certain to be secrets.
func FromLength(least int, values ...string) *Redactor {
	var all []string
	for _, value := range values {
		for _, each := range []string{value, strings.TrimSpace(value)} {
			if len(each) >= max(least, shortest) {
				all = append(all, encodings(each)...)
			}
		}
	}
	slices.Sort(all)
	all = slices.Compact(all)
	made := func(names bool, usual func() *finder) *Redactor {
		words := usual
		if len(all) > 0 {
			words = sync.OnceValue(func() *finder { return usual().with(knownWords(all)) })
		}
		return &Redactor{names: names, words: words, spaced: spaced(all)}
	}
	r := made(true, everything)
	r.certain, r.known = made(true, literals), made(false, nothing)
	r.certain.certain, r.certain.known = r.certain, r.known
	r.known.certain, r.known.known = r.known, r.known
	return r
}

func spaced(values []string) []string {
	return slices.DeleteFunc(slices.Clone(values), func(value string) bool { return !strings.ContainsAny(value, whiteSpace) })
}

// Shapes returns the redactor that knows no values.
func Shapes() *Redactor { return withoutValues() }

var withoutValues = sync.OnceValue(func() *Redactor { return New() })

// FromEnvironment is New for what an environment ("NAME=value") holds: the values of
// variables that are named like a secret, and the passwords of addresses.
func FromEnvironment(environment []string, further ...string) *Redactor {
	values := slices.Clone(further)
	for _, each := range environment {
		name, value, _ := strings.Cut(each, "=")
		if SecretName(name) || secretVariable(name) {
			values = append(values, value)
		} else if password, has := passwordOf(value); has {
			values = append(values, password)
		}
	}
	return New(values...)
}

// passwordOf returns the password of an address.
func passwordOf(value string) (password string, has bool) {
	if !strings.Contains(value, "://") || !strings.Contains(value, "@") {
		return "", false
	}
	address, err := url.Parse(value)
	if err != nil {
		return "", false
	}
	return address.User.Password()
}

// Certain returns a redactor for data that a model works with, such as source
// code. Of the values assigned to the name of a secret it removes literals and
// random texts, and leaves expressions and types.
func (r *Redactor) Certain() *Redactor { return r.certain }

// KnownOnly returns a redactor for data: it removes the known values only.
func (r *Redactor) KnownOnly() *Redactor { return r.known }

// Text returns text without secrets.
func (r *Redactor) Text(text string) string { return r.from(text, 0) }

// from returns a text from a place on, without the secrets of the whole text.
func (r *Redactor) from(text string, done int) string {
	spans := r.spans(text)
	if len(spans) == 0 {
		return text[done:]
	}
	var out strings.Builder
	for i := 0; i < len(spans); {
		from, to := spans[i].from, spans[i].to
		for i++; i < len(spans) && spans[i].from <= to; i++ { // overlapping places are one secret
			to = max(to, spans[i].to)
		}
		if to <= done {
			continue
		}
		out.WriteString(text[done:max(from, done)])
		out.WriteString(Mark)
		done = to
	}
	out.WriteString(text[done:])
	return out.String()
}

// span is where a secret stands in a text, in bytes; empty is none.
type span struct{ from, to int }

// spans returns the places of secrets, in order. They may overlap.
func (r *Redactor) spans(text string) []span {
	if len(r.words().words) == 0 {
		return nil
	}
	all := r.direct(text)
	if r.names {
		all = append(all, r.inner(text, layers)...)
	}
	slices.SortFunc(all, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	return all
}

// direct returns the places of secrets that stand in a text as they are.
func (r *Redactor) direct(text string) []span {
	var all []span
	var read *scanner // made where there is something to read
	finder := r.words()
	for at := 0; ; at++ {
		var words []word
		if at, words = finder.next(text, at); at < 0 {
			break
		}
		for _, each := range words {
			if !each.standsAt(text, at) {
				continue
			}
			if read == nil {
				read = newReading(text)
			}
			if found := each.secret(read, at, at+len(each.text)); found.from < found.to {
				all = append(all, found)
			}
		}
	}
	if read != nil {
		all = append(all, read.found...)
	}
	if r.names {
		add := func(from, to int) bool { all = append(all, span{from, to}); return true }
		eachPair(text, add)
		eachColumn(text, r == r.certain, add)
	}
	return all
}

// hinted reports whether a text has any of the words, or something that is encoded.
// A text without them holds no secret.
func (r *Redactor) hinted(text string) bool {
	if r.names && (encoded(text) || hasPair(text)) {
		return true
	}
	finder := r.words()
	for at := 0; ; at++ {
		var words []word
		if at, words = finder.next(text, at); at < 0 {
			return false
		}
		if slices.ContainsFunc(words, func(w word) bool { return w.standsAt(text, at) }) {
			return true
		}
	}
}
