package redact

import (
	"strings"
	"sync"
)

// maxHeld is how much of a stream is held back while it may be part of a secret, in
// bytes: no secret contains white space, except a known value, a private key (maxKey),
// and what is quoted. As much of the line before it is remembered.
const (
	maxHeldBack = 512
	maxKey      = 16 << 10
	whiteSpace  = " \n\t"
)

// Stream passes on a text that arrives in parts, word by word and without secrets. It
// is safe for concurrent use.
type Stream struct {
	mu    sync.Mutex
	held  strings.Builder
	said  string // the line of the last word: its words may make the next one a secret
	clean *Redactor
	tell  func(string)
}

// NewStream returns a stream that passes its text to tell. tell is never called
// concurrently.
func NewStream(clean *Redactor, tell func(string)) *Stream { return &Stream{clean: clean, tell: tell} }

// Add takes the next part of the text.
func (s *Stream) Add(part string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held.WriteString(part)
	text := s.held.String()
	end := strings.LastIndexAny(text, whiteSpace) + 1
	if len(text)-end > maxHeldBack {
		end = len(text)
	}
	if key := unfinishedKey(text); key >= 0 && len(text)-key <= maxKey {
		end = min(end, key)
	}
	s.pass(text, s.uncut(text, end))
}

// uncut returns an end of the text that is not inside a known value, which may not have
// arrived whole: the given one, or the beginning of a word before it.
func (s *Stream) uncut(text string, end int) int {
	for _, value := range s.clean.spaced {
		for at := max(0, end-len(value)+1); at < end; at++ {
			if strings.HasPrefix(text[at:], value) || strings.HasPrefix(value, text[at:]) {
				return s.uncut(text, strings.LastIndexAny(text[:at], whiteSpace)+1)
			}
		}
	}
	return end
}

// unfinishedKey returns where a private key begins whose end has not arrived yet, or
// -1.
func unfinishedKey(text string) int {
	begin := strings.LastIndex(text, "-BEGIN ")
	if begin < 0 {
		return -1
	}
	if _, last, has := strings.Cut(text[begin:], "-END "); has && strings.Contains(last, "----") {
		return -1
	}
	if line, _, whole := strings.Cut(text[begin:], "\n"); whole && !strings.Contains(line, "PRIVATE KEY") {
		return -1
	}
	return strings.LastIndexAny(text[:begin], whiteSpace) + 1
}

// Flush passes on the rest, at the end of the text.
func (s *Stream) Flush() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pass(s.held.String(), s.held.Len())
}

// pass passes on the beginning of a text, and keeps the rest.
func (s *Stream) pass(text string, end int) {
	if end == 0 {
		return
	}
	s.held.Reset()
	s.held.WriteString(text[end:])
	whole := s.said + text[:end]
	s.tell(s.clean.from(whole, len(s.said)))
	line := whole[strings.LastIndexByte(strings.TrimRight(whole, whiteSpace+"\r"), '\n')+1:]
	s.said = line[max(0, len(line)-maxHeldBack):]
}
