package lsp

import (
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// lines are the lines of a text, without what ends them.
type lines []string

func linesOf(text string) lines {
	return strings.Split(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text), "\n")
}

// line returns a line by its number, which counts from 0; "" beyond the end.
func (l lines) line(number int) string {
	if number < 0 || number >= len(l) {
		return ""
	}
	return l[number]
}

// encoding is how positions count what is before them in a line.
type encoding string

// The encodings of positions. The protocol's own is UTF-16.
const (
	inUTF16 encoding = "utf-16"
	inUTF8  encoding = "utf-8"
)

// offset returns the byte of a line that a character of a position is.
func (e encoding) offset(line string, character int) int {
	if e == inUTF8 {
		return max(0, min(character, len(line)))
	}
	units := 0
	for at, each := range line {
		if units >= character {
			return at
		}
		units += max(1, utf16.RuneLen(each)) // what is no character is replaced by one
	}
	return len(line)
}

// character returns the character of a position that a byte of a line is.
func (e encoding) character(line string, offset int) int {
	offset = max(0, min(offset, len(line)))
	if e == inUTF8 {
		return offset
	}
	units := 0
	for _, each := range line[:offset] {
		units += max(1, utf16.RuneLen(each))
	}
	return units
}

// byteOf returns the byte of a line at which a column begins. Columns count characters
// from 1.
func byteOf(line string, column int) int {
	at := 0
	for ; column > 1 && at < len(line); column-- {
		_, size := utf8.DecodeRuneInString(line[at:])
		at += size
	}
	return at
}

// isNameByte is what belongs to a word: a name, an access such as steps.a.status, a tool.
func isNameByte(b byte) bool {
	return b == '_' || b == '-' || b == '.' || b == '?' || b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= utf8.RuneSelf
}

// wordAt returns the bytes of the word around a byte of a line.
func wordAt(line string, at int) (begin, end int) {
	begin, end = min(at, len(line)), min(at, len(line))
	for begin > 0 && isNameByte(line[begin-1]) {
		begin--
	}
	for end < len(line) && isNameByte(line[end]) {
		end++
	}
	return begin, end
}

// ranged returns a range in a line.
func (e encoding) ranged(number int, line string, begin, end int) span {
	return span{position{number, e.character(line, begin)}, position{number, e.character(line, end)}}
}
