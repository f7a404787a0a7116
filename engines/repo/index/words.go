package index

import (
	"bytes"
	"iter"
	"unicode"
	"unicode/utf8"
)

// A word is a sequence of letters, digits, marks and underscores: an identifier or
// a word of prose. In scripts without spaces each character is a word. The same
// rules apply to files and queries.

// maxWord is the length of the longest word that is indexed, in bytes. Longer ones
// are data, not names. A SHA-256 in hexadecimal still fits.
const maxWord = 64

// Kinds of bytes.
const (
	other = iota
	lower
	upper
	digit
	underscore
	wide // part of a character beyond ASCII
)

var kinds = func() (table [256]byte) {
	for c := range table {
		switch {
		case c >= utf8.RuneSelf:
			table[c] = wide
		case c >= 'a' && c <= 'z':
			table[c] = lower
		case c >= 'A' && c <= 'Z':
			table[c] = upper
		case c >= '0' && c <= '9':
			table[c] = digit
		case c == '_':
			table[c] = underscore
		}
	}
	return table
}()

// unspaced are scripts that do not put spaces between words.
var unspaced = []*unicode.RangeTable{unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar}

// span is a piece of a text, in bytes.
type span struct{ start, end int }

// nextWord returns the first word at or after from; ok is false if there is none.
func nextWord(text []byte, from int) (found span, ok bool) {
	start := from
	for start < len(text) && kinds[text[start]] == other {
		start++
	}
	end := start
	for end < len(text) && kinds[text[end]] != other {
		if kinds[text[end]] != wide {
			end++
			continue
		}
		length, alone := wideCharacter(text[end:])
		switch {
		case alone && end == start:
			return span{start, end + length}, true
		case length > 0 && !alone:
			end += length
		case end > start:
			return span{start, end}, true
		default:
			return nextWord(text, start+1)
		}
	}
	return span{start, end}, end > start
}

// eachWord yields the words of a text.
func eachWord(text []byte) iter.Seq[span] {
	return spans(func(at int) (span, bool) { return nextWord(text, at) })
}

// eachPart yields the parts of a word.
func eachPart(word []byte) iter.Seq[span] {
	return spans(func(at int) (span, bool) { return nextPart(word, at) })
}

func spans(next func(from int) (span, bool)) iter.Seq[span] {
	return func(yield func(span) bool) {
		for found, ok := next(0); ok && yield(found); {
			found, ok = next(found.end)
		}
	}
}

// wordCharacter returns the length of the character at i if it can be part of a
// word, else 0. alone means that the character is a word by itself.
func wordCharacter(text []byte, i int) (length int, alone bool) {
	switch kinds[text[i]] {
	case other:
		return 0, false
	case wide:
		return wideCharacter(text[i:])
	}
	return 1, false
}

func wideCharacter(text []byte) (length int, alone bool) {
	r, length := utf8.DecodeRune(text)
	if length <= 1 || !unicode.In(r, unicode.L, unicode.M, unicode.N) {
		return 0, false
	}
	return length, unicode.In(r, unspaced...)
}

// nextPart returns a word's first part at or after from. camelCase, HTTPServer and
// snake_case have two parts each, utf8 has one.
func nextPart(word []byte, from int) (found span, ok bool) {
	start := from
	for start < len(word) && word[start] == '_' {
		start++
	}
	end := start
	for end < len(word) && word[end] != '_' && (end == start || !newPart(word, end)) {
		end++
	}
	return span{start, end}, end > start
}

// newPart reports whether a part other than the first begins at i.
func newPart(word []byte, i int) bool {
	if kinds[word[i]] == wide {
		return newWidePart(word, i)
	}
	if kinds[word[i]] != upper {
		return false
	}
	return kinds[word[i-1]] != upper || i+1 < len(word) && kinds[word[i+1]] == lower
}

func newWidePart(word []byte, i int) bool {
	r, _ := utf8.DecodeRune(word[i:])
	before, _ := utf8.DecodeLastRune(word[:i])
	return utf8.RuneStart(word[i]) && unicode.IsUpper(r) && !unicode.IsUpper(before)
}

// fold appends text in lower case to into. A character whose lower case has another
// length stays as it is, so that offsets in both texts agree.
func fold(into, text []byte) []byte {
	for i := 0; i < len(text); {
		c := text[i]
		if c < utf8.RuneSelf {
			if kinds[c] == upper {
				c += 'a' - 'A'
			}
			into = append(into, c)
			i++
			continue
		}
		r, length := utf8.DecodeRune(text[i:])
		if small := unicode.ToLower(r); length > 1 && utf8.RuneLen(small) == length {
			into = utf8.AppendRune(into, small)
		} else {
			into = append(into, text[i:i+length]...)
		}
		i += length
	}
	return into
}

// trimmed returns a word without leading and trailing underscores.
func trimmed(word []byte) []byte {
	return bytes.Trim(word, "_")
}
