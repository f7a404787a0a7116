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

// Observer observes how one decision is made. Its methods may be called concurrently,
// even after the decision was abandoned.
type Observer interface {
	// Called is told of each call of a model.
	Called(call ModelCall)
	// Prompted is told of the prompt of a decision, after the decision.
	Prompted(model string, shown Prompt)
	// Waited is told of each pause for a model whose service fails for now, before it.
	Waited(failed Attempt)
	// Wrote receives a model's answer as it is streamed. Models stream only if Streams
	// reports true.
	Wrote(part string)
	Streams() bool
}

// Unobserved is an Observer that does nothing.
type Unobserved struct{}

// The methods of Observer.
func (Unobserved) Called(ModelCall)        {}
func (Unobserved) Prompted(string, Prompt) {}
func (Unobserved) Waited(Attempt)          {}
func (Unobserved) Wrote(string)            {}
func (Unobserved) Streams() bool           { return false }

// Purpose returns the purpose of a model call for the request.
func (r Request) Purpose() string {
	if r.Question != nil {
		return PurposeAnswer
	}
	return PurposeDecide
}

// observedDecision observes one decision of a client.
type observedDecision struct {
	Observer
	ctx     context.Context
	client  *Client
	request Request

	mu     sync.Mutex
	before int // calls so far, across all attempts
}

// Called sets ModelCall.Retry.
func (d *observedDecision) Called(c ModelCall) {
	d.mu.Lock()
	c.Retry = max(c.Retry, d.before)
	d.before++
	d.mu.Unlock()
	d.Observer.Called(c)
}

// Waited tells the client, too.
func (d *observedDecision) Waited(attempt Attempt) {
	attempt.SessionID, attempt.RunID, attempt.Step = d.request.SessionID, d.request.RunID, d.request.Step
	d.client.observe(d.ctx, attempt)
	d.Observer.Waited(attempt)
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

// Observed is an Observer that collects the model calls and the prompt of one decision.
type Observed struct {
	Unobserved
	wrote  func(string)
	mu     sync.Mutex
	calls  []ModelCall
	prompt []telemetry.Event
}

// NewObserved returns an Observed that passes text to wrote; nil: models do not stream.
func NewObserved(wrote func(string)) *Observed { return &Observed{wrote: wrote} }

// Called implements Observer.
func (o *Observed) Called(c ModelCall) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.calls = append(o.calls, c)
}

// Prompted implements Observer.
func (o *Observed) Prompted(model string, prompt Prompt) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.prompt = []telemetry.Event{prompt.Event(model)}
}

// Wrote implements Observer.
func (o *Observed) Wrote(part string) { o.wrote(part) }

// Streams implements Observer.
func (o *Observed) Streams() bool { return o.wrote != nil }

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
