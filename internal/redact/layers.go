package redact

import (
	"encoding/base64"
	"encoding/hex"
	"html"
	"strings"
	"unicode/utf8"
)

// layers is how many encodings within each other are undone.
const layers = 2

// inner returns the places of secrets in what a text has encoded: in words with
// escapes of addresses, JSON, code or markup (%3D, \u003d, \x3d, &#61;), and in base64 or hexadecimal
// digits of a whole text, as a manifest has it. Of the latter it is the whole, since a part of it would not be read anyway.
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
	return append(all, r.joined(text, depth-1)...)
}

// encoded reports whether inner has something to look at.
func encoded(text string) (is bool) {
	found := func() bool { is = true; return false }
	eachEscaped(text, func(int, int) bool { return found() })
	if !is {
		eachBase64(text, func(int, int, string) bool { return found() })
	}
	if !is {
		eachJoined(text, func(string, []int) bool { return found() })
	}
	return is
}

// eachEscaped calls yield for the words that have an escape of an address, of JSON or of
// code, and the lines that have one of markup, until it returns false.
func eachEscaped(text string, yield func(from, to int) bool) {
	for at, done := 0, 0; ; {
		next := strings.IndexAny(text[at:], `%\&+=`)
		if next < 0 {
			return
		}
		at += next
		if _, length := escapeAt(text, at); length == 0 {
			at++
			continue
		}
		from, of := at, wordOfAddress
		switch text[at] {
		case '&':
			of = lineOfMarkup
		case '=':
			of = wholeLine
		}
		for from > done && of[text[from-1]] {
			from--
		}
		for at < len(text) && of[text[at]] {
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
	lineOfMarkup  = otherThan("\r\n\"'<>`")
	wholeLine     = otherThan("\r\n")
	hexDigits     = bytesOf(digits + "abcdefABCDEF")
)

// hexEscapes are what begins the escapes of a byte that end in two digits.
var hexEscapes = [...]string{"%", `\u00`, `\x`}

// longestEscape is how many bytes the longest escape of markup has: &quot; and &#x0027;.
const longestEscape = 8

// escapeAt returns the byte that an escape at a place stands for, and the length of
// the escape, or 0.
func escapeAt(text string, at int) (stands byte, length int) {
	rest := text[at:min(len(text), at+longestEscape)]
	if strings.HasPrefix(rest, "=3D") { // of quoted-printable
		return '=', len("=3D")
	}
	if rest[0] == '+' && !strings.HasPrefix(rest, "+=") && (strings.HasPrefix(rest, "+-") || inQuery(text[max(0, at-maxLabel):at])) { // tool+--token+X
		return ' ', 1
	}
	for _, begin := range hexEscapes {
		if digits, is := strings.CutPrefix(rest, begin); is && len(digits) > 1 && hexDigits[digits[0]] && hexDigits[digits[1]] {
			return nibble(digits[0])<<4 | nibble(digits[1]), len(begin) + 2
		}
	}
	if end := strings.IndexByte(rest, ';') + 1; end > 0 && rest[0] == '&' {
		if plain := html.UnescapeString(rest[:end]); len(plain) == 1 {
			return plain[0], end
		}
	}
	return 0, 0
}

// inQuery reports whether a text ends within a query, or behind the name of a header.
func inQuery(text string) bool {
	last := strings.LastIndexAny(text, "?&: \t\r\n\"'<>`")
	return last >= 0 && (text[last] == '?' || text[last] == '&' || last == len(text)-1 && text[last] == ':')
}

// unescaped returns a word without its escapes, and where each byte, and the end, was.
func unescaped(word string) (decoded string, places []int) {
	var out strings.Builder
	places = make([]int, 0, len(word)+1)
	inAddress := strings.Contains(word, "%")
	for at := 0; at < len(word); {
		places = append(places, at)
		switch stands, length := escapeAt(word, at); {
		case length > 0:
			at += length
			out.WriteByte(stands)
			continue
		case word[at] == '+' && inAddress:
			out.WriteByte(' ')
		default:
			out.WriteByte(word[at])
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

// eachBase64 calls yield for each text in base64, until it returns false: for each run of
// letters, and with the lines that continue it. Behind a path or a name it begins after a
// sign, and ends where no text follows.
func eachBase64(text string, yield func(from, to int, decoded string) bool) {
	for at, done := 0, 0; ; {
		from, to := nextRun(text, at)
		if from < 0 {
			return
		}
		at = to
		_, likely := plain(text[from:min(to, from+judgedBase64)])
		if likely && from >= done {
			var data strings.Builder
			if done = continued(text, from, to, &data); done > to {
				if decoded, is := plain(text[from:to] + data.String()); is && !yield(from, done, decoded) {
					return
				}
			}
		}
		if likely {
			if decoded, is := plain(text[from:to]); is {
				if !yield(from, to, decoded) {
					return
				}
				continue
			}
		}
		for begin := from; begin+leastBase64 <= to; begin++ {
			if begin > from && alphanumeric[text[begin-1]] {
				continue
			}
			if inside, end := decodedPart(text[begin:to]); end > 0 {
				if !yield(begin, begin+end, inside) {
					return
				}
				begin += end - 1 // each letter is decoded once
			}
		}
	}
}

// nextRun returns the place of the next leastBase64 letters or more, without the
// letter of an escape (\n), or -1.
func nextRun(text string, at int) (from, to int) {
	for at+leastBase64 <= len(text) {
		from, to = at, at+leastBase64
		for at = to; at > from && eitherBase64[text[at-1]]; { // where letters up to there begin
			at--
		}
		if at > from {
			continue
		}
		for to < len(text) && eitherBase64[text[to]] {
			to++
		}
		if from > 0 && text[from-1] == '\\' {
			from++
		}
		return from, to
	}
	return -1, -1
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

// decodedPart decodes the text that a run begins with, if it is one at first sight, and returns where
// it ends, or 0. It decodes more and more, so that a short one costs little.
func decodedPart(run string) (inside string, end int) {
	for end < len(run) && hexDigits[run[end]] {
		end++
	}
	if end >= leastBase64 { // whatever follows the digits
		if inside, is := plain(run[:end]); is {
			return inside, end
		}
	}
	for size := judgedBase64; ; size *= 4 {
		part := run[:min(len(run), size)]
		inside, end = plainHead(part)
		switch whole := isWhole(part, end); {
		case !whole && size == judgedBase64:
			return "", 0
		case !whole || len(part) == len(run):
			return inside, end
		}
	}
}

// plain decodes base64 or hexadecimal digits of a text without control characters, of
// which the last character may be incomplete.
func plain(data string) (text string, is bool) {
	text, end := plainHead(data)
	return text, isWhole(data, end)
}

// isWhole reports whether what plainHead decoded ends with the data, but for an incomplete character.
func isWhole(data string, end int) bool { return end > 0 && end+leastBase64/4 > len(data) }

// plainHead decodes such a text, up to the first other byte, and returns where it ends.
func plainHead(data string) (text string, end int) {
	raw, err := decodedBytes(data)
	if err != nil {
		return "", 0
	}
	n := 0
	for n < len(raw) {
		c, size := utf8.DecodeRune(raw[n:])
		if c == utf8.RuneError && size < 2 || c < ' ' && c != '\n' && c != '\r' && c != '\t' || c == 0x7f {
			break
		}
		n += size
	}
	if n == 0 {
		return "", 0
	}
	return string(raw[:n]), min(len(data), (n*len(data)+len(raw)-1)/len(raw))
}

func decodedBytes(data string) ([]byte, error) {
	if inHex := strings.TrimPrefix(data, "0x"); hexDigits.all(inHex) {
		return hex.DecodeString(inHex[:len(inHex)&^1])
	}
	return base64.RawStdEncoding.DecodeString(toStandard.Replace(data[:len(data)-len(data)%4+cutBase64[len(data)%4]]))
}

// cutBase64 are the letters of an incomplete group that say something.
var cutBase64 = [4]int{0, 0, 2, 3}

var toStandard = strings.NewReplacer("-", "+", "_", "/")
