package redact

import (
	"slices"
	"strings"

	"savant/internal/pattern"
)

// assignments are the last words of names of secrets; secret judges the value
// that is assigned. Every name that SecretName matches has one of the words. Where
// case is ignored, Unicode has two further letters for s and k.
func assignments(secret func(r *scanner, at, end int) span) []word {
	var list []word
	for _, text := range []string{"token", "key", "secret", "password", "passwd", "passphrase", "authorization", "cookie", "credential", "credentials", "secret_key_base"} {
		list = append(list, word{text: text, fold: true, secret: secret})
	}
	for _, text := range []string{"_PASS", "_PWD"} { // of a variable, and no step of a compiler
		list = append(list, word{text: text, secret: secret})
	}
	for _, text := range weakNames {
		list = append(list, word{text: text, fold: true, secret: secret})
	}
	for _, text := range []string{"\u212a", "\u017fec", "a\u017f", "s\u017f", "e\u017f", "l\u017f"} {
		list = append(list, word{text: text, fold: true, secret: func(*scanner, int, int) span { return span{} }})
	}
	return list
}

// namesSecret reports whether the name that ends at end, with a word from at, is
// that of a secret.
func namesSecret(text string, at, end int) bool {
	if end < len(text) && keyBytes[text[end]] {
		return false
	}
	word := text[at:end]
	if isWeak(word) {
		return at == 0 || !isLower(text[at-1]) || isUpper(text[at]) || !keyBytes[text[at]]
	}
	if !strings.EqualFold(word, "key") && !strings.EqualFold(word, "token") {
		return true
	}
	from := at
	for from > max(0, end-mostOfName) && keyBytes[text[from-1]] {
		from--
	}
	return SecretName(text[from:end])
}

// value is a value that is assigned to a name.
type value struct {
	span
	// quoted: the value is in quotes. The sign is ":" (colon) or ":=" or "=>"
	// (defines), with spaces beside it (spaced).
	quoted, colon, defines, spaced, weak bool
}

// assignment reads what follows a name: an optional closing quote, a sign (: = :=
// =>) and a value.
func assignment(r *scanner, end int) (value, bool) {
	at := r.run(end, escapes)
	if !r.has(at, quotes) {
		at = end
	}
	at = r.quote(at)
	at = r.valueMember(end, at)
	if at > end && r.has(at, subscript) { // env["NAME"] = …
		at++
	}
	sign := r.run(at, spaces)
	if strings.HasPrefix(r.text[sign:], "?=") {
		sign++
	}
	var v value
	before := at
	at = r.run(sign, signs)
	switch r.text[sign:at] {
	case ":":
		v.colon = true
	case ":=", "=>":
		v.defines = true
	case "=":
	default:
		if at = r.weakSign(before); at == before {
			return v, false
		}
		v.weak = true
	}
	from := r.run(at, spaces)
	v.spaced = from > at || sign > end
	if v.colon {
		from = r.block(from)
	}
	if r.has(from, opening) { // of a list
		from, v.weak = from+1, true
	}
	if inside, is := r.quotedText(r.prefixed(from)); is && (from > at || !r.closes(end, from)) {
		v.span, v.quoted = inside, true
		return v, true
	}
	v.span = span{from, from}
	return v, from < len(r.text)
}

// closes reports whether the quote at a place ends a text that the name, which ends at end, and
// its sign are all of: "Password:" as a label.
func (r *scanner) closes(end, at int) bool {
	from := end
	for from > max(0, end-mostOfName) && keyBytes[r.text[from-1]] {
		from--
	}
	return r.has(from-1, quotes) && r.has(at, quotes) && r.text[from-1] == r.text[at] && !r.has(end, quotes)
}

// valueMember returns the end of "value" where a name and its value are two members:
// {"name": "DB_PASSWORD", "value": …}, key="ApiKey" value="…". name ends at end, or
// with its quote at at.
func (r *scanner) valueMember(end, at int) int {
	if !r.has(at, between) && !strings.HasPrefix(r.text[at:], `\n`) {
		return at
	}
	from, lines := r.run(at, between), false
	for strings.HasPrefix(r.text[from:], `\n`) { // in JSON inside a text
		from, lines = r.run(from+len(`\n`), between), true
	}
	if at == end && !lines && !strings.ContainsAny(r.text[at:from], "\n") { // neither in quotes nor on its line
		return at
	}
	begin := r.quote(r.run(from, escapes))
	to := begin + len("value")
	if to > len(r.text) || !strings.EqualFold(r.text[begin:to], "value") {
		return at
	}
	if last := r.run(to, escapes); r.has(last, quotes) {
		return r.quote(last)
	}
	return to
}

// quote returns the end of a quote at a place, which is doubled in CSV.
func (r *scanner) quote(at int) int {
	switch {
	case !r.has(at, quotes):
		return at
	case r.has(at+1, quotes) && r.text[at+1] == r.text[at]:
		return at + 2
	}
	return at + 1
}

var (
	between = bytesOf(" \t\r\n,+")
	spaces  = bytesOf(" \t")
	escapes = bytesOf(`\`)
	quotes  = bytesOf("\"'`")
	signs   = bytesOf(":=>")
)

// maxNested is how many backslashes may precede a quote in JSON inside a text.
const maxNested = 15

// quotedText returns the text in quotes at a place, up to the end of the line if they
// are not closed. In JSON inside a text the quotes are escaped; a quote with more
// backslashes belongs to the quoted text. In CSV they are doubled.
func (r *scanner) quotedText(at int) (inside span, is bool) {
	open := r.run(at, escapes)
	depth := open - at
	if !r.has(open, quotes) || depth > maxNested {
		return span{}, false
	}
	for more := 0; more < 2 && r.has(open+1, quotes) && r.text[open+1] == r.text[open] && (more == 1 || r.has(open+2, tokenBytes) || r.has(open+2, quotes)); more++ {
		open++
	}
	slashes := 0
	for i := open + 1; i < len(r.text); i++ {
		switch c := r.text[i]; {
		case c == '\\':
			slashes++
			continue
		case c == r.text[open] && slashes <= depth:
			return span{open + 1, i - slashes}, true
		case c == '\n':
			return span{open + 1, i}, true
		}
		slashes = 0
	}
	return span{open + 1, len(r.text)}, true
}

// assigned returns everything that is assigned to the name of a secret.
func assigned(r *scanner, at, end int) span {
	v, is := assignment(r, end)
	header := v.colon && headerName(r.text[at:end])
	switch {
	case !is || !namesSecret(r.text, at, end), v.colon && r.follows(at, ':'): // arn:aws:secretsmanager:…:secret:NAME
		return span{}
	case v.weak || isWeak(r.text[at:end]):
		return r.strong(v, r.text[at:end])
	case v.quoted:
		if text := r.text[v.from:v.to]; isAddress(text) || isStated(text) {
			return span{}
		}
		return v.span
	case noValue[r.text[v.from]], isAddress(r.text[v.from:r.run(v.from, inValue)]), r.statesValue(v.from, header):
		return span{}
	}
	if header {
		return span{v.from, r.run(v.from, inHeader)} // it has spaces and ";"
	}
	return span{v.from, r.run(v.from, inValue)}
}

// isAddress reports whether a value is an address without a user: it says where a
// token is given, and its query is judged by itself.
func isAddress(value string) bool {
	address := address().FindString(value)
	return address != "" && !strings.HasPrefix(value[len(address):], "@")
}

var address = pattern.Lazy(`^([a-zA-Z][a-zA-Z0-9+.-]*://|urn:)[^\s@/?#]+`)

// isStated reports whether a value is no secret under any name: it says whether, or how
// (id-token: write), or names where the secret is (${{ secrets.KEY }}).
func isStated(text string) bool { return text != "" && stated().FindString(text) == text }

var stated = pattern.Lazy(`^((?i:true|false|yes|no|on|off|null|none|nil|undefined|read|write|inherit|include|omit|same-origin|required|optional)\b|` +
	`(?:\$\{\{?|\{\{) ?[a-zA-Z_][\w.-]* ?\}\}?|\{[a-zA-Z_.]+\})`)

// statesValue reports whether what stands at a place, without quotes, is such a value. That
// of a header goes on behind spaces and ";".
func (r *scanner) statesValue(at int, header bool) bool {
	rest := r.text[at:min(len(r.text), at+maxJudged)]
	found := stated().FindString(rest)
	if behind := strings.TrimLeft(rest[len(found):], " \t"); header && behind != "" && !strings.ContainsRune("\r\n#,}\"'", rune(behind[0])) {
		return false
	}
	return found != "" && (len(found) == len(rest) || !inValue[rest[len(found)]])
}

// noValue cannot begin a value. The others are the bytes of a value in a log, in a
// header and in source code.
var (
	noValue  = bytesOf(" \t\r\n,;&}\"'[({")
	inValue  = otherThan(" \t\r\n,;&}\"'")
	inHeader = otherThan("\r\n\"'")
	inCode   = otherThan(" \t\r\n,;&}\"'`{()[]<>=\\")
	called   = bytesOf("([{")
	opening  = bytesOf("[")
)

// maxJudged is how many bytes of a value are examined.
const maxJudged = 256

// literal returns a value that is assigned to the name of a secret, if it is no
// expression and no word: a header, a text in quotes that is no label, a value with
// digits, or one that is assigned to a name in capitals, as in a list of variables.
func literal(r *scanner, at, end int) span {
	v, is := assignment(r, end)
	if !is || !namesSecret(r.text, at, end) || r.has(v.from, placeholder) || isAddress(r.text[v.from:max(v.to, r.run(v.from, inValue))]) {
		return span{}
	}
	name := r.text[at:end]
	switch {
	case v.colon && r.follows(at, ':'):
		return span{}
	case v.weak || isWeak(name):
		return r.strong(v, name)
	}
	if v.quoted {
		if v.colon && v.to-v.from < longWord && r.inSentence(at) && !isPassword(name) {
			return span{}
		}
		inside := r.text[v.from:min(v.to, v.from+maxJudged)]
		if inHeaderValue(inside) || !scheme().MatchString(inside) && inQuotes(name, inside, v.colon) {
			return v.span
		}
		return span{}
	}
	if v.colon && headerName(name) {
		if to := r.run(v.from, inHeader); inHeaderValue(r.text[v.from:min(to, v.from+maxHeader)]) {
			return span{v.from, to}
		}
		return span{}
	}
	to := r.run(v.from, inCode)
	found := r.text[v.from:min(to, v.from+maxJudged)]
	switch {
	case v.defines && name != strings.ToUpper(name) || r.has(to, called) || number().MatchString(found):
		return span{}
	case !v.spaced && !v.colon && name == strings.ToUpper(name) && !r.has(r.nameStart(at)-1, inExpression) && !r.isArgument(at):
		if len(found) > shortest && !isPlaceholder(found) && !fileName().MatchString(found) && (isSecret(name) || r.isSecretKey(at) || !severalWordsOrOne(found)) {
			return span{v.from, to}
		}
		return span{}
	case (v.spaced || v.colon) && !isPassword(name) && variable().MatchString(found) && changes(found) > 0:
		return span{} // xsrfToken: defaultToConfig2
	case strings.HasSuffix(found, ":") && r.has(to, spaces) || isPlaceholder(found) || !isSecret(name) && areWords(found):
		return span{}
	case len(found) >= 6 && mixed(found) && !selector().MatchString(found) && !secretNamed().MatchString(found) && !strings.ContainsAny(found, "*"):
		return span{v.from, to}
	}
	return span{}
}

// nameStart returns where the name in capitals that has a place begins.
func (r *scanner) nameStart(at int) int {
	for least := max(0, at-maxLabel); at > least && capitalBytes[r.text[at-1]]; {
		at--
	}
	return at
}

// inExpression precedes the name of a member, or of a further variable of a
// declaration.
var inExpression = bytesOf(".,")

var capitalBytes = bytesOf("ABCDEFGHIJKLMNOPQRSTUVWXYZ" + digits + "_")

// isArgument reports whether a name stands first in the arguments of a call.
func (r *scanner) isArgument(at int) bool {
	from := r.nameStart(at)
	return r.follows(from, '(') && r.has(from-2, wordBytes)
}

func headerName(name string) bool {
	return strings.EqualFold(name, "authorization") || strings.EqualFold(name, "cookie")
}

// inHeaderValue reports whether a part of the value of a header is a secret.
func inHeaderValue(text string) bool {
	if strings.Contains(text, "${") || strings.Contains(text, "#{") || isProse(text) {
		return false
	}
	return slices.ContainsFunc(strings.FieldsFunc(text, func(c rune) bool { return strings.ContainsRune(" \t;,=\\", c) }), func(part string) bool {
		return len(part) >= 12 && mixed(part) && !selector().MatchString(part) && !isElided(part) && !filledIn(strings.ToLower(part)) && !areWords(part) && !fileName().MatchString(part) && !inTemplate(part) && !exampleBasic(part)
	})
}

// isProse reports whether the value of a header is a sentence: it has many words, and
// none of the signs that separate the parts of a header.
func isProse(text string) bool {
	return strings.Count(text, " ") >= 6 && !strings.ContainsAny(text, "=;")
}

// inTemplate reports whether a part of a header is what a template computes:
// %b64[user:password]b64%.
func inTemplate(part string) bool { return part[0] == '%' && strings.Contains(part, "[") }

func exampleBasic(part string) bool {
	user, password, is := basicPair(part)
	return is && (len(password) < shortest || examplePair(user, password))
}

// scheme matches how the value of a header begins: a scheme of authorization, or
// the name of a cookie.
var scheme = pattern.Lazy(`^(?i:bearer|basic|token|digest|negotiate|apikey) |^[\w-]+=`)

// maxHeader is how many bytes of a header are examined.
const maxHeader = 4096

// inQuotes reports whether a text in quotes is a secret. Programs have many that are
// none: the label of a field, the kind of a token, the name of another variable.
func inQuotes(name, text string, colon bool) bool {
	password := isPassword(name)
	switch {
	case text == "" || strings.Contains(text, "${") || number().MatchString(text) || secretNamed().MatchString(text) || isPlaceholder(text):
		return false
	case !isSecret(name) && (areWords(text) || fileName().MatchString(text)):
		return false
	case strings.ContainsAny(text, digits) && strings.ContainsAny(text, letters):
		return len(text) >= 6 && !strings.Contains(text, `\u`) && !strings.Contains(text, `\U`)
	case strings.ContainsAny(text, " \t"):
		return false
	case password && !colon:
		return len(text) >= 6 && !strings.ContainsAny(text, "-_.:/%{}[]()")
	}
	return password && len(text) > shortest && strings.ContainsAny(text, "!@#$^&*?+=\"\\") || len(text) >= longWord && changes(text)*4 > len(text)
}

// isSecret reports whether a name is one of a password or a secret, which people choose
// from words; tokens and keys are made by programs.
func isSecret(name string) bool { return isPassword(name) || strings.EqualFold(name, "secret") }

// isSecretKey reports whether the name in capitals that has a place is that of a secret
// which people choose, too: SECRET_KEY.
func (r *scanner) isSecretKey(at int) bool {
	return strings.Contains(r.text[r.nameStart(at):at], "SECRET")
}

func isPassword(name string) bool {
	return strings.HasPrefix(strings.ToLower(name), "pass") || name == "_PASS" || name == "_PWD"
}

// inSentence reports whether a word stands right before the name: in "unrecognized
// token: 'x'" the name is no name.
func (r *scanner) inSentence(at int) bool {
	return at > 1 && r.text[at-1] == ' ' && wordBytes[r.text[at-2]]
}

// changes counts how often a capital follows a small letter.
func changes(text string) (count int) {
	for i := 1; i < len(text); i++ {
		if 'A' <= text[i] && text[i] <= 'Z' && 'a' <= text[i-1] && text[i-1] <= 'z' {
			count++
		}
	}
	return count
}

// number matches a number as source code has it, which is the kind of a token or of
// a key, and types with a number; decimal digits may be a password.
var number = pattern.Lazy(`^([-+]?0[xXoObB][0-9a-fA-F_]{1,16}[uUlL]*|(u?int|float|[iuf])(8|16|32|64|128)(_t)?|base64|utf-?8)$`)

// secretNamed matches the name of another variable with a secret, or of its test:
// testRSA2048PrivateKey, X-Fake-Token-2.
var secretNamed = pattern.Lazy(`(?i)^@?[a-z][\w-]*(token|key|secret|password|passwd|pwd|passphrase|cookie|credentials?)[-_]?\d{0,4}$`)

// selector matches a member access: process.env.API_KEY_1.
var selector = pattern.Lazy(`^[A-Za-z_]\w*(\.[A-Za-z_]\w*)+$`)

// variable matches the name of a variable that is one of several: CancelToken$1.
var variable = pattern.Lazy(`^[A-Za-z_]+(\$\d|\d)$`)

// fileName matches the path of a file or a key in a store, and a package with its version: /foo/bar, a@1.2.3.
var fileName = pattern.Lazy(`^\.{0,2}(/([A-Za-z_.-]+|v\d|\d{1,6}))+/?$|^[\w@./-]+@\d+(\.\d+)+[\w.-]*$`)

// placeholder begins a text that stands for another.
var placeholder = bytesOf("$<%{")
