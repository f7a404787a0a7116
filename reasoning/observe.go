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

// Purposes of a model call.
const (
	PurposeDecide = "decide" // what an agent does next
	PurposeAnswer = "answer" // a step of a workflow
)

// ModelCall is one call of a model, or one question to a service that asks models
// of its own.
type ModelCall struct {
	// Model is PROVIDER:NAME, or the service's own name for it.
	Model   string
	Purpose string
	// Tokens are as the provider counted them, or 0.
	PromptTokens, OutputTokens int
	Duration                   time.Duration
	// Cached: a stored answer was used, at no cost.
	Cached bool
	// Retry counts the earlier calls for the same decision: failed attempts and unusable
	// answers.
	Retry int
	// Switch is why the large model was called instead of the small one.
	Switch string
	// Remote: an external service called the model.
	Remote bool
	Err    error
	// Prompt is what was asked, and Reply what was written. Both are empty for a stored
	// answer.
	Prompt []PromptPart
	Reply  string
}

// PromptPart is one part of a prompt: of the request in JSON if it was sent to an external
// service.
type PromptPart struct{ Name, Text string }

// ProviderRemote is the provider of models that an external service calls.
const ProviderRemote = "reasoning_api"

// Provider returns the provider of the model.
func (c ModelCall) Provider() string {
	provider, _, named := strings.Cut(c.Model, ":")
	if c.Remote || !named {
		return ProviderRemote
	}
	return provider
}

// Observer observes how a decision is made. Its functions may be nil. They may be
// called concurrently, even after the decision was abandoned.
type Observer struct {
	// Called is called after each call of a model.
	Called func(ModelCall)
	// Prompted is called after a decision with a description of its prompt.
	Prompted func(model string, shown Prompt)
	// Wrote receives a model's answer as it is streamed. Models stream only if it is set.
	Wrote func(part string)
	// Waited is called before each pause for a model whose service fails for now.
	Waited func(Attempt)
}

// Purpose returns the purpose of a model call for the request.
func (r Request) Purpose() string {
	if r.Question != nil {
		return PurposeAnswer
	}
	return PurposeDecide
}

type observerKey struct{}

// WithObserver returns a context with an observer.
func WithObserver(ctx context.Context, observer Observer) context.Context {
	return context.WithValue(ctx, observerKey{}, observer)
}

// ObserverFrom returns the observer of a context, or an empty one.
func ObserverFrom(ctx context.Context) Observer {
	observer, _ := ctx.Value(observerKey{}).(Observer)
	return observer
}

// Call reports a model call to Called, if set.
func (o Observer) Call(c ModelCall) {
	if o.Called != nil {
		o.Called(c)
	}
}

// counting returns an observer of one decision that sets ModelCall.Retry, across all
// attempts.
func (o Observer) counting() Observer {
	called := o.Called
	if called == nil {
		return o
	}
	var mu sync.Mutex
	before := 0
	o.Called = func(c ModelCall) {
		mu.Lock()
		c.Retry = max(c.Retry, before)
		before++
		mu.Unlock()
		called(c)
	}
	return o
}

// prompted reports the prompt of a decision to Prompted, if set.
func (o Observer) prompted(intent Intent) {
	if o.Prompted != nil && intent.Prompt != nil {
		o.Prompted(intent.Model, *intent.Prompt)
	}
}

// Event converts the call to a telemetry event.
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

// Event converts the prompt to a telemetry event.
func (p Prompt) Event(model string) telemetry.Event {
	left := 0
	for _, each := range p.Sections {
		left += each.Trimmed
	}
	return telemetry.Event{Type: telemetry.PromptSnapshot, Model: model, PromptTokens: p.Tokens,
		Metadata: map[string]any{"hash": p.Hash, "sections": p.Sections, "left_out": left}}
}

// Observed collects the model calls and the prompt of one decision.
type Observed struct {
	mu     sync.Mutex
	calls  []ModelCall
	prompt []telemetry.Event
}

// Observer returns an observer that collects into o and passes text to wrote, which may
// be nil.
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

// Prompt returns the event of the prompt, if any.
func (o *Observed) Prompt() []telemetry.Event {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.prompt
}
