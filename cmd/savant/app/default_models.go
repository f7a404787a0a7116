package app

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"time"

	"savant/fault"
	"savant/internal/settings"
	"savant/reasoning"
	"savant/reasoning/service"
)

// The default models, used if none is configured and an Ollama on this machine has
// them.
const (
	defaultSLM = "phi3.5"
	defaultLLM = "llama3"
	// lacksDefaults says of an Ollama that it cannot be used without naming a model.
	lacksDefaults = " has neither of the default models, " + defaultSLM + " and " + defaultLLM + ", or cannot be reached"
)

// ollamaPatience bounds how long an Ollama may take to list its models; without an
// Ollama the connection fails at once.
const ollamaPatience = 2 * time.Second

// undecided reports whether no decider is configured: then an Ollama is looked for.
func undecided(s settings.Reasoning) bool {
	return s.Waiting == nil && s.URL == "" && s.SLM == "" && s.LLM == "" && (s.Provider == "" || s.Provider == "ollama")
}

// withDefaults returns settings with Ollama's default models, if no decider is
// configured and Ollama has them.
func withDefaults(ctx context.Context, s settings.Reasoning) settings.Reasoning {
	if !undecided(s) {
		return s
	}
	for _, name := range ollamaModels(ctx, s.Service("ollama").URL) {
		family, _, _ := strings.Cut(name, ":")
		switch {
		case family == defaultSLM && (s.SLM == "" || name == defaultSLM+":latest"):
			s.SLM = "ollama:" + name
		case family == defaultLLM && (s.LLM == "" || name == defaultLLM+":latest"):
			s.LLM = "ollama:" + name
		}
	}
	return s
}

// ollamaModels returns the models of an Ollama; none if it does not answer in time.
func ollamaModels(ctx context.Context, address string) []string {
	ctx, cancel := context.WithTimeout(ctx, ollamaPatience)
	defer cancel()
	client := reasoning.NewHTTPClient()
	defer client.CloseIdleConnections()
	body, err := reasoning.Get(ctx, client, strings.TrimRight(address, "/")+"/api/tags", http.Header{})
	var tags struct {
		Models []struct {
			Name string `json:"name"`
		} `json:"models"`
	}
	if err != nil || json.Unmarshal(body, &tags) != nil {
		return nil
	}
	var names []string
	for _, each := range tags.Models {
		names = append(names, each.Name)
	}
	return names
}

// lateService is the built-in service. It looks for models on first use, so
// that no command waits for an Ollama without need.
type lateService struct {
	settings settings.Reasoning
	// ollamaGiven: a person named the address of the Ollama.
	ollamaGiven bool
	once        sync.Once
	made        *service.Service
	err         error
	// hasModel: a model was found.
	hasModel bool
}

// open returns the service.
func (l *lateService) open(ctx context.Context) (*service.Service, error) {
	l.once.Do(func() {
		found := withDefaults(context.WithoutCancel(ctx), l.settings)
		l.hasModel = found.SLM != "" || found.LLM != ""
		if l.made, l.err = reasoningService(found); l.err != nil { // its Ollama may have one later, so a step waits
			l.err = fault.New(fault.ReasoningUnavailable, "%s", fault.From(l.err).Details)
		}
	})
	return l.made, l.err
}

// RoundTrip asks the service.
func (l *lateService) RoundTrip(ctx context.Context, request reasoning.Request, observer reasoning.Observer) (json.RawMessage, error) {
	inside, err := l.open(ctx)
	if err != nil {
		return nil, err
	}
	return inside.RoundTrip(ctx, request, observer)
}

// name returns the name of the decider.
func (l *lateService) name(ctx context.Context) string {
	inside, err := l.open(ctx)
	if err != nil {
		return "nobody"
	}
	name := inside.Name()
	if l.ollamaGiven && !l.hasModel {
		name += "; the Ollama at " + settings.ShownAddress(l.settings.Service("ollama").URL) + lacksDefaults
	}
	return name
}
