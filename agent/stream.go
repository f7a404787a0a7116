package agent

import (
	"sync"

	"savant/internal/redact"
	"savant/reasoning"
)

// wrote returns what is to be called with each part of a model's answer, and a
// function to call at the end. Both do nothing where nobody listens.
func (r *Run) wrote(step int) (wrote func(string), flush func()) {
	tell := r.runtime.options.Wrote
	if tell == nil {
		return nil, func() {}
	}
	first := sync.OnceFunc(r.runtime.options.Recorder.Flush) // what came before is shown before
	s := redact.NewStream(r.runtime.redactor, func(text string) {
		first()
		tell(r.ID(), step, text)
	})
	return s.Add, s.Flush
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
