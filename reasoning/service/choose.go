package service

import (
	"slices"
	"strings"

	"savant/fault"
	"savant/reasoning"
	"savant/reasoning/models"
)

// The large model is for runs of more than smallSteps steps, and for goals of more
// than smallGoal words or with a word of flagged.
const (
	smallSteps = 8
	smallGoal  = 60
)

var flagged = strings.Fields("architecture design redesign refactor migrate prove security vulnerability race deadlock tradeoff trade-off")

// choose returns the model for a request, nil for the offline planner. A model that
// the user forces and that is not set is REASONING_UNAVAILABLE.
func (s *Service) choose(request reasoning.Request) (models.Model, error) {
	small, large := s.options.SLM, s.options.LLM
	switch forced := request.Policy.Model; {
	case forced == reasoning.ModelLLM && large == nil:
		return nil, fault.New(fault.ReasoningUnavailable, "the large model was asked for, but none is set: set SAVANT_LLM")
	case forced == reasoning.ModelSLM && small == nil:
		return nil, fault.New(fault.ReasoningUnavailable, "the small model was asked for, but none is set: set SAVANT_SLM")
	case forced == reasoning.ModelLLM || forced != reasoning.ModelSLM && (small == nil || large != nil && demanding(request)):
		return large, nil
	}
	return small, nil
}

// demanding says whether the work asks for the large model.
func demanding(request reasoning.Request) bool {
	words := strings.Fields(strings.ToLower(request.Goal))
	return request.Policy.Stuck || request.Step > smallSteps || len(words) > smallGoal ||
		slices.ContainsFunc(words, func(word string) bool { return slices.Contains(flagged, strings.Trim(word, ".,;:?!\"'()`")) })
}
