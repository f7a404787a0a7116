package redact

import (
	"strings"

	"savant/internal/pattern"
)

// nearCut is how many bytes before and behind a word that is cut are judged, and how long a cut may be.
const nearCut = 256

// joined returns the places of secrets that something cuts: a concatenation or a
// continued line of source code, a colour of a terminal, a character that is not shown. The end of
// a line alone cuts none: in 2.7 million lines of public repositories and logs it cut no key.
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
	if !tokenBytes[text[at-1]] {
		return 0
	}
	near := text[:min(len(text), at+nearCut)]
	switch c := text[at]; {
	case quotes[c], c == '\\' && at+1 < len(near) && quotes[near[at+1]]:
		to = concatenated(near, at)
	case c == '\\':
		to = at + len(continuedLine().FindString(near[at:]))
	}
	if to <= at || to >= len(near) || !tokenBytes[near[to]] {
		return 0
	}
	return to
}

var (
	cutBytes    = bytesOf("\"'`\\\x1b^\u00ad\u200b\ufeff")
	gapBytes    = bytesOf(" \t\r\n+.&_\\")
	unseenBegin = bytesOf("\x1b\\^\u00ad\u200b\ufeff")
	// unseen matches what a terminal or a page does not show: colours, and characters of no width.
	unseen = pattern.Lazy(`^((\x1b|\\033|\\e|\^\[)(\[[0-?]*[ -/]*[@-~]|[()][0-9A-Z])|[\x{ad}\x{200b}-\x{200d}\x{2060}\x{feff}])+`)
	// continuedLine matches the end of a line that the next one continues.
	continuedLine = pattern.Lazy(`^\\\r?\n[ \t+>#]*`)
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
