package app

import (
	"context"
	"encoding/json"
	"io/fs"
	"net/http"

	"savant"
	"savant/internal/settings"
	"savant/reasoning"
	"savant/reasoning/models"
	"savant/reasoning/service"
	"savant/schemas"
)

// Reasoner returns the client of the service that decides, and the service's name.
// With REASONING_API_URL it is that service alone: Savant never falls back to its
// own. observe is called with each failed attempt and may be nil.
func Reasoner(s settings.Reasoning, version string, observe func(context.Context, reasoning.Attempt)) (client *reasoning.Client, name string, err error) {
	options := reasoning.Options{Timeout: s.Timeout, Retries: s.Retries, Observe: observe}
	if s.Waiting != nil {
		options.Transport = refused{s.Waiting}
		return reasoning.New(options), "nobody", nil
	}
	if s.URL != "" {
		transport, err := reasoning.NewHTTP(reasoning.HTTPOptions{URL: s.URL, Token: s.Token, UserAgent: "savant/" + version})
		if err != nil {
			return nil, "", Misconfigured(err)
		}
		options.Transport, options.Name, options.Remote = transport, transport.Name(), true
		return reasoning.New(options), options.Name, nil
	}
	if undecided(s) {
		options.Transport, options.Name, options.Timeout = &lateService{settings: s}, "the reasoning service inside", 0
		return reasoning.New(options), options.Name, nil
	}
	inside, err := reasoningService(s)
	if err != nil {
		return nil, "", Misconfigured(err)
	}
	// The service inside bounds each answer of a model itself.
	options.Transport, options.Name, options.Timeout = inside, inside.Name(), 0
	return reasoning.New(options), options.Name, nil
}

// refused is the way to whom the file of settings names and nobody accepted.
type refused struct{ why error }

// RoundTrip sends nothing.
func (r refused) RoundTrip(context.Context, reasoning.Request) (json.RawMessage, error) {
	return nil, r.why
}

// reasoningService is the one inside the program, with the models that are set.
func reasoningService(s settings.Reasoning) (*service.Service, error) {
	provider := s.Provider
	if provider == settings.Offline {
		provider = ""
	}
	options := models.Options{Provider: provider, OllamaURL: s.OllamaURL, AnthropicURL: s.AnthropicURL, AnthropicKey: s.AnthropicKey,
		OpenAIURL: s.OpenAIURL, OpenAIKey: s.OpenAIKey}
	made := service.Options{Timeout: s.ModelTimeout, SmallBudget: s.SLMBudget, LargeBudget: s.LLMBudget}
	var err error
	if s.SLM != "" {
		if made.SLM, err = models.Open(s.SLM, options); err != nil {
			return nil, err
		}
	}
	if s.LLM != "" {
		if made.LLM, err = models.Open(s.LLM, options); err != nil {
			return nil, err
		}
	}
	return service.New(made), nil
}

// ReasoningHandler serves the service inside to others, who need the token, until
// ctx ends.
func ReasoningHandler(ctx context.Context, s settings.Reasoning) (http.Handler, error) {
	if s.Waiting != nil {
		return nil, Misconfigured(s.Waiting)
	}
	inside, err := reasoningService(withDefaults(ctx, s))
	if err != nil {
		return nil, Misconfigured(err)
	}
	bundled, err := fs.Sub(savant.Files, "schemas")
	if err != nil {
		return nil, err
	}
	set, err := schemas.Load(bundled)
	if err != nil {
		return nil, err
	}
	schema, err := set.Named("reasoning_request")
	if err != nil {
		return nil, err
	}
	return service.NewHandler(service.HandlerOptions{Decider: inside, Schema: schema, Token: s.Token, Base: ctx}), nil
}
