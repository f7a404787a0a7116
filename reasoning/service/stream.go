package service

import (
	"encoding/json"
	"errors"
	"mime"
	"net/http"
	"strings"
	"sync"

	"savant/fault"
	"savant/reasoning"
)

// transcript accumulates the output of a model for an open question. Its zero value is
// ready, and safe for concurrent use.
type transcript struct {
	mu    sync.Mutex
	parts []string
	more  chan struct{} // closed at the next write; nil while nobody waits
}

func (t *transcript) add(text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.parts = append(t.parts, text)
	if t.more != nil {
		close(t.more)
		t.more = nil
	}
}

// transcribed is the observer of a decision for which several may wait: each hears its text
// from the transcript.
type transcribed struct {
	reasoning.Observer
	to *transcript
}

// Wrote adds a text to the transcript.
func (w transcribed) Wrote(part string) { w.to.add(part) }

// listener returns a function that passes new text to the observer and returns a channel
// closed at the next write.
func (t *transcript) listener(observer reasoning.Observer) func() (more <-chan struct{}) {
	if !observer.Streams() {
		return func() <-chan struct{} { return nil }
	}
	sent := 0
	return func() <-chan struct{} {
		t.mu.Lock()
		if t.more == nil {
			t.more = make(chan struct{})
		}
		more, parts := t.more, t.parts[sent:]
		t.mu.Unlock()
		sent += len(parts)
		for _, each := range parts {
			observer.Wrote(each)
		}
		return more
	}
}

// lines writes an answer in lines of JSON. The first text begins it. Its methods are safe
// for concurrent use.
type lines struct {
	reasoning.Unobserved
	w http.ResponseWriter

	mu          sync.Mutex
	begun, over bool
}

// wanted reports whether a request accepts an answer in lines.
func (*lines) wanted(r *http.Request) bool {
	for each := range strings.SplitSeq(strings.Join(r.Header.Values("Accept"), ","), ",") {
		if kind, params, err := mime.ParseMediaType(each); err == nil && kind == reasoning.StreamType && params["q"] != "0" {
			return true
		}
	}
	return false
}

// Streams implements reasoning.Observer.
func (*lines) Streams() bool { return true }

// Wrote writes a text. Texts after the end are ignored.
func (l *lines) Wrote(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
		return
	}
	if !l.begun {
		l.begun = true
		l.w.Header().Set("Content-Type", reasoning.StreamType)
		l.w.Header().Set("X-Content-Type-Options", "nosniff")
		l.w.WriteHeader(http.StatusOK)
	}
	l.write(reasoning.StreamLine{Text: &text})
}

// end writes the last line, the intent or the error, and reports whether the answer had
// begun.
func (l *lines) end(intent reasoning.Intent, err error) (begun bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.over = true
	temporary := (*reasoning.Temporary)(nil)
	switch {
	case !l.begun:
	case errors.Is(err, errStill):
		l.write(reasoning.StreamLine{Status: reasoning.StatusDeciding})
	case err != nil:
		coded := fault.From(err)
		line := reasoning.StreamLine{Error: string(coded.Code), Details: coded.Details}
		if errors.As(err, &temporary) {
			line.RetryAfter = temporary.After.Seconds()
		}
		l.write(line)
	default:
		l.write(intent)
	}
	return l.begun
}

// write sends a line at once. It ignores errors, because the request's context signals a
// disconnect.
func (l *lines) write(line any) {
	if json.NewEncoder(l.w).Encode(line) == nil {
		_ = http.NewResponseController(l.w).Flush()
	}
}
