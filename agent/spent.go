package agent

import (
	"cmp"

	"savant/engines"
	"savant/reasoning"
)

// SpentOn returns what a call of a model cost; prices is nil without prices. An
// answer from the cache costs nothing. A call whose tokens nobody counted has no known
// cost. A failed call of a model without a price is not reported.
func SpentOn(call reasoning.ModelCall, prices Prices) (made engines.Spent) {
	if prices == nil || call.Cached {
		return engines.Spent{}
	}
	cost, known := prices.Cost(call.Model, call.PromptTokens, call.OutputTokens)
	uncounted := call.PromptTokens+call.OutputTokens == 0 && call.Err == nil
	switch {
	case known && !uncounted:
		made.Cost = &cost
	case known:
		made.Unpriced = []string{cmp.Or(call.Model, call.Provider()) + " (it counted no tokens)"}
	case call.Err == nil:
		made.Unpriced = []string{cmp.Or(call.Model, call.Provider())}
	}
	return made
}

// spentOn is SpentOn without secrets in the names of models, which an external service
// may choose.
func (r *Run) spentOn(call reasoning.ModelCall) engines.Spent {
	made := SpentOn(call, r.runtime.options.Prices)
	for i, model := range made.Unpriced {
		made.Unpriced[i] = r.runtime.redactor.Text(model)
	}
	return made
}

// spentOnAll is what calls of models cost together.
func (r *Run) spentOnAll(calls []reasoning.ModelCall) (sum engines.Spent) {
	for _, each := range calls {
		sum.Add(r.spentOn(each))
	}
	return sum
}
