package service

import (
	"context"
	"time"

	"savant/reasoning"
)

// The purposes of a call of a model.
const (
	PurposeDecide = "decide" // what an agent does next
	PurposeAnswer = "answer" // a step of a workflow
)

// Origin says what a model is called for.
type Origin struct {
	SessionID, RunID string
	// Step is the agent's. Workflow, StepID and Attempt are those of a question.
	Step             int
	Workflow, StepID string
	Attempt          int
	Purpose          string
}

// ModelCall is one call of a model.
type ModelCall struct {
	Origin
	// Model is "provider:model".
	Model                      string
	PromptTokens, OutputTokens int
	Elapsed                    time.Duration
	// Retry: the answer before could not be used. Switch says why this model was
	// asked and not the small one; "" for the usual one. Cached: the answer was kept,
	// and no model was called.
	Retry  bool
	Switch string
	Cached bool
	// Prompt describes what the model was shown; nil if it was not called.
	Prompt *reasoning.Prompt
	Err    error
}

// Speech is a piece of what a model writes.
type Speech struct {
	Of    Origin
	Model string
	Text  string
}

func identify(request reasoning.Request) Origin {
	origin := Origin{SessionID: request.SessionID, RunID: request.RunID, Step: request.Step, Purpose: PurposeDecide}
	if q := request.Question; q != nil {
		origin.Workflow, origin.StepID, origin.Attempt, origin.Purpose = q.Workflow, q.StepID, q.Attempt, PurposeAnswer
	}
	return origin
}

// called tells of a call.
func (s *Service) called(ctx context.Context, request reasoning.Request, call ModelCall) {
	if s.options.Called != nil {
		call.Origin = identify(request)
		s.options.Called(ctx, call)
	}
}
