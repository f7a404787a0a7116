package service

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"savant/fault"
	"savant/reasoning"
	"savant/reasoning/models"
)

// Options name the models; each may be nil. Without any the offline planner
// decides.
type Options struct {
	SLM, LLM models.Model
	// Timeout bounds each answer of a model; 0 means no limit.
	Timeout time.Duration
}

// Service decides what an agent does next. It has no state between two steps and may
// be used by several goroutines at once.
type Service struct{ options Options }

// New returns a service.
func New(options Options) *Service { return &Service{options: options} }

// Name says who decides, for people.
func (s *Service) Name() string {
	var names []string
	for _, each := range []models.Model{s.options.SLM, s.options.LLM} {
		if each != nil {
			names = append(names, each.Name())
		}
	}
	if len(names) == 0 {
		names = []string{"the " + models.OfflinePlanner + ", which is not a model"}
	}
	return "the reasoning service inside, with " + strings.Join(names, " and ")
}

// Decide returns the intent for a step. A model whose answer cannot be used is asked
// once more and told what was wrong; then the large model is asked, unless the user
// forced the small one; then the error is INVALID_INTENT. Errors of a model are
// returned as they are.
func (s *Service) Decide(ctx context.Context, request reasoning.Request) (reasoning.Intent, error) {
	chosen, err := s.choose(request)
	if err != nil {
		return reasoning.Intent{}, err
	}
	if chosen == nil {
		return models.Plan(request), nil
	}
	asked := &conversation{request: request, timeout: s.options.Timeout, prompt: Build(request)}
	intent, err := asked.decide(ctx, chosen)
	if larger := s.options.LLM; errors.Is(err, fault.InvalidIntent) && larger != nil && larger != chosen && request.Policy.Model != reasoning.ModelSLM {
		asked.note(chosen.Name() + " gave no usable answer, so " + larger.Name() + " was asked")
		intent, err = asked.decide(ctx, larger)
	}
	return intent, err
}

// RoundTrip makes a Service a reasoning.Transport within the program.
func (s *Service) RoundTrip(ctx context.Context, request reasoning.Request) (json.RawMessage, error) {
	intent, err := s.Decide(ctx, request)
	if err != nil {
		return nil, err
	}
	return json.Marshal(intent)
}

// conversation asks for one decision, and counts the tokens of all attempts.
type conversation struct {
	request                    reasoning.Request
	timeout                    time.Duration
	prompt                     Prompt
	promptTokens, outputTokens int
	repairs                    []string
}

func (c *conversation) note(repair string) { c.repairs = append(c.repairs, repair) }

// decide asks a model, and once more if its answer cannot be used.
func (c *conversation) decide(ctx context.Context, model models.Model) (reasoning.Intent, error) {
	text, err := c.ask(ctx, model, c.prompt.User)
	if err != nil {
		return reasoning.Intent{}, err
	}
	intent, wrong := Parse(text, c.request.Tools)
	if wrong != nil {
		c.note("the model was asked once more: " + fault.From(wrong).Details)
		if text, err = c.ask(ctx, model, c.prompt.User+again(text, wrong)); err != nil {
			return reasoning.Intent{}, err
		}
		if intent, wrong = Parse(text, c.request.Tools); wrong != nil {
			return reasoning.Intent{}, wrong
		}
	}
	return c.signed(intent, model), nil
}

// maxRepeated is how much of a bad answer the model is shown again, in bytes.
const maxRepeated = 800

func again(text string, wrong error) string {
	return "\n\n# Your answer could not be used\n" + fault.Cut(text, maxRepeated) + "\n\nWhat was wrong: " +
		fault.From(wrong).Details + "\nAnswer again, with nothing but the JSON object.\n"
}

// ask returns one answer of a model, within the timeout. A model that is too slow
// is not asked again.
func (c *conversation) ask(ctx context.Context, model models.Model, user string) (string, error) {
	bounded, cancel := ctx, func() {}
	if c.timeout > 0 {
		bounded, cancel = context.WithTimeout(ctx, c.timeout)
	}
	defer cancel()
	reply, err := model.Generate(bounded, models.Prompt{System: c.prompt.System, User: user, Schema: intentSchema})
	if err != nil && bounded.Err() != nil && ctx.Err() == nil {
		return "", fault.New(fault.ReasoningUnavailable, "%s gave no answer within %s", model.Name(), c.timeout)
	}
	c.promptTokens += reply.PromptTokens
	c.outputTokens += reply.OutputTokens
	return reply.Text, err
}

// signed adds who decided and what it cost, whatever the model claims.
func (c *conversation) signed(intent reasoning.Intent, model models.Model) reasoning.Intent {
	intent.Model = model.Name()
	intent.PromptTokens, intent.OutputTokens = c.promptTokens, c.outputTokens
	intent.Prompt = &c.prompt.Description
	intent.Repairs = append(c.repairs, intent.Repairs...)
	return intent
}
