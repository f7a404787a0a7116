package redact

import "strings"

// pair is a kind of key without a beginning of its own: two random parts of a known length
// with a sign between them.
type pair struct {
	sign          byte
	first, second int
	of, begin     *set // the bytes of the first part, and its first one
}

var pairs = []pair{
	{'.', 32, 16, hexadecimal, hexadecimal},     // Zhipu
	{'_', 27, 21, alphanumeric, bytesOf("123")}, // ngrok
	{'-', 32, 17, hexadecimal, hexadecimal},     // Mailgun, whose second part has two of eight
}

var hexadecimal = bytesOf(digits + "abcdef")

// eachPair calls yield for the keys of these kinds, until it returns false.
func eachPair(text string, yield func(from, to int) bool) {
	for _, each := range pairs {
		for at := each.first; at < len(text); at++ {
			next := strings.IndexByte(text[at:], each.sign)
			if next < 0 {
				break
			}
			at += next
			if each.standsAround(text, at) && !yield(at-each.first, at+1+each.second) {
				return
			}
		}
	}
}

func (p pair) standsAround(text string, at int) bool {
	from, to := at-p.first, at+1+p.second
	return to <= len(text) && p.begin[text[from]] && begins(text, from) &&
		(to == len(text) || !wordBytes[text[to]] && text[to] != p.sign) && p.of.all(text[from:at]) && mixed(text[from:at]) && p.ends(text[at+1:to])
}

// ends reports whether a text can be the second part.
func (p pair) ends(text string) bool {
	if p.sign == '-' {
		return text[8] == p.sign && hexadecimal.all(text[:8]+text[9:])
	}
	return bothCases(text)
}

// begins reports whether a part begins at a place: behind none of its own bytes, but behind
// an escape or the sign of a diff.
func begins(text string, at int) bool {
	if at == 0 || !tokenBytes[text[at-1]] || text[at-1] == '=' || text[at-1] == '/' {
		return true
	}
	return at == 1 && text[0] == '+' || at > 1 && (text[at-2:at] == "\n+" || text[at-2] == '\\' || at > 2 && text[at-3:at] == `\n+`)
}

func hasPair(text string) (is bool) {
	eachPair(text, func(int, int) bool { is = true; return false })
	return is
}

// bothCases reports whether a text has letters and digits only, capitals and small letters
// among them.
func bothCases(text string) bool {
	return alphanumeric.all(text) && strings.ToLower(text) != text && strings.ToUpper(text) != text
}

// all reports whether a text has only bytes of the set.
func (s *set) all(text string) bool {
	for i := range len(text) {
		if !s[text[i]] {
			return false
		}
	}
	return true
}
