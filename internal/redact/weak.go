package redact

import (
	"slices"
	"strings"

	"savant/internal/pattern"
)

// weakNames also name what is no secret: a folder, a count of tests, a kind of access.
var weakNames = []string{"pass", "pwd", "psk", "passcode", "_pat", "_auth", "identified by",
	"passwords", "secrets", "tokens", "api_keys", "apikeys", "access_keys", "requirepass", "masterauth", "?sig", "&sig"}

func isWeak(name string) bool { return slices.Contains(weakNames, strings.ToLower(name)) }

// weakSign returns the end of what stands between a name and its value in notations of much
// else, too: arguments, elements, cells, words of a command, and a sentence.
func (r *scanner) weakSign(at int) int {
	to := r.run(at, weakSigns)
	if says := states().FindString(r.text[to:min(len(r.text), to+maxLabel)]); to > at && says != "" {
		to += len(says)
	}
	return to
}

var (
	weakSigns = bytesOf(" \t,(|>-")
	states    = pattern.Lazy(`^(is|was|to)[ :]+`)
	subscript = bytesOf("]")
	special   = "!@#$%^&*?+~"
)

// strong returns a value that is a secret whatever its name and its notation mean: a
// password of letters, digits and signs, or what a program made.
func (r *scanner) strong(v value, name string) span {
	if !v.quoted {
		if v.weak && r.has(v.from-1, weakSigns) && strings.ContainsAny(r.text[max(0, v.from-2):v.from], "(,") || v.colon && name == "PASS" { // an expression; of a test
			return span{}
		}
		v.to = r.run(v.from, inCode)
	}
	text := r.text[v.from:min(v.to, v.from+maxJudged)]
	if !mixed(text) || isPlaceholder(text) || isStated(text) || isAddress(text) || areWords(text) || fileName().MatchString(text) || selector().MatchString(text) ||
		secretNamed().MatchString(text) || strings.ContainsAny(text, " \t{<(") || placeholder[text[0]] {
		return span{}
	}
	chosen := !strings.EqualFold(name, "token") && !strings.EqualFold(name, "key") // by a person
	switch {
	case len(text) >= longWord && tokenBytes.all(text) && scattered(text) && (v.quoted || !v.colon && !v.weak || !isWeak(name)):
		return v.span
	case chosen && len(text) >= usual && (v.quoted || wordBytes[text[0]]) && strings.ContainsAny(text, special) && random(text):
		return v.span
	}
	return span{}
}

// scattered reports whether capitals, small letters and digits follow each other as in no
// name of several words.
func scattered(text string) bool {
	count, last := 0, byte(0)
	for i := range len(text) {
		kind := byte('a')
		switch c := text[i]; {
		case !alphanumeric[c]:
			continue
		case isUpper(c):
			kind = 'A'
		case !isLower(c):
			kind = '0'
		}
		if last != 0 && kind != last {
			count++
		}
		last = kind
	}
	if strings.ToLower(text) == text || strings.ToUpper(text) == text {
		return count*4 >= len(text)
	}
	return count*5 >= len(text)*2
}

// prefixed returns the quote of a text of a language that writes letters before it: r"…", @"…".
func (r *scanner) prefixed(at int) int {
	if to := r.run(at, quotePrefixes); to > at && to-at <= 2 && r.has(to, quotes) {
		return to
	}
	return at
}

var quotePrefixes = bytesOf("rRbBfFuU@$")

// block returns where a text of YAML begins whose lines follow: password: |
func (r *scanner) block(at int) int {
	return at + len(blockHead().FindString(r.text[at:min(len(r.text), at+maxJudged)]))
}

var blockHead = pattern.Lazy(`^[|>][+-]?\d?[+-]?[ \t]*\r?\n[ \t]+`)
