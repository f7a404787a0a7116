package agent

import (
	"cmp"
	"slices"
	"strings"

	"savant/reasoning"
)

// Spent is what calls of models cost by the prices of the settings.
type Spent struct {
	// Cost of the calls whose price is known; nil without one.
	Cost *float64 `json:"cost,omitempty"`
	// Unpriced are the called models without a price: their calls are not in Cost. It is
	// empty where the settings have no price at all.
	Unpriced []string `json:"unpriced,omitempty"`
}

// add adds another amount.
func (s *Spent) add(more Spent) {
	if more.Cost != nil {
		sum := *more.Cost
		if s.Cost != nil {
			sum += *s.Cost
		}
		s.Cost = &sum
	}
	for _, model := range more.Unpriced {
		if !slices.Contains(s.Unpriced, model) {
			s.Unpriced = append(slices.Clip(s.Unpriced), model)
		}
	}
}

// Describe returns the cost for a person, and says if it is partial; "" if nothing is
// known. money formats an amount.
func (s Spent) Describe(money func(float64) string) string {
	without := "no price for " + strings.Join(s.Unpriced, ", ")
	switch {
	case s.Cost == nil && len(s.Unpriced) == 0:
		return ""
	case s.Cost == nil:
		return "unknown: " + without
	case len(s.Unpriced) > 0:
		return money(*s.Cost) + ", partial: " + without
	}
	return money(*s.Cost)
}

// AddTo adds the cost to the metadata of an event.
func (s Spent) AddTo(metadata map[string]any) {
	if s.Cost != nil {
		metadata["cost"] = *s.Cost
	}
	if len(s.Unpriced) > 0 {
		metadata["unpriced"] = s.Unpriced
	}
}

// SpentOn returns what a call of a model cost by price, which is nil without prices. An
// answer from the cache costs nothing. A call whose tokens nobody counted has no known
// cost. A failed call of a model without a price is not reported.
func SpentOn(call reasoning.ModelCall, price func(model string, promptTokens, outputTokens int) (cost float64, known bool)) (made Spent) {
	if price == nil || call.Cached {
		return Spent{}
	}
	cost, known := price(call.Model, call.PromptTokens, call.OutputTokens)
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
func (r *Run) spentOn(call reasoning.ModelCall) Spent {
	made := SpentOn(call, r.runtime.options.Price)
	for i, model := range made.Unpriced {
		made.Unpriced[i] = r.runtime.redactor.Text(model)
	}
	return made
}

// spentOnAll is what calls of models cost together.
func (r *Run) spentOnAll(calls []reasoning.ModelCall) (sum Spent) {
	for _, each := range calls {
		sum.add(r.spentOn(each))
	}
	return sum
}
