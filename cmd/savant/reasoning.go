package main

import (
	"context"

	"savant/internal/settings"
	"savant/reasoning"
	"savant/reasoning/models"
	"savant/reasoning/service"
)

// reasoner returns the client of whoever decides, and who that is. With
// REASONING_API_URL it is that service and no other: there is no silent way
// back to the one inside. observe is told of failed attempts and may be nil.
func (p *program) reasoner(observe func(context.Context, reasoning.Attempt)) (client *reasoning.Client, name string, err error) {
	s := p.settings.Reasoning
	options := reasoning.Options{Timeout: s.Timeout, Retries: s.Retries, Observe: observe}
	if s.URL != "" {
		transport, err := reasoning.NewHTTP(reasoning.HTTPOptions{URL: s.URL, Token: s.Token, UserAgent: "savant/" + programVersion()})
		if err != nil {
			return nil, "", misconfigured(err)
		}
		options.Transport, options.Name = transport, transport.Name()
		return reasoning.New(options), options.Name, nil
	}
	inside, err := reasoningService(s)
	if err != nil {
		return nil, "", misconfigured(err)
	}
	// The service inside bounds each answer of a model itself.
	options.Transport, options.Name, options.Timeout = inside, inside.Name(), 0
	return reasoning.New(options), options.Name, nil
}

// reasoningService is the one inside the program, with the models that are set.
func reasoningService(s settings.Reasoning) (*service.Service, error) {
	options := models.Options{OllamaURL: s.OllamaURL, AnthropicURL: s.AnthropicURL, AnthropicKey: s.AnthropicKey,
		OpenAIURL: s.OpenAIURL, OpenAIKey: s.OpenAIKey}
	made := service.Options{Timeout: s.ModelTimeout}
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
