package redact

import "strings"

// scanner is one pass over a text. It remembers what it has measured, so that a
// hostile text, in which every word begins a run to the end, takes linear time.
type scanner struct {
	text string
	// runs are the last runs of each set, ends is the last private key.
	runs map[*set]span
	ends span
	// searched is how far each rule has searched, found what the rules found.
	searched map[*rule]int
	found    []span
}

func newReading(text string) *scanner {
	return &scanner{text: text, runs: map[*set]span{}, searched: map[*rule]int{}}
}

// run returns the end of the run of bytes of a set that begins at a place.
func (r *scanner) run(at int, of *set) int {
	if last := r.runs[of]; last.from <= at && at < last.to {
		return last.to
	}
	to := at
	for to < len(r.text) && of[r.text[to]] {
		to++
	}
	r.runs[of] = span{at, to}
	return to
}

// begins reports whether a word can begin at a place.
func (r *scanner) begins(at int) bool { return at == 0 || !wordBytes[r.text[at-1]] }

// follows reports whether a place is right behind a byte.
func (r *scanner) follows(at int, before byte) bool { return at > 0 && r.text[at-1] == before }

// has reports whether a byte of a set is at a place.
func (r *scanner) has(at int, of *set) bool { return at >= 0 && at < len(r.text) && of[r.text[at]] }

// keyEnd returns the end of a private key that continues at a place: behind its
// last line, which begins with line, or the end of the text.
func (r *scanner) keyEnd(at int, line string) int {
	const dashes = "----"
	if r.ends.from <= at && at < r.ends.to {
		return r.ends.to
	}
	r.ends = span{at, len(r.text)}
	if end := strings.Index(r.text[at:], line); end >= 0 {
		end += at + len(line)
		if last := strings.Index(r.text[end:], dashes); last >= 0 {
			r.ends.to = end + last + len(dashes)
			if r.has(r.ends.to, hyphen) {
				r.ends.to++
			}
		}
	}
	return r.ends.to
}

// set is a set of bytes.
type set [256]bool

func bytesOf(text string) *set {
	var s set
	for i := range len(text) {
		s[text[i]] = true
	}
	return &s
}

func otherThan(text string) *set {
	s := bytesOf(text)
	for i := range s {
		s[i] = !s[i]
	}
	return s
}

const letters, digits = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", "0123456789"

// The bytes of names and secrets.
var (
	blanks       = bytesOf(" \t\r\n")
	dots         = bytesOf(".")
	hyphen       = bytesOf("-")
	alphanumeric = bytesOf(letters + digits)
	wordBytes    = bytesOf(letters + digits + "_")
	keyBytes     = bytesOf(letters + digits + "_-")
	tokenBytes   = bytesOf(letters + digits + "._~+/=-") // RFC 6750, 2.1
	schemeBytes  = bytesOf(letters + digits + "+.-")     // RFC 3986, 3.1
	userBytes    = otherThan("/?# \t\r\n\"'<>`")         // RFC 3986, 3.2: an authority ends in / ? or #
)
