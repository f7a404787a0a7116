package models

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"savant/fault"
	"savant/internal/redact"
	"savant/reasoning"
)

// Model answers a prompt with text. Errors are REASONING_UNAVAILABLE, as a
// *reasoning.Temporary if a retry may help, and never contain a key. Generate returns
// at once when ctx ends. It is safe for concurrent use.
type Model interface {
	// Name is "provider:model".
	Name() string
	Generate(ctx context.Context, prompt Prompt) (Reply, error)
}

// Windowed is a model that reports the size of its context window.
type Windowed interface {
	// Window returns the tokens of prompt and answer together; 0 if unknown. It queries
	// the service once.
	Window(ctx context.Context) int
}

// Prompt is the question to a model.
type Prompt struct {
	System, User string
	// Schema is the JSON Schema of the answer, for services that can enforce one. With
	// Enforce the answer must conform; otherwise Schema may serve as a hint.
	Schema  json.RawMessage
	Enforce bool
	// Stream receives the text as the model writes it; nil turns streaming off.
	Stream func(text string)
	// Again: the question is asked once more, so that thinking is turned off where the
	// settings leave it open. Longer: its answer was cut off, so that it gets more room.
	Again, Longer bool
}

// room is the most tokens of an answer.
func (p Prompt) room() int {
	if p.Longer {
		return maxOutput * moreRoom
	}
	return maxOutput
}

// Reply is the answer of a model. Tokens are counted by the service, or 0. Cut says
// that the token limit truncated the answer. Thinking is what the service set apart from
// it.
type Reply struct {
	Text, Thinking             string
	PromptTokens, OutputTokens int
	Cut                        bool
}

// Options are the addresses and keys of the services. An address has only the path that
// its provider documents.
type Options struct {
	// Provider is the default provider of a model name; "" is Ollama.
	Provider                   string
	OllamaURL                  string
	AnthropicURL, AnthropicKey string
	OpenAIURL, OpenAIKey       string
	// Think says whether models of Ollama think: ThinkOn, ThinkOff, or else they decide.
	Think string
}

// Values of Options.Think.
const (
	ThinkOn  = "on"
	ThinkOff = "off"
)

// maxOutput bounds an answer, in tokens.
const maxOutput = 4096

// moreRoom multiplies it for a question that is asked again since its answer was cut off.
const moreRoom = 4

// Open returns the model of a name such as "ollama:qwen3:4b", "anthropic:NAME" or
// "openai:NAME", the last for every compatible service; a name without a provider uses
// Options.Provider, or without one the provider before a slash. An unknown provider or a missing key is INVALID_PARAMS.
func Open(name string, options Options) (Model, error) {
	provider, model := named(name, options.Provider)
	if model == "" {
		return nil, fault.New(fault.InvalidParams, "model %q: expected NAME or PROVIDER:NAME, such as ollama:qwen3:4b", name)
	}
	made := &service{provider: provider, model: model, client: reasoning.NewHTTPClient()}
	switch provider {
	case "ollama":
		return &ollama{made, options.Think}, made.parse(options.OllamaURL)
	case "anthropic":
		made.key = options.AnthropicKey
		if made.key == "" {
			return nil, fault.New(fault.InvalidParams, "model %q: ANTHROPIC_API_KEY is not set", name)
		}
		return &anthropic{made}, made.parse(options.AnthropicURL)
	case "openai":
		made.key = options.OpenAIKey
		return &openAI{made}, made.parse(options.OpenAIURL)
	}
	return nil, fault.New(fault.InvalidParams, "model %q: unknown provider %q; known: %s", name, provider, strings.Join(providers, ", "))
}

// providers are the known providers; the first is the default.
var providers = []string{"ollama", "anthropic", "openai"}

// named splits a model's name into provider and model. A prefix that is not a provider
// is part of the model's name: llama3:latest.
func named(name, standard string) (provider, model string) {
	if before, after, has := strings.Cut(name, ":"); has && slices.Contains(providers, before) {
		return before, strings.TrimSpace(after)
	}
	if before, after, has := strings.Cut(name, "/"); has && standard == "" && slices.Contains(providers, before) {
		return before, strings.TrimSpace(after)
	}
	return cmp.Or(standard, providers[0]), strings.TrimSpace(name)
}

// service is the common part of the three clients.
type service struct {
	provider, model string
	base            *url.URL
	key             string
	client          *http.Client
	window          window
	habits          habits
}

// Name is "provider:model".
func (s *service) Name() string { return s.provider + ":" + s.model }

// maxRefusal bounds the quoted part of a service's error, in bytes.
const maxRefusal = 500

// failed is the error of an answer, with the key redacted.
func (s *service) failed(what string) error {
	return fault.New(fault.ReasoningUnavailable, "%s %s", s.Name(), fault.Cut(redact.FromLength(1, s.key).Text(what), maxRefusal))
}

// message is one turn of a conversation; its form is the same in all three services.
type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}
