package service

import (
	"fmt"
	"strings"

	"savant/fault"
	"savant/reasoning"
	"savant/reasoning/models"
)

// The large model is for goals of more than smallGoal words, and for diffs of more than
// smallDiff lines.
const (
	smallGoal = 60
	smallDiff = 500
)

// choice is the selected model; without a model, the offline planner.
type choice struct {
	model models.Model
	// budget bounds its prompt; setting is the setting behind it, "" if the model's window
	// decides.
	budget  int
	setting string
	// why explains why it is not the small model; "" if it is, or if there is no choice.
	why string
}

func (s *Service) small() choice {
	return choice{model: s.options.SLM, budget: s.options.SmallBudget, setting: "agent.prompt.slm_budget_tokens"}
}

func (s *Service) large(why string) choice {
	return choice{model: s.options.LLM, budget: s.options.LargeBudget, setting: "agent.prompt.llm_budget_tokens", why: why}
}

// choose returns the model for a request. A model that the user forces and that is
// not set is REASONING_UNAVAILABLE.
func (s *Service) choose(request reasoning.Request) (choice, error) {
	small, large := s.options.SLM, s.options.LLM
	switch forced := request.Policy.Model; {
	case forced == reasoning.ModelLLM && large == nil:
		return choice{}, fault.New(fault.ReasoningUnavailable, "the large model was asked for, but none is set: set LLM_MODEL")
	case forced == reasoning.ModelSLM && small == nil:
		return choice{}, fault.New(fault.ReasoningUnavailable, "the small model was asked for, but none is set: set SLM_MODEL")
	case forced == reasoning.ModelLLM:
		return s.large("it was asked for"), nil
	case forced == reasoning.ModelSLM || large == nil:
		return s.small(), nil
	case small == nil:
		return s.large(""), nil
	}
	if why := demanding(request); why != "" {
		return s.large(why), nil
	}
	return s.small(), nil
}

// demanding returns why the request needs the large model, or "". For a question only
// the task counts, not its data.
func demanding(request reasoning.Request) string {
	switch {
	case request.Policy.Stuck:
		return "the last steps repeated themselves"
	case request.Driver.Complex:
		return "the driver prompt is flagged complex"
	case request.Question != nil && request.Question.Complex:
		return "the step or the rule of its workflow is flagged complex"
	case request.Question != nil && request.Question.Attempt > 1:
		return "the answer before was refused"
	}
	for _, rule := range request.Rules {
		if rule.Complex {
			return "the rule " + rule.Name + " is flagged complex"
		}
	}
	if lines := largestDiff(request); lines > smallDiff {
		return fmt.Sprintf("a diff of %d lines is in the input", lines)
	}
	wanted := request.Goal
	if request.Question != nil {
		wanted = request.Question.Task
	}
	if why := demandOfWords(wanted); why != "" {
		return why
	}
	if len(strings.Fields(wanted)) > smallGoal {
		return fmt.Sprintf("the goal has more than %d words", smallGoal)
	}
	return ""
}
