package redact

import "strings"

// keys are the prefixes of keys of well-known services, and how many bytes of
// which kind follow at least. named is the same number behind an underscore, where
// a prefix may be part of a name; 0 never matches there.
var keys = []struct {
	prefixes string
	of       *set
	least    int
	named    int
}{
	{"sk- sk_ pk- pk_ rk- rk_ whsec_", keyBytes, 8, 0},
	{"ghp_ gho_ ghu_ ghs_ ghr_ github_pat_ glpat-", keyBytes, 8, 20},
	{"xoxa- xoxb- xoxe- xoxo- xoxp- xoxr- xoxs- xapp-", keyBytes, 8, 20}, // Slack
	{"AKIA ASIA AIza", keyBytes, 12, 16},                                 // AWS, Google
	{"hf_ npm_", alphanumeric, 30, 30},                                   // Hugging Face, npm
}

// shapes are the words of texts that look like a secret by themselves.
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
			list = append(list, word{text: prefix, secret: func(r *reading, at, end int) span {
				to := r.run(end, each.of)
				if r.begins(at) && to-end >= each.least || each.named > 0 && r.follows(at, '_') && to-end >= each.named {
					return span{at, to}
				}
				return span{}
			}})
		}
	}
	return list
}

// webToken is a JSON web token (RFC 7519): two or three parts in base64, separated
// by dots, the first an object.
func webToken(r *reading, at, end int) span {
	head := r.run(end, keyBytes)
	if !r.begins(at) || head-end < 6 || head == len(r.text) || r.text[head] != '.' {
		return span{}
	}
	body := r.run(head+1, keyBytes)
	switch {
	case body-head <= 4:
		return span{}
	case body < len(r.text) && r.text[body] == '.':
		return span{at, r.run(body+1, keyBytes)}
	}
	return span{at, body}
}

// credentials follow the scheme of an authorization header. The next word of a
// sentence does not count.
func credentials(r *reading, at, end int) span {
	from := r.run(end, blanks)
	if strings.HasPrefix(r.text[end:], "%20") {
		from = end + len("%20")
	}
	to := r.run(from, tokenBytes)
	if !r.begins(at) || from == end || to-from < 6 || to-from < 16 && !random(r.text[from:to]) {
		return span{}
	}
	return span{from, to}
}

// random reports whether a text is more than words: it has digits, or capitals
// inside.
func random(text string) bool {
	for i := range len(text) {
		if c := text[i]; '0' <= c && c <= '9' || i > 0 && 'A' <= c && c <= 'Z' {
			return true
		}
	}
	return false
}

// maxLabel is how many bytes may precede PRIVATE KEY in its line.
const maxLabel = 40

// privateKey is a block of RFC 7468 or OpenPGP, to its end or that of the text.
func privateKey(r *reading, at, end int) span {
	before := max(0, at-maxLabel)
	from := strings.LastIndex(r.text[before:at], "-----BEGIN ")
	if from < 0 || !strings.HasPrefix(strings.TrimPrefix(r.text[end:], " BLOCK"), "-----") {
		return span{}
	}
	return span{before + from, r.keyEnd(end)}
}

// userInfo is the user and password of an address.
func userInfo(r *reading, at, end int) span {
	if at == 0 || !schemeBytes[r.text[at-1]] {
		return span{}
	}
	return span{end, end + max(0, strings.LastIndexByte(r.text[end:r.run(end, userBytes)], '@'))}
}
