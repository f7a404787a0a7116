package agent

import (
	"sync"

	"savant/internal/redact"
	"savant/reasoning"
)

// wrote returns a callback for each part of a model's answer, and a flush for its end.
// Both do nothing without Options.Wrote.
func (r *Run) wrote(step int) (wrote func(string), flush func()) {
	tell := r.runtime.options.Wrote
	if tell == nil {
		return nil, func() {}
	}
	first := sync.OnceFunc(r.runtime.options.Recorder.Flush) // shows earlier events first
	s := redact.NewStream(r.runtime.redactor, func(text string) {
		first()
		tell(r.ID(), step, text)
	})
	return s.Add, s.Flush
}

// cost is the total cost of model calls; nil if no price is known.
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

// price is the cost of one call, if known. A cached answer costs nothing.
func (r *Run) price(call reasoning.ModelCall) (cost float64, known bool) {
	if r.runtime.options.Price == nil || call.Cached {
		return 0, false
	}
	return r.runtime.options.Price(call.Model, call.PromptTokens, call.OutputTokens)
}
