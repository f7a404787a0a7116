package redact

import "strings"

// set is a set of bytes.
type set [256]bool

func bytesOf(text string) *set {
	var s set
	for i := range len(text) {
		s[text[i]] = true
	}
	return &s
}

const letters, digits = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", "0123456789"

// What secrets and names consist of.
var (
	alphanumeric = bytesOf(letters + digits)
	wordBytes    = bytesOf(letters + digits + "_")
	keyBytes     = bytesOf(letters + digits + "_-")
	tokenBytes   = bytesOf(letters + digits + "._~+/=-") // RFC 6750, 2.1
	schemeBytes  = bytesOf(letters + digits + "+.-")     // RFC 3986, 3.1
	beyondUser   = bytesOf("/?# \t\r\n\"'<>`")           // what ends the authority of an address
)

// run returns the end of the bytes of a set that stand at a place.
func run(text string, at int, of *set) int {
	for at < len(text) && of[text[at]] {
		at++
	}
	return at
}

// begins says whether a word can begin at a place.
func begins(text string, at int) bool { return at == 0 || !wordBytes[text[at-1]] }

// keys are what the keys of well-known services begin with, and how many bytes
// of what kind follow at least.
var keys = []struct {
	prefixes string
	of       *set
	least    int
}{
	{"sk- sk_ pk- pk_ rk- rk_ ghp_ gho_ ghu_ ghs_ ghr_ github_pat_ glpat- whsec_", keyBytes, 8},
	{"xoxa- xoxb- xoxe- xoxo- xoxp- xoxr- xoxs- xapp-", keyBytes, 8}, // Slack
	{"AKIA ASIA AIza", keyBytes, 12},                                 // AWS, Google
	{"hf_ npm_", alphanumeric, 30},                                   // Hugging Face, npm
}

// shapes are the words of what looks like a secret by itself.
func shapes() []word {
	list := []word{
		{text: "eyJ", secret: webToken},
		{text: "bearer", fold: true, secret: credentials},
		{text: "basic", fold: true, secret: credentials},
		{text: "PRIVATE KEY", secret: privateKey},
		{text: "://", secret: userInfo},
	}
	for _, each := range keys {
		for prefix := range strings.FieldsSeq(each.prefixes) {
			list = append(list, word{text: prefix, secret: func(text string, at, end int) span {
				if to := run(text, end, each.of); begins(text, at) && to-end >= each.least {
					return span{at, to}
				}
				return span{}
			}})
		}
	}
	return list
}

// webToken is a JSON web token (RFC 7519): two or three parts in base64 with
// points between, the first an object.
func webToken(text string, at, end int) span {
	head := run(text, end, keyBytes)
	if !begins(text, at) || head-end < 6 || head == len(text) || text[head] != '.' {
		return span{}
	}
	body := run(text, head+1, keyBytes)
	switch {
	case body-head <= 4:
		return span{}
	case body < len(text) && text[body] == '.':
		return span{at, run(text, body+1, keyBytes)}
	}
	return span{at, body}
}

// credentials are what follows the scheme of an authorization header. What
// could be the next word of a sentence is none.
func credentials(text string, at, end int) span {
	from := run(text, end, bytesOfBlank)
	if strings.HasPrefix(text[end:], "%20") {
		from = end + len("%20")
	}
	to := run(text, from, tokenBytes)
	if !begins(text, at) || from == end || to-from < 6 || to-from < 16 && !random(text[from:to]) {
		return span{}
	}
	return span{from, to}
}

var bytesOfBlank = bytesOf(" \t\r\n")

// random says whether a text is more than words: it has digits, or capitals
// within.
func random(text string) bool {
	for i := range len(text) {
		if c := text[i]; '0' <= c && c <= '9' || i > 0 && 'A' <= c && c <= 'Z' {
			return true
		}
	}
	return false
}

// privateKey is a block of RFC 7468 or OpenPGP, to its end or that of the text.
func privateKey(text string, at, end int) span {
	const begin, dashes = "-----BEGIN ", "-----"
	from := strings.LastIndex(text[max(0, at-40):at], begin)
	if from < 0 || !strings.HasPrefix(strings.TrimPrefix(text[end:], " BLOCK"), dashes) {
		return span{}
	}
	from += max(0, at-40)
	rest := strings.Index(text[end:], dashes+"END ")
	if rest < 0 {
		return span{from, len(text)}
	}
	rest += end + len(dashes+"END ")
	last := strings.Index(text[rest:], dashes)
	if last < 0 {
		return span{from, len(text)}
	}
	return span{from, rest + last + len(dashes)}
}

// userInfo is the user and password of an address.
func userInfo(text string, at, end int) span {
	if at == 0 || !schemeBytes[text[at-1]] {
		return span{}
	}
	for to, i := end, end; ; i++ {
		if i == len(text) || beyondUser[text[i]] {
			return span{end, to}
		}
		if text[i] == '@' {
			to = i
		}
	}
}
