package redact

import "strings"

// reading is a text that is looked through. What was counted once is not counted
// again: in a text that is made for it, every word begins a run of bytes that
// goes to the end.
type reading struct {
	text string
	// runs are the last that were counted, ends is how far it was to the end of
	// the last private key.
	runs map[*set]span
	ends span
	// searched is how far each rule has gone, found what they found.
	searched map[*rule]int
	found    []span
}

func newReading(text string) *reading {
	return &reading{text: text, runs: map[*set]span{}, searched: map[*rule]int{}}
}

// run returns the end of the bytes of a set that stand at a place.
func (r *reading) run(at int, of *set) int {
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

// begins says whether a word can begin at a place.
func (r *reading) begins(at int) bool { return at == 0 || !wordBytes[r.text[at-1]] }

// follows says whether a place is right behind a byte.
func (r *reading) follows(at int, before byte) bool { return at > 0 && r.text[at-1] == before }

// has says whether a byte of a set stands at a place.
func (r *reading) has(at int, of *set) bool { return at < len(r.text) && of[r.text[at]] }

// keyEnd returns the end of a private key that goes on at a place: behind the
// line that ends it, or that of the text.
func (r *reading) keyEnd(at int) int {
	const line, dashes = "-----END ", "-----"
	if r.ends.from <= at && at < r.ends.to {
		return r.ends.to
	}
	r.ends = span{at, len(r.text)}
	if end := strings.Index(r.text[at:], line); end >= 0 {
		end += at + len(line)
		if last := strings.Index(r.text[end:], dashes); last >= 0 {
			r.ends.to = end + last + len(dashes)
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

// What names and secrets consist of.
var (
	blanks       = bytesOf(" \t\r\n")
	alphanumeric = bytesOf(letters + digits)
	wordBytes    = bytesOf(letters + digits + "_")
	keyBytes     = bytesOf(letters + digits + "_-")
	tokenBytes   = bytesOf(letters + digits + "._~+/=-") // RFC 6750, 2.1
	schemeBytes  = bytesOf(letters + digits + "+.-")     // RFC 3986, 3.1
	userBytes    = otherThan("/?# \t\r\n\"'<>`")         // RFC 3986, 3.2: an authority ends in / ? or #
)
