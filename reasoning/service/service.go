package service

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"savant/fault"
	"savant/reasoning"
	"savant/reasoning/models"
	"savant/reasoning/planner"
)

// Options name the models; each may be nil. Without any the offline planner
// decides.
type Options struct {
	SLM, LLM models.Model
	// Timeout bounds each answer of a model; 0 means no limit.
	Timeout time.Duration
	// SmallBudget and LargeBudget bound the prompts of the two models, in estimated
	// tokens; 0 is the constant of that name. A model that says that its window is
	// smaller gets smaller prompts.
	SmallBudget, LargeBudget int
}

// Service decides what an agent does next, and answers steps of workflows. It tells
// the reasoning.Observer of a context of each call of a model. The
// answers it gave to RoundTrip are its only state. It may be used by several
// goroutines at once.
type Service struct {
	options Options
	answers *answers
}

// New returns a service.
func New(options Options) *Service {
	options.SmallBudget = cmp.Or(options.SmallBudget, SmallBudget)
	options.LargeBudget = cmp.Or(options.LargeBudget, LargeBudget)
	return &Service{options: options, answers: newAnswers(nil)}
}

// Name says who decides, for people.
func (s *Service) Name() string {
	var names []string
	for _, each := range []models.Model{s.options.SLM, s.options.LLM} {
		if each != nil {
			names = append(names, each.Name())
		}
	}
	if len(names) == 0 {
		names = []string{"the " + planner.Name + ", which is not a model"}
	}
	return "the reasoning service inside, with " + strings.Join(names, " and ")
}

// Decide returns the intent for a step. A model whose answer cannot be used is asked
// once more and told what was wrong; then the large model is asked, unless the user
// forced the small one; then the error is INVALID_INTENT. LIMIT_EXCEEDED: what is
// never cut of the request does not fit the prompt of any model that may be asked.
// Errors of a model are returned as they are.
func (s *Service) Decide(ctx context.Context, request reasoning.Request) (reasoning.Intent, error) {
	first, err := s.choose(request)
	switch {
	case err != nil:
		return reasoning.Intent{}, err
	case first.model == nil && request.Question != nil:
		return reasoning.Intent{}, fault.New(fault.ReasoningUnavailable, "step %s wants a model, and none is set: the offline planner is none", request.Question.StepID).
			Hinted(fault.Hint{Text: "set SAVANT_SLM or SAVANT_LLM"})
	case first.model == nil:
		return planner.Plan(request, time.Now()), nil
	}
	asked := &conversation{service: s, request: request}
	first.budget = s.room(ctx, first, request)
	if whole, err := fits(request, first.budget); !whole && s.mayEscalate(first, request) {
		first = s.larger(ctx, request, fmt.Sprintf("what is asked does not fit the %d tokens of a prompt of %s", first.budget, first.model.Name()))
		asked.note(first.why + ", so " + first.model.Name() + " was asked")
	} else if err != nil {
		return reasoning.Intent{}, s.refused(err, first)
	}
	intent, err := asked.decide(ctx, first)
	if errors.Is(err, fault.InvalidIntent) && s.mayEscalate(first, request) {
		second := s.larger(ctx, request, first.model.Name()+" gave no usable answer")
		asked.note(second.why + ", so " + second.model.Name() + " was asked")
		intent, err = asked.decide(ctx, second)
	}
	return intent, err
}

// mayEscalate says whether the large model may be asked after another.
func (s *Service) mayEscalate(asked choice, request reasoning.Request) bool {
	return s.options.LLM != nil && s.options.LLM != asked.model && request.Policy.Model != reasoning.ModelSLM
}

// larger is the choice of the large model in place of the small one.
func (s *Service) larger(ctx context.Context, request reasoning.Request, why string) choice {
	large := s.large(why)
	large.budget = s.room(ctx, large, request)
	return large
}

// room returns the budget of a prompt: that of the settings, or less if the model
// says that its window is smaller. Only what could be too large is worth asking a
// model for.
func (s *Service) room(ctx context.Context, chosen choice, request reasoning.Request) int {
	windowed, says := chosen.model.(models.Windowed)
	if !says {
		return chosen.budget
	}
	prompt, err := Build(request, chosen.budget, "")
	if err == nil && prompt.Description.Tokens <= smallestWindow {
		return chosen.budget
	}
	window := windowed.Window(ctx)
	if window <= 0 {
		return chosen.budget
	}
	return min(chosen.budget, window*5/8)
}

// smallestWindow is a prompt that fits every model in use, in estimated tokens. Of a
// model's window a prompt gets five eighths: estimates err, and the answer needs
// room, too.
const smallestWindow = 4000

// fits says whether nothing of a question has to be cut. Other requests are cut to
// the budgets of their sections, whatever the model.
func fits(request reasoning.Request, budget int) (bool, error) {
	prompt, err := Build(request, budget, "")
	if err != nil {
		return false, err
	}
	return cutInput(prompt) == 0, nil
}

// cutInput is how many tokens of a question's data a prompt does not show.
func cutInput(prompt Prompt) int {
	for _, each := range prompt.Description.Sections {
		if each.Name == "input" {
			return each.Trimmed
		}
	}
	return 0
}

// refused says what to do about what does not fit.
func (s *Service) refused(err error, chosen choice) error {
	coded := fault.From(err)
	if coded.Code != fault.LimitExceeded {
		return err
	}
	advice := "shorten them, or raise " + chosen.setting
	if s.options.LLM == nil || s.options.LLM != chosen.model {
		advice += ", or set a large model with SAVANT_LLM"
	}
	return coded.Hinted(fault.Hint{Text: advice})
}

// RoundTrip makes a Service a reasoning.Transport within the program. A question
// that was answered before, within AnswersTTL, gets the same answer again.
func (s *Service) RoundTrip(ctx context.Context, request reasoning.Request) (json.RawMessage, error) {
	intent, err := s.answers.ask(ctx, request.Key(), request, s.Decide)
	if err != nil {
		return nil, err
	}
	if intent.Cached {
		reasoning.ObserverFrom(ctx).Call(reasoning.ModelCall{Model: intent.Model, Purpose: request.Purpose(), Cached: true})
	}
	return json.Marshal(intent)
}

// conversation asks for one decision, and counts the tokens of all attempts.
type conversation struct {
	service                    *Service
	request                    reasoning.Request
	prompt                     Prompt
	promptTokens, outputTokens int
	repairs                    []string
	calls                      int // of models so far
}

func (c *conversation) note(repair string) { c.repairs = append(c.repairs, repair) }

// decide asks a model, and once more if its answer cannot be used.
func (c *conversation) decide(ctx context.Context, chosen choice) (reasoning.Intent, error) {
	reply, err := c.ask(ctx, chosen, "")
	if err != nil {
		return reasoning.Intent{}, err
	}
	intent, wrong := c.read(reply)
	if errors.Is(wrong, fault.InvalidIntent) {
		c.note("the model was asked once more: " + fault.From(wrong).Details)
		if reply, err = c.ask(ctx, chosen, again(reply.Text, wrong)); err != nil {
			return reasoning.Intent{}, err
		}
		intent, wrong = c.read(reply)
	}
	if wrong != nil {
		return reasoning.Intent{}, wrong
	}
	return c.signed(intent, chosen), nil
}

// read returns the intent in what a model wrote. An answer that was cut off may still
// hold one; a text without a schema that was cut off is none.
func (c *conversation) read(reply models.Reply) (intent reasoning.Intent, wrong error) {
	question := c.request.Question
	if question != nil {
		intent, wrong = readAnswer(reply.Text, question)
	} else {
		intent, wrong = Parse(reply.Text, c.request.Tools)
	}
	if reply.Cut && (errors.Is(wrong, fault.InvalidIntent) || question != nil && len(question.Schema) == 0) {
		return reasoning.Intent{}, fault.New(fault.InvalidIntent, "the answer was cut off at the limit of %d tokens: answer in fewer words", reply.OutputTokens)
	}
	return intent, wrong
}

// maxRepeated is how much of a bad answer the model is shown again, in bytes.
const maxRepeated = 800

func again(text string, wrong error) string {
	return "# Your answer could not be used\nWhat was wrong: " + fault.From(wrong).Details +
		"\nAnswer again, with nothing but the JSON.\nYou wrote:\n" + fault.Cut(text, maxRepeated)
}

// ask returns one answer of a model, within the timeout. A model that is too slow
// is not asked again.
func (c *conversation) ask(ctx context.Context, chosen choice, correction string) (models.Reply, error) {
	prompt, err := Build(c.request, chosen.budget, correction)
	if err != nil && correction != "" { // there is no room for it
		prompt, err = Build(c.request, chosen.budget, "")
	}
	if err != nil {
		return models.Reply{}, c.service.refused(err, chosen)
	}
	c.prompt = prompt
	began := time.Now()
	reply, err := c.generate(ctx, chosen.model, prompt)
	reasoning.ObserverFrom(ctx).Call(reasoning.ModelCall{Model: chosen.model.Name(), Purpose: c.request.Purpose(), PromptTokens: reply.PromptTokens,
		OutputTokens: reply.OutputTokens, Duration: time.Since(began), Retry: c.calls, Switch: chosen.why, Err: err})
	c.calls++
	c.promptTokens += reply.PromptTokens
	c.outputTokens += reply.OutputTokens
	return reply, err
}

// generate is one call of a model within the timeout.
func (c *conversation) generate(ctx context.Context, model models.Model, prompt Prompt) (models.Reply, error) {
	bounded, cancel := ctx, func() {}
	timeout := c.service.options.Timeout
	if timeout > 0 {
		bounded, cancel = context.WithTimeout(ctx, timeout)
	}
	defer cancel()
	asked := models.Prompt{System: prompt.System, User: prompt.User}
	asked.Schema, asked.Enforce = schemaOf(c.request)
	asked.Stream = reasoning.ObserverFrom(ctx).Wrote
	reply, err := model.Generate(bounded, asked)
	if err != nil && bounded.Err() != nil && ctx.Err() == nil {
		return reply, fault.New(fault.ReasoningUnavailable, "%s gave no answer within %s", model.Name(), timeout)
	}
	return reply, err
}

// signed adds who decided and what it cost, whatever the model claims.
func (c *conversation) signed(intent reasoning.Intent, chosen choice) reasoning.Intent {
	intent.Model = chosen.model.Name()
	intent.PromptTokens, intent.OutputTokens = c.promptTokens, c.outputTokens
	intent.Prompt = &c.prompt.Description
	intent.Repairs = append(slices.Clone(c.repairs), intent.Repairs...)
	if left := cutInput(c.prompt); left > 0 {
		intent.Warnings = append(intent.Warnings, fmt.Sprintf("the input of step %s was cut: %s did not see %d tokens of it, since its prompt has a budget of %d (%s)",
			c.request.Question.StepID, intent.Model, left, chosen.budget, chosen.setting))
	}
	return intent
}
