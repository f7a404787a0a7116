package redact

import (
	"encoding/base64"
	"strings"
	"unicode/utf8"
)

// layers is how many encodings within each other are undone.
const layers = 2

// inner returns the places of secrets in what a text has encoded: in words with
// escapes of addresses or JSON (%3D, \u003d), and in base64 of a whole text, as a manifest has it.
// Of the latter it is the whole, since a part of it would not be read anyway.
func (r *Redactor) inner(text string, depth int) []span {
	if depth == 0 {
		return nil
	}
	var all []span
	eachEscaped(text, func(from, to int) bool {
		decoded, places := unescaped(text[from:to])
		for _, found := range append(r.direct(decoded), r.inner(decoded, depth-1)...) {
			all = append(all, span{from + places[found.from], from + places[found.to]})
		}
		return true
	})
	eachBase64(text, func(from, to int, decoded string) bool {
		if len(r.direct(decoded)) > 0 || len(r.inner(decoded, depth-1)) > 0 {
			all = append(all, span{from, to})
		}
		return true
	})
	return all
}

// encoded reports whether inner has something to look at.
func encoded(text string) (is bool) {
	found := func() bool { is = true; return false }
	eachEscaped(text, func(int, int) bool { return found() })
	if !is {
		eachBase64(text, func(int, int, string) bool { return found() })
	}
	return is
}

// eachEscaped calls yield for the words that have an escape of an address or of JSON,
// until it returns false.
func eachEscaped(text string, yield func(from, to int) bool) {
	for at, done := 0, 0; ; {
		next := strings.IndexAny(text[at:], `%\`)
		if next < 0 {
			return
		}
		if at += next; escapeAt(text, at) == 0 {
			at++
			continue
		}
		from := at
		for from > done && wordOfAddress[text[from-1]] {
			from--
		}
		for at < len(text) && wordOfAddress[text[at]] {
			at++
		}
		if !yield(from, at) {
			return
		}
		done = at
	}
}

var (
	wordOfAddress = otherThan(" \t\r\n\"'<>`")
	hexDigits     = bytesOf(digits + "abcdefABCDEF")
)

// escapeAt returns the length of the escape of a byte that is at a place, or 0.
func escapeAt(text string, at int) int {
	const inJSON = `\u00`
	switch {
	case text[at] == '%' && at+2 < len(text) && hexDigits[text[at+1]] && hexDigits[text[at+2]]:
		return len("%00")
	case strings.HasPrefix(text[at:], inJSON) && at+len(inJSON)+1 < len(text) && hexDigits[text[at+len(inJSON)]] && hexDigits[text[at+len(inJSON)+1]]:
		return len(inJSON) + len("00")
	}
	return 0
}

// unescaped returns a word without its escapes, and where each byte, and the end, was.
func unescaped(word string) (decoded string, places []int) {
	var out strings.Builder
	places = make([]int, 0, len(word)+1)
	for at := 0; at < len(word); {
		places = append(places, at)
		if length := escapeAt(word, at); length > 0 {
			at += length
			out.WriteByte(nibble(word[at-2])<<4 | nibble(word[at-1]))
			continue
		}
		if c := word[at]; c == '+' {
			out.WriteByte(' ')
		} else {
			out.WriteByte(c)
		}
		at++
	}
	return out.String(), append(places, len(word))
}

func nibble(c byte) byte {
	if c <= '9' {
		return c - '0'
	}
	return c&^lower - 'A' + 10
}

// A text in base64 has leastBase64 letters. Of a run of them, judgedBase64 are decoded
// first, which rules out names. Lines of wrappedBase64 letters or more continue.
const (
	leastBase64   = 24
	judgedBase64  = 16
	wrappedBase64 = 60
)

var eitherBase64 = bytesOf(letters + digits + "+/-_")

// eachBase64 calls yield for each text in base64, until it returns false.
func eachBase64(text string, yield func(from, to int, decoded string) bool) {
	for at := 0; at+leastBase64 <= len(text); {
		from := at + leastBase64 // where letters up to there begin
		for from > at && eitherBase64[text[from-1]] {
			from--
		}
		if from > at {
			at = from
			continue
		}
		to := at + leastBase64
		for to < len(text) && eitherBase64[text[to]] {
			to++
		}
		if _, is := plain(text[at : at+judgedBase64]); is {
			var data strings.Builder
			data.WriteString(text[at:to])
			last := continued(text, at, to, &data)
			decoded, is := plain(data.String())
			if is {
				to = last
			} else { // what follows is no more of it
				decoded, is = plain(text[at:to])
			}
			if is && !yield(at, to, decoded) {
				return
			}
		}
		at = to + 1
	}
}

// continued adds the further lines of a text in base64 to data, and returns their end.
func continued(text string, from, to int, data *strings.Builder) int {
	for last := to - from; last >= wrappedBase64 && last%4 == 0 && to < len(text) && (text[to] == '\n' || text[to] == '\r' || text[to] == '\\'); {
		begin := to
		for begin < len(text) && begin-to < maxLabel && lineEnds[text[begin]] {
			if begin++; text[begin-1] == '\\' && begin < len(text) { // \n in JSON
				begin++
			}
		}
		end := begin
		for end < len(text) && eitherBase64[text[end]] {
			end++
		}
		if end == begin {
			return to
		}
		data.WriteString(strings.TrimPrefix(text[begin:end], "+")) // a diff's
		last, to = (end-begin)&^3, end
	}
	return to
}

var lineEnds = bytesOf(" \t\r\n\\")

// plain decodes base64 of a text without control characters.
func plain(data string) (text string, is bool) {
	raw, err := base64.RawStdEncoding.DecodeString(toStandard.Replace(data[:len(data)-len(data)%4+cutBase64[len(data)%4]]))
	if err != nil || !utf8.Valid(raw[:len(raw)-incomplete(raw)]) {
		return "", false
	}
	for _, c := range raw {
		if c < ' ' && c != '\n' && c != '\r' && c != '\t' || c == 0x7f {
			return "", false
		}
	}
	return string(raw), true
}

// cutBase64 are the letters of an incomplete group that say something.
var cutBase64 = [4]int{0, 0, 2, 3}

var toStandard = strings.NewReplacer("-", "+", "_", "/")

// incomplete returns how many bytes at the end are the beginning of a character.
func incomplete(raw []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(raw); n++ {
		if c := raw[len(raw)-n]; utf8.RuneStart(c) {
			if c >= utf8.RuneSelf && !utf8.FullRune(raw[len(raw)-n:]) {
				return n
			}
			return 0
		}
	}
	return 0
}
