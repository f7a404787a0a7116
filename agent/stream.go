package agent

import (
	"strings"
	"sync"

	"savant/reasoning"
)

// maxHeld is how much of what a model writes is held back while it may be half of a
// secret, in bytes: a secret has no space in it.
const maxHeld = 512

// stream passes on what a model writes, word by word and without secrets.
type stream struct {
	mu    sync.Mutex
	held  strings.Builder
	tell  func(string)
	clean func(string) string
}

// wrote returns what is to be called with each part of a model's answer, and a
// function to call at the end. Both do nothing where nobody listens.
func (r *Run) wrote(step int) (wrote func(string), flush func()) {
	tell := r.runtime.options.Wrote
	if tell == nil {
		return nil, func() {}
	}
	first := sync.OnceFunc(r.runtime.options.Recorder.Flush) // what came before is shown before
	s := &stream{clean: r.runtime.redactor.Text, tell: func(text string) {
		first()
		tell(r.ID(), step, text)
	}}
	return s.add, s.flush
}

func (s *stream) add(part string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held.WriteString(part)
	text := s.held.String()
	end := strings.LastIndexAny(text, " \n\t") + 1
	if len(text)-end > maxHeld {
		end = len(text)
	}
	s.pass(text, end)
}

func (s *stream) flush() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pass(s.held.String(), s.held.Len())
}

// pass tells the beginning of a text, and keeps the rest.
func (s *stream) pass(text string, end int) {
	if end == 0 {
		return
	}
	s.held.Reset()
	s.held.WriteString(text[end:])
	s.tell(s.clean(text[:end]))
}

// cost is what calls of models cost together; nil where no price is known.
func (r *Run) cost(calls []reasoning.ModelCall) *float64 {
	var sum *float64
	for _, each := range calls {
		if cost, known := r.price(each); known {
			if sum == nil {
				sum = new(float64)
			}
			*sum += cost
		}
	}
	return sum
}

// price is what one call cost, where that is known. What was kept is not paid again.
func (r *Run) price(call reasoning.ModelCall) (cost float64, known bool) {
	if r.runtime.options.Price == nil || call.Cached {
		return 0, false
	}
	return r.runtime.options.Price(call.Model, call.PromptTokens, call.OutputTokens)
}
