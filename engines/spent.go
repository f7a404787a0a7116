package engines

import (
	"slices"
	"strings"
)

// Spent is what calls of models cost by the prices of the settings.
type Spent struct {
	// Cost of the calls whose price is known; nil without one.
	Cost *float64 `json:"cost,omitempty"`
	// Unpriced are the called models without a price: their calls are not in Cost. It is
	// empty where the settings have no price at all.
	Unpriced []string `json:"unpriced,omitempty"`
}

// Add adds another amount.
func (s *Spent) Add(more Spent) {
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
