package redact

import (
	"strings"

	"savant/internal/pattern"
)

// nearCut is how many bytes before and behind a word that is cut are judged, and how long a cut may be.
const nearCut = 256

// joined returns the places of secrets that something cuts: a concatenation or a
// continued line of source code, a soft break of quoted-printable, the end of a line.
func (r *Redactor) joined(text string, depth int) (all []span) {
	eachJoined(text, func(plain string, places []int) bool {
		for _, found := range append(r.direct(plain), r.inner(plain, depth)...) {
			if found.from < found.to {
				all = append(all, span{places[found.from], places[found.to-1] + 1})
			}
		}
		return true
	})
	return all
}

// eachJoined calls yield for the parts of a text that have cuts, without these, and where
// each byte was, until it returns false.
func eachJoined(text string, yield func(plain string, places []int) bool) {
	var plain strings.Builder
	var places []int
	last, end := 0, -1 // what is copied, and where the part that is joined ends
	add := func(to int) {
		plain.WriteString(text[last:to])
		for ; last < to; last++ {
			places = append(places, last)
		}
	}
	for at := 0; at <= len(text); at++ {
		to := cutAt(text, at)
		if to == 0 && at < len(text) {
			continue
		}
		if end >= 0 && at > end {
			end = min(at, endOfRun(text, end)) // no part of a word
		}
		if end >= 0 && (at > end || at == len(text)) {
			if add(end); !yield(plain.String(), places) {
				return
			}
			plain.Reset()
			places, end = nil, -1
		}
		if at == len(text) {
			return
		}
		if end < 0 {
			last = max(last, startOfRun(text, max(last, startOfRun(text, at)-nearCut)))
		}
		add(at)
		last, end, at = to, max(min(len(text), to+nearCut), endOfRun(text, to)), to-1
	}
}

// cutAt returns where a word goes on that is cut at a place, or 0.
func cutAt(text string, at int) (to int) {
	if at == len(text) || !cutBytes[text[at]] {
		return 0
	}
	if unseenBegin[text[at]] {
		if unseen := unseen().FindString(text[at:min(len(text), at+maxLabel)]); unseen != "" {
			return at + len(unseen)
		}
	}
	if at == 0 {
		return 0
	}
	if to = softBreak(text, at); to > 0 || !tokenBytes[text[at-1]] {
		return to
	}
	near := text[:min(len(text), at+nearCut)]
	switch c := text[at]; {
	case quotes[c], c == '\\' && at+1 < len(near) && quotes[near[at+1]]:
		to = concatenated(near, at)
	case c == '\\' && strings.HasPrefix(near[at+1:], "n"):
		if to = at + 2; !goesOn(near, to) {
			return 0
		}
	default:
		if to = lineCut(near, at); to == 0 {
			return 0
		}
	}
	if to >= len(near) || !tokenBytes[near[to]] {
		return 0
	}
	return to
}

var (
	cutBytes    = bytesOf("\"'`\\=\r\n\x1b^\u00ad\u200b\ufeff")
	gapBytes    = bytesOf(" \t\r\n+.&_\\")
	lineBegin   = bytesOf(" \t+>#")
	unseenBegin = bytesOf("\x1b\\^\u00ad\u200b\ufeff")
	// unseen matches what a terminal or a page does not show: colours, and characters of no width.
	unseen = pattern.Lazy(`^((\x1b|\\033|\\e|\^\[)(\[[0-?]*[ -/]*[@-~]|[()][0-9A-Z])|[\x{ad}\x{200b}-\x{200d}\x{2060}\x{feff}])+`)
)

// concatenated returns the end of what stands between two texts in quotes that source code
// joins, with the quotes.
func concatenated(text string, at int) int {
	quote := at
	for text[quote] == '\\' {
		quote++
	}
	to := quote + 1
	for to < len(text) && (gapBytes[text[to]] || text[to] == 'n' && text[to-1] == '\\') {
		to++
	}
	switch {
	case to >= len(text) || text[to] != text[quote]:
		return 0
	case strings.Trim(text[quote+1:to], " \t\\") == "", address().MatchString(text[to+1:]): // two arguments of a command
		return 0
	case strings.HasSuffix(text[:at], `\n`): // a whole line
		return 0
	}
	return to + 1
}

// lineCut returns where a word goes on that the end of a line cuts. Without a sign of it,
// the next line must begin with what looks like the rest of a key.
func lineCut(text string, at int) int {
	to, sign := at, text[at]
	if sign == '=' || sign == '\\' {
		to++
	}
	if to < len(text) && text[to] == '\r' {
		to++
	}
	if to >= len(text) || text[to] != '\n' {
		return 0
	}
	for to++; to < len(text) && lineBegin[text[to]]; {
		to++
	}
	if last := text[max(startOfRun(text, at), at-maxLabel):at]; sign == '\\' || goesOn(text, to) && len(last) >= 4 && random(last) {
		return to
	}
	return 0
}

// softBreak returns the end of a soft break of quoted-printable, or 0. It ends a line of 74 to 76
// bytes (RFC 2045, 6.7), an escape of three bytes being whole.
func softBreak(text string, at int) int {
	rest := strings.TrimPrefix(text[at+1:], "\r")
	if text[at] != '=' || len(rest) < 2 || rest[0] != '\n' {
		return 0
	}
	line := text[max(0, at-mostSoft):at]
	if begin := strings.LastIndexByte(line, '\n') + 1; begin == 0 && at > len(line) || len(line)-begin < mostSoft-5 {
		return 0
	}
	return len(text) - len(rest) + 1
}

// mostSoft is how many bytes a line of quoted-printable may have, with the end of the one before.
const mostSoft = 77

// startOfRun and endOfRun return the ends of the word that has a place.
func startOfRun(text string, at int) int {
	for at > 0 && tokenBytes[text[at-1]] {
		at--
	}
	return at
}

func endOfRun(text string, at int) int {
	for at < len(text) && tokenBytes[text[at]] {
		at++
	}
	return at
}

// goesOn reports whether a line begins with what looks like the rest of a key: no words,
// and nothing that is called, defined or assigned.
func goesOn(text string, from int) bool {
	to := from
	for to < len(text) && inKey[text[to]] {
		to++
	}
	rest, tail := text[from:to], strings.TrimLeft(text[to:], " \t")
	adjacent := len(tail) == len(text)-to
	if !isPart(rest) || areWords(rest) || tail == "" || len(rest) > 2*longWord && adjacent && !called[tail[0]] { // longer than names
		return isPart(rest) && !areWords(rest)
	}
	sign, behind := tail[0], strings.TrimLeft(tail, ":=")
	if sign != ':' && sign != '=' {
		return !called[sign]
	}
	return adjacent && behind != "" && (sign == '=' && !tokenBytes[behind[0]] || sign == ':' && changes(rest) > 0 && !blanks[behind[0]])
}

// isPart reports whether a word may be a part of a key.
func isPart(word string) bool {
	return len(word) >= 4 && (mixed(word) || changes(word) > 0 && !selector().MatchString(word))
}

var inKey = bytesOf(letters + digits + "._~+/-")
