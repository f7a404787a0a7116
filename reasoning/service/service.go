package service

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"savant/fault"
	"savant/reasoning"
	"savant/reasoning/models"
	"savant/reasoning/planner"
	"savant/schemas"
)

// Options name the models; each may be nil. Without any the offline planner
// decides.
type Options struct {
	SLM, LLM models.Model
	// Timeout bounds each answer of a model; 0 means no limit. Patience bounds the pauses
	// for a model whose service fails for now.
	Timeout, Patience time.Duration
	// SmallBudget and LargeBudget bound the prompts of the two models, in estimated
	// tokens; 0 is the constant of that name. A model that says that its window is
	// smaller gets smaller prompts.
	SmallBudget, LargeBudget int
}

// Service decides what an agent does next, and answers steps of workflows. It reports
// each model call to the reasoning.Observer. Its only state is the cache
// of RoundTrip. It is safe for concurrent use.
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

// Name names the models, for people.
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
	return "the built-in reasoning service, with " + strings.Join(names, " and ")
}

// Decide returns the intent for a step. If a model's answer is unusable, it asks the
// same model again with a correction, then the large model unless the user forced the
// small one, and then fails with INVALID_INTENT. LIMIT_EXCEEDED means that the fixed
// part of the request fits no permitted model's prompt. Errors of a model are returned
// unchanged.
func (s *Service) Decide(ctx context.Context, request reasoning.Request, observer reasoning.Observer) (reasoning.Intent, error) {
	first, err := s.choose(request)
	switch {
	case err != nil:
		return reasoning.Intent{}, err
	case first.model == nil && request.Question != nil:
		return reasoning.Intent{}, fault.New(fault.ReasoningUnavailable, "step %s needs a model, and none is set: the offline planner is not a model", request.Question.StepID).
			Hinted(fault.Hint{Text: "set SLM_MODEL or LLM_MODEL"})
	case first.model == nil:
		return planner.Plan(request, time.Now()), nil
	}
	schema, err := schemaOfAnswer(request)
	if err != nil {
		return reasoning.Intent{}, err
	}
	asked := &conversation{service: s, request: request, schema: schema, observer: observer}
	first, prompt, err := s.prepare(ctx, first, request)
	if (err != nil || cutInput(prompt) > 0) && s.mayEscalate(first, request) {
		why := fmt.Sprintf("the question does not fit the %d tokens of a prompt of %s", first.budget, first.model.Name())
		first, prompt, err = s.prepare(ctx, s.large(why), request)
		asked.note(why + ", so " + first.model.Name() + " was asked")
	}
	if err != nil {
		return reasoning.Intent{}, s.refused(err, first)
	}
	intent, err := asked.decide(ctx, first, prompt)
	if errors.Is(err, fault.InvalidIntent) && s.mayEscalate(first, request) {
		second, prompt, failed := s.prepare(ctx, s.large(first.model.Name()+" gave no usable answer"), request)
		if failed != nil {
			return reasoning.Intent{}, s.refused(failed, second)
		}
		asked.note(second.why + ", so " + second.model.Name() + " was asked")
		intent, err = asked.decide(ctx, second, prompt)
	}
	return intent, err
}

// mayEscalate reports whether the large model may be asked after another one.
func (s *Service) mayEscalate(asked choice, request reasoning.Request) bool {
	return s.options.LLM != nil && s.options.LLM != asked.model && request.Policy.Model != reasoning.ModelSLM
}

// prepare writes the prompt for a model within the budget of the settings, or within
// the model's window if that is smaller. It queries the window only for prompts over
// smallestWindow.
func (s *Service) prepare(ctx context.Context, chosen choice, request reasoning.Request) (choice, Prompt, error) {
	prompt, err := Build(request, chosen.budget, "")
	windowed, says := chosen.model.(models.Windowed)
	if !says || err == nil && prompt.Description.Tokens <= smallestWindow {
		return chosen, prompt, err
	}
	if window := windowed.Window(ctx); window > 0 && window*5/8 < chosen.budget {
		chosen.budget, chosen.setting = window*5/8, "" // the model's own window decides
		prompt, err = Build(request, chosen.budget, "")
	}
	return chosen, prompt, err
}

// smallestWindow is a prompt that fits every model in use, in estimated tokens. A
// prompt gets five eighths of a model's window; the rest is for the answer and for
// errors of the estimate.
const smallestWindow = 4000

// cutInput counts the tokens of a question's data that a prompt omits.
func cutInput(prompt Prompt) int {
	for _, each := range prompt.Description.Sections {
		if each.Name == "input" {
			return each.Trimmed
		}
	}
	return 0
}

// refused adds a hint to the error of a prompt that does not fit.
func (s *Service) refused(err error, chosen choice) error {
	coded := fault.From(err)
	if coded.Code != fault.LimitExceeded {
		return err
	}
	advice := "shorten them"
	if chosen.setting != "" {
		advice += ", or raise " + chosen.setting
	}
	if s.options.LLM == nil || s.options.LLM != chosen.model {
		advice += ", or set a large model with LLM_MODEL"
	}
	return coded.Hinted(fault.Hint{Text: advice})
}

// RoundTrip makes a Service an in-process reasoning.Transport. It caches answers for
// AnswersTTL.
func (s *Service) RoundTrip(ctx context.Context, request reasoning.Request, observer reasoning.Observer) (json.RawMessage, error) {
	intent, err := s.answers.ask(ctx, request.Key(), request, observer, s)
	if err != nil {
		return nil, err
	}
	if intent.Cached {
		observer.Called(reasoning.ModelCall{Model: intent.Model, Purpose: request.Purpose(), Cached: true})
	}
	return json.Marshal(intent)
}

// conversation makes one decision, and counts the tokens of all attempts.
type conversation struct {
	service                    *Service
	request                    reasoning.Request
	schema                     *schemas.Schema // of the answer, or nil
	observer                   reasoning.Observer
	prompt                     Prompt
	promptTokens, outputTokens int
	repairs                    []string
	calls                      int // of models so far
	// again: the question is asked once more; longer: since its answer was cut off.
	again, longer bool
}

func (c *conversation) note(repair string) { c.repairs = append(c.repairs, repair) }

// decide asks a model, and once more if its answer cannot be used.
func (c *conversation) decide(ctx context.Context, chosen choice, prompt Prompt) (reasoning.Intent, error) {
	reply, err := c.askWithin(ctx, &chosen, prompt)
	if err != nil {
		return reasoning.Intent{}, err
	}
	intent, wrong := c.read(reply)
	if errors.Is(wrong, fault.InvalidIntent) {
		c.note("the model was asked once more: " + fault.From(wrong).Details)
		corrected, err := Build(c.request, chosen.budget, again(cmp.Or(reply.Text, reply.Thinking), wrong))
		if err == nil { // else the correction does not fit
			prompt = corrected
		}
		c.again, c.longer = true, reply.Cut
		if reply, err = c.askWithin(ctx, &chosen, prompt); err != nil {
			return reasoning.Intent{}, err
		}
		intent, wrong = c.read(reply)
	}
	if wrong != nil {
		return reasoning.Intent{}, wrong
	}
	return c.signed(intent, chosen), nil
}

// askWithin asks a model. If its window turns out too small, the prompt is built once
// more for that window, which becomes the budget.
func (c *conversation) askWithin(ctx context.Context, chosen *choice, prompt Prompt) (models.Reply, error) {
	reply, err := c.ask(ctx, *chosen, prompt)
	long := (*models.TooLong)(nil)
	if !errors.As(err, &long) {
		return reply, err
	}
	setting := chosen.setting
	chosen.budget = min(prompt.Description.Tokens/2, chosen.budget)
	if fits := long.Window * 5 / 8; fits > 0 {
		chosen.budget = min(fits, prompt.Description.Tokens*7/8)
	}
	c.note(fmt.Sprintf("the prompt was too long for %s: it was built again with %d tokens", chosen.model.Name(), chosen.budget))
	smaller, failed := Build(c.request, chosen.budget, "")
	if failed == nil {
		if reply, err = c.ask(ctx, *chosen, smaller); !errors.As(err, &long) {
			return reply, err
		}
	}
	return reply, fault.New(fault.LimitExceeded, "the window of %s is too small: %s", chosen.model.Name(), fault.From(err).Details).
		Hinted(fault.Hint{Text: "start the model with a larger window, or lower " + cmp.Or(setting, "agent.prompt.slm_budget_tokens") + ", or shorten the goal and the prompts"})
}

// read returns the intent in a model's text. A truncated answer may still contain one,
// but a truncated free text is refused. Where there is no text, thoughts may end with the answer.
func (c *conversation) read(reply models.Reply) (intent reasoning.Intent, wrong error) {
	question := c.request.Question
	switch {
	case strings.TrimSpace(reply.Text) == "":
		reply.Text = conclusion(reply.Thinking)
	case question == nil && reply.Calls != "":
		if beside := withoutThoughts(reply.Text, false); strings.Contains(beside, "{") { // perhaps another action
			reply.Calls = beside + "\n" + reply.Calls
		}
		reply.Text = reply.Calls
	}
	if question != nil {
		intent, wrong = readAnswer(reply.Text, question, c.schema)
	} else {
		intent, wrong = Parse(reply.Text, c.request.Tools)
	}
	if reply.Cut && (errors.Is(wrong, fault.InvalidIntent) || slices.Contains(intent.Repairs, repairedEnd) || question != nil && len(question.Schema) == 0) {
		return reasoning.Intent{}, fault.New(fault.InvalidIntent, "the answer was cut off at the limit of %d tokens: answer in fewer words", reply.OutputTokens)
	}
	return intent, wrong
}

// maxRepeated bounds the part of a bad answer quoted in a correction, in bytes.
const maxRepeated = 800

func again(text string, wrong error) string {
	return "# Your answer could not be used\nWhat was wrong: " + fault.From(wrong).Details +
		"\nAnswer again, with nothing but the JSON.\nYou wrote:\n" + fault.Cut(text, maxRepeated)
}

// ask returns one answer of a model, with patience for faults that pass.
func (c *conversation) ask(ctx context.Context, chosen choice, prompt Prompt) (models.Reply, error) {
	c.prompt = prompt
	return reasoning.Patiently(ctx, c.service.options.Patience, c.observer, func() (models.Reply, error) {
		began := time.Now()
		reply, err := c.generate(ctx, chosen.model, prompt)
		c.observer.Called(reasoning.ModelCall{Model: chosen.model.Name(), Purpose: c.request.Purpose(), PromptTokens: reply.PromptTokens,
			OutputTokens: reply.OutputTokens, Duration: time.Since(began), Retry: c.calls, Switch: chosen.why, Err: err,
			Prompt: prompt.Parts, Reply: cmp.Or(reply.Text, reply.Thinking)})
		c.calls++
		c.promptTokens += reply.PromptTokens
		c.outputTokens += reply.OutputTokens
		return reply, err
	})
}

// generate is one call of a model within the timeout.
func (c *conversation) generate(ctx context.Context, model models.Model, prompt Prompt) (models.Reply, error) {
	bounded, cancel := ctx, func() {}
	timeout := c.service.options.Timeout
	if timeout > 0 {
		bounded, cancel = context.WithTimeout(ctx, timeout)
	}
	defer cancel()
	asked := models.Prompt{System: prompt.System, User: prompt.User, Again: c.again, Longer: c.longer}
	asked.Schema, asked.Enforce = schemaOf(c.request)
	if c.observer.Streams() {
		asked.Stream = c.observer.Wrote
		if c.calls > 0 {
			c.observer.Wrote("\n") // separates the output of this call from the last one's
		}
	}
	reply, err := model.Generate(bounded, asked)
	if err != nil && bounded.Err() != nil && ctx.Err() == nil {
		return reply, fault.New(fault.ReasoningUnavailable, "%s gave no answer within %s", model.Name(), timeout)
	}
	return reply, err
}

// signed sets the model and the tokens of the intent, overriding the model's own claims.
func (c *conversation) signed(intent reasoning.Intent, chosen choice) reasoning.Intent {
	intent.Model = chosen.model.Name()
	intent.PromptTokens, intent.OutputTokens = c.promptTokens, c.outputTokens
	intent.Prompt = &c.prompt.Description
	intent.Repairs = append(slices.Clone(c.repairs), intent.Repairs...)
	if left := cutInput(c.prompt); left > 0 {
		intent.Warnings = append(intent.Warnings, fmt.Sprintf("the input of step %s was cut: %s did not see %d tokens of it%s, since its prompt has a budget of %d (%s)",
			c.request.Question.StepID, intent.Model, left, where(c.prompt.Description.Seen), chosen.budget, cmp.Or(chosen.setting, "its own window has no room for more")))
	}
	return intent
}

// where says from where on texts were not seen.
func where(seen map[string]int) string {
	var cut []string
	for _, name := range slices.Sorted(maps.Keys(seen)) {
		cut = append(cut, fmt.Sprintf("%s from its line %d on", name, seen[name]+1))
	}
	if len(cut) == 0 {
		return ""
	}
	return " (" + strings.Join(cut, ", ") + ")"
}
