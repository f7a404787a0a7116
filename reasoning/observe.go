package reasoning

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"savant/fault"
	"savant/telemetry"
)

// What a model is called for.
const (
	PurposeDecide = "decide" // what an agent does next
	PurposeAnswer = "answer" // a step of a workflow
)

// ModelCall is one call of a model, or one question to a service that asks models
// of its own.
type ModelCall struct {
	// Model is PROVIDER:NAME, or what the service calls it.
	Model   string
	Purpose string
	// Tokens are as the provider counted them, or 0.
	PromptTokens, OutputTokens int
	Duration                   time.Duration
	// Cached: the answer was kept from an earlier call, and nothing was paid.
	Cached bool
	// Retry is how many calls for the same decision came before: attempts that failed,
	// and answers that could not be used.
	Retry int
	// Switch is why the large model was called where usually the small one is.
	Switch string
	// Remote: a service outside of the program called the model.
	Remote bool
	Err    error
}

// ProviderRemote is the provider of models that a service outside calls.
const ProviderRemote = "reasoning_api"

// Provider is whose the model is.
func (c ModelCall) Provider() string {
	provider, _, named := strings.Cut(c.Model, ":")
	if c.Remote || !named {
		return ProviderRemote
	}
	return provider
}

// Observer learns how a decision comes about. Its functions may be nil. Several
// goroutines may call them, also after the decision was given up.
type Observer struct {
	// Called is called after each call of a model.
	Called func(ModelCall)
	// Prompted is called after a decision with what its model was shown.
	Prompted func(model string, shown Prompt)
	// Wrote is called with each part of a model's answer as it comes. Models answer
	// in parts only if it is set.
	Wrote func(part string)
}

// Purpose is what a model is called for to answer the request.
func (r Request) Purpose() string {
	if r.Question != nil {
		return PurposeAnswer
	}
	return PurposeDecide
}

type observerKey struct{}

// WithObserver returns a context for decisions that somebody observes.
func WithObserver(ctx context.Context, observer Observer) context.Context {
	return context.WithValue(ctx, observerKey{}, observer)
}

// ObserverFrom returns the observer of a context, an empty one where it has none.
func ObserverFrom(ctx context.Context) Observer {
	observer, _ := ctx.Value(observerKey{}).(Observer)
	return observer
}

// Call tells of a call of a model.
func (o Observer) Call(c ModelCall) {
	if o.Called != nil {
		o.Called(c)
	}
}

// counting is the observer of one decision: each call that it is told of knows how many
// came before, also those of earlier attempts.
func (o Observer) counting() Observer {
	told := o.Called
	if told == nil {
		return o
	}
	var mu sync.Mutex
	before := 0
	o.Called = func(c ModelCall) {
		mu.Lock()
		c.Retry = max(c.Retry, before)
		before++
		mu.Unlock()
		told(c)
	}
	return o
}

// prompted tells of the prompt of a decision.
func (o Observer) prompted(intent Intent) {
	if o.Prompted != nil && intent.Prompt != nil {
		o.Prompted(intent.Model, *intent.Prompt)
	}
}

// Event is the event of a call of a model.
func (c ModelCall) Event() telemetry.Event {
	e := telemetry.Event{Type: telemetry.LLMCall, Model: c.Model, PromptTokens: c.PromptTokens, OutputTokens: c.OutputTokens, Status: "ok",
		DurationMS: float64(c.Duration) / float64(time.Millisecond),
		Metadata:   map[string]any{"provider": c.Provider(), "purpose": c.Purpose, "cache": c.Cached, "retry": c.Retry}}
	if c.Switch != "" {
		e.Metadata["switch"] = c.Switch
	}
	if c.Err != nil {
		coded := fault.From(c.Err)
		e.Status, e.Error = "failed", &telemetry.Failure{Code: string(coded.Code), Details: coded.Message()}
	}
	return e
}

// Event is the event of a prompt that a model was shown.
func (p Prompt) Event(model string) telemetry.Event {
	left := 0
	for _, each := range p.Sections {
		left += each.Trimmed
	}
	return telemetry.Event{Type: telemetry.PromptSnapshot, Model: model, PromptTokens: p.Tokens,
		Metadata: map[string]any{"hash": p.Hash, "sections": p.Sections, "left_out": left}}
}

// Observed gathers what an Observer is told of one decision.
type Observed struct {
	mu     sync.Mutex
	calls  []ModelCall
	prompt []telemetry.Event
}

// Observer returns an observer that tells o, and wrote, which may be nil.
func (o *Observed) Observer(wrote func(string)) Observer {
	return Observer{
		Called: func(c ModelCall) {
			o.mu.Lock()
			defer o.mu.Unlock()
			o.calls = append(o.calls, c)
		},
		Prompted: func(model string, shown Prompt) {
			o.mu.Lock()
			defer o.mu.Unlock()
			o.prompt = []telemetry.Event{shown.Event(model)}
		},
		Wrote: wrote,
	}
}

// Calls returns the calls so far.
func (o *Observed) Calls() []ModelCall {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.calls)
}

// Prompt returns the event of the prompt, or nothing.
func (o *Observed) Prompt() []telemetry.Event {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.prompt
}
