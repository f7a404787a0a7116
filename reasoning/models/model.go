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
// it, Calls the intent of the calls beside a text.
type Reply struct {
	Text, Thinking, Calls      string
	PromptTokens, OutputTokens int
	Cut                        bool
}

// Service is the address of a provider's service, which has only the path that the
// provider documents, and the key for it.
type Service struct{ URL, Key string }

// Options say where the models are.
type Options struct {
	// Provider is the default provider of a model name; "" is Ollama.
	Provider string
	// Services are the services by provider.
	Services map[string]Service
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

// Open returns the model of a name such as "ollama:qwen3:4b", PROVIDER:NAME; a name without a provider uses
// Options.Provider, or without one the provider before a slash. An unknown provider or a missing key is INVALID_PARAMS.
func Open(name string, options Options) (Model, error) {
	provider, model := splitModelName(name, options.Provider)
	if model == "" {
		return nil, fault.New(fault.InvalidParams, "model %q: expected NAME or PROVIDER:NAME, such as ollama:qwen3:4b", name)
	}
	at := slices.IndexFunc(providers, func(each providerRow) bool { return each.name == provider })
	if at < 0 {
		return nil, fault.New(fault.InvalidParams, "model %q: unknown provider %q; known: %s", name, provider, strings.Join(providerNames(), ", "))
	}
	row, given := providers[at], options.Services[provider]
	if row.needsKey && given.Key == "" {
		return nil, fault.New(fault.InvalidParams, "model %q: %s_API_KEY is not set", name, strings.ToUpper(provider))
	}
	made := &service{providerRow: row, model: model, key: given.Key, client: reasoning.NewHTTPClient()}
	return row.open(made, options), made.parse(given.URL)
}

// providerRow is a provider of models.
type providerRow struct {
	name string
	// open returns the client of a model.
	open func(*service, Options) Model
	// setting says which setting has the address, and how it looks.
	setting string
	// needsKey: every request needs a key. hasVersion: the address ends with its version.
	needsKey, hasVersion bool
}

// providers are the known providers; the first is the default.
var providers = []providerRow{ollamaRow, anthropicRow, openAIRow}

func providerNames() []string {
	var names []string
	for _, each := range providers {
		names = append(names, each.name)
	}
	return names
}

// splitModelName splits a model's name into provider and model. A prefix that is not a provider
// is part of the model's name: llama3:latest.
func splitModelName(name, standard string) (provider, model string) {
	if before, after, has := strings.Cut(name, ":"); has && slices.Contains(providerNames(), before) {
		return before, strings.TrimSpace(after)
	}
	if before, after, has := strings.Cut(name, "/"); has && standard == "" && slices.Contains(providerNames(), before) {
		return before, strings.TrimSpace(after)
	}
	return cmp.Or(standard, providers[0].name), strings.TrimSpace(name)
}

// service is the common part of the clients.
type service struct {
	providerRow
	model  string
	base   *url.URL
	key    string
	client *http.Client
	window window
	habits habits
}

// Name is "provider:model".
func (s *service) Name() string { return s.name + ":" + s.model }

// maxRefusal bounds the quoted part of a service's error, in bytes.
const maxRefusal = 500

// failed is the error of an answer, with the key redacted.
func (s *service) failed(what string) error {
	return fault.New(fault.ReasoningUnavailable, "%s %s", s.Name(), fault.Cut(redact.FromLength(1, s.key).Text(what), maxRefusal))
}

// message is one turn of a conversation; its form is the same in all services.
type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}
