package service

import (
	"slices"
	"strings"

	"savant/fault"
	"savant/reasoning"
	"savant/reasoning/models"
)

// What makes the work one for the large model: a run that is longer than
// smallSteps, a goal of more than smallGoal words, or one that holds a word of
// flagged.
const (
	smallSteps = 8
	smallGoal  = 60
)

var flagged = strings.Fields("architecture design redesign refactor migrate prove security vulnerability race deadlock tradeoff trade-off")

// choose returns the model for a request, nil for the offline planner. The
// person's choice comes first; it is REASONING_UNAVAILABLE where there is no
// such model.
func (s *Service) choose(request reasoning.Request) (models.Model, error) {
	small, large := s.options.SLM, s.options.LLM
	switch {
	case request.Policy.Model == reasoning.ModelLLM && large == nil:
		return nil, fault.New(fault.ReasoningUnavailable, "the large model was asked for, but none is set: set SAVANT_LLM")
	case request.Policy.Model == reasoning.ModelSLM && small == nil:
		return nil, fault.New(fault.ReasoningUnavailable, "the small model was asked for, but none is set: set SAVANT_SLM")
	case request.Policy.Model == reasoning.ModelLLM:
		return large, nil
	case request.Policy.Model == reasoning.ModelSLM:
		return small, nil
	case small == nil:
		return large, nil
	case large != nil && demanding(request):
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
