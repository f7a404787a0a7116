package redact

import (
	"slices"
	"strings"

	"savant/internal/pattern"
)

// assignments are the words of names that end in the name of a secret: what is
// assigned to one is found by a rule. Every name that SecretName knows has one
// of the words: where case is ignored, two further letters are an s and a k.
func assignments(secret func(text string, at, end int) span) []word {
	var list []word
	for _, text := range []string{"token", "key", "secret", "password", "passwd", "passphrase", "authorization", "cookie", "credential", "credentials"} {
		list = append(list, word{text: text, fold: true, secret: secret})
	}
	for _, text := range []string{"\u212a", "\u017fec", "a\u017f", "s\u017f", "e\u017f", "l\u017f"} {
		list = append(list, word{text: text, fold: true, secret: func(string, int, int) span { return span{} }})
	}
	return list
}

// keyNames are what a key is called that is secret; "key" alone is none.
var keyNames = []string{"api", "access", "private", "secret", "auth", "signing", "encryption"}

// namesSecret says whether a name that ends at end, in a word from at, is that
// of a secret.
func namesSecret(text string, at, end int) bool {
	if end < len(text) && keyBytes[text[end]] {
		return false
	}
	if !strings.EqualFold(text[at:end], "key") {
		return true
	}
	before := strings.ToLower(strings.TrimRight(text[max(0, at-12):at], "_-"))
	return text[at:end] == "KEY" && at > 0 && text[at-1] == '_' ||
		slices.ContainsFunc(keyNames, func(name string) bool { return strings.HasSuffix(before, name) })
}

// value is what is assigned to a name.
type value struct {
	span
	// quoted: it is a text in quotes. colon: it follows ":", spaced: after a
	// space, and so is the sign.
	quoted, colon, defines, spaced bool
}

// assignment reads what follows a name: perhaps the quote that closes it, a
// sign (: = := =>) and a value.
func assignment(text string, end int) (value, bool) {
	at := run(text, end, escapes)
	if at < len(text) && quotes[text[at]] {
		at++
	} else {
		at = end
	}
	sign := run(text, at, blanks)
	at = run(text, sign, signs)
	var v value
	switch text[sign:at] {
	case ":":
		v.colon = true
	case ":=", "=>":
		v.defines = true
	case "=":
	default:
		return v, false
	}
	from := run(text, at, blanks)
	v.spaced = from > at || sign > end
	if inside, is := quotedText(text, from); is {
		v.span, v.quoted = inside, true
		return v, true
	}
	v.span = span{from, from}
	return v, from < len(text)
}

var (
	blanks  = bytesOf(" \t")
	escapes = bytesOf(`\`)
	quotes  = bytesOf("\"'`")
	signs   = bytesOf(":=>")
)

// quotedText returns what stands in quotes at a place, to the end of the line
// where they are not closed. Within JSON in a text the quotes are escaped: a
// quote with more backslashes is part of what is quoted.
func quotedText(text string, at int) (inside span, is bool) {
	open := run(text, at, escapes)
	if open == len(text) || !quotes[text[open]] {
		return span{}, false
	}
	depth := open - at
	for i := open + 1; i < len(text) && text[i] != '\n'; i++ {
		slashes := run(text, i, escapes) - i
		i += slashes
		if i == len(text) {
			break
		}
		if text[i] == text[open] && slashes <= depth {
			return span{open + 1, i - slashes}, true
		}
	}
	line := strings.IndexByte(text[open:], '\n')
	if line < 0 {
		return span{open + 1, len(text)}, true
	}
	return span{open + 1, open + line}, true
}

// assigned takes everything that is assigned to the name of a secret.
func assigned(text string, at, end int) span {
	v, is := assignment(text, end)
	switch {
	case !is || !namesSecret(text, at, end):
		return span{}
	case v.quoted:
		return v.span
	case notValue[text[v.from]]:
		return span{}
	}
	if v.colon && (strings.EqualFold(text[at:end], "authorization") || strings.EqualFold(text[at:end], "cookie")) {
		return span{v.from, untilAny(text, v.from, endOfHeader)} // a header has spaces and ";"
	}
	return span{v.from, untilAny(text, v.from, endOfValue)}
}

var (
	notValue    = bytesOf(" \t\r\n,;&}\"'[({")
	endOfValue  = bytesOf(" \t\r\n,;&}\"'")
	endOfHeader = bytesOf("\r\n\"'")
	endOfToken  = bytesOf(" \t\r\n,;&}\"'`{()[]<>=\\")
	called      = bytesOf("([{")
)

// untilAny returns where the first of some bytes stands, or the end.
func untilAny(text string, at int, of *set) int {
	for at < len(text) && !of[text[at]] {
		at++
	}
	return at
}

// literal takes what is assigned to the name of a secret and is no expression:
// texts in quotes that hold no variable, what looks random, and what is
// assigned to a name in capitals, as in a list of variables.
func literal(text string, at, end int) span {
	v, is := assignment(text, end)
	if !is || !namesSecret(text, at, end) {
		return span{}
	}
	if v.from < len(text) && placeholder[text[v.from]] {
		return span{}
	}
	if v.quoted {
		return v.span
	}
	to := untilAny(text, v.from, endOfToken)
	found := text[v.from:to]
	switch {
	case v.defines || to < len(text) && called[text[to]]:
		return span{}
	case !v.spaced && !v.colon && text[at:end] == strings.ToUpper(text[at:end]):
		return span{v.from, to}
	case len(found) >= 6 && strings.ContainsAny(found, digits) && !selector().MatchString(found):
		return span{v.from, to}
	}
	return span{}
}

// selector is a member of something: process.env.API_KEY_1.
var selector = pattern.Lazy(`^[A-Za-z_]\w*(\.[A-Za-z_]\w*)+$`)

// placeholder are what a text begins with that stands for another.
var placeholder = bytesOf("$<%{")
