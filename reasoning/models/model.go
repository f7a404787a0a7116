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
// *reasoning.Temporary if another attempt may help, and never hold a key. Generate
// returns at once when ctx ends. Several goroutines may call it at once.
type Model interface {
	// Name is "provider:model".
	Name() string
	Generate(ctx context.Context, prompt Prompt) (Reply, error)
}

// Windowed is a model that can say how large its window is.
type Windowed interface {
	// Window is the number of tokens of prompt and answer together; 0 if the service
	// does not say. It asks the service once.
	Window(ctx context.Context) int
}

// Prompt is the question to a model.
type Prompt struct {
	System, User string
	// Schema is the JSON Schema of the answer, for services that can enforce one.
	// Enforce: nothing else may come back. Without it Schema may be a hint.
	Schema  json.RawMessage
	Enforce bool
	// Stream is told what the model writes as it comes; nil: it comes at once.
	Stream func(text string)
}

// messages is the conversation that asks the prompt.
func (p Prompt) messages() []message { return []message{{"system", p.System}, {"user", p.User}} }

// Reply is the answer of a model. Tokens are as the service counted them, or 0. Cut:
// the answer ended at the limit of tokens, and more was to follow.
type Reply struct {
	Text                       string
	PromptTokens, OutputTokens int
	Cut                        bool
}

// Options say where the services are and which keys they want. An address has
// no trailing path beyond the one its provider documents.
type Options struct {
	// Provider is whose a model is that is named without one; "" is Ollama.
	Provider                   string
	OllamaURL                  string
	AnthropicURL, AnthropicKey string
	OpenAIURL, OpenAIKey       string
}

// maxOutput bounds an answer, in tokens: an intent is small.
const maxOutput = 4096

// Open returns the model of a name such as "ollama:qwen3:4b",
// "anthropic:NAME" or "openai:NAME", the last for every service with that
// interface; a name without a provider is one of Options.Provider. An unknown
// provider or a missing key is INVALID_PARAMS.
func Open(name string, options Options) (Model, error) {
	provider, model := named(name, options.Provider)
	if model == "" {
		return nil, fault.New(fault.InvalidParams, "model %q: expected NAME or PROVIDER:NAME, such as ollama:qwen3:4b", name)
	}
	made := &service{provider: provider, model: model, client: reasoning.NewHTTPClient()}
	switch provider {
	case "ollama":
		made.base = options.OllamaURL
		return &ollama{made}, made.check()
	case "anthropic":
		made.base, made.key = options.AnthropicURL, options.AnthropicKey
		if made.key == "" {
			return nil, fault.New(fault.InvalidParams, "model %q: ANTHROPIC_API_KEY is not set", name)
		}
		return &anthropic{made}, made.check()
	case "openai":
		made.base, made.key = options.OpenAIURL, options.OpenAIKey
		return &openAI{made}, made.check()
	}
	return nil, fault.New(fault.InvalidParams, "model %q: unknown provider %q; known: %s", name, provider, strings.Join(providers, ", "))
}

// providers are those there are, the first is that of a name without one.
var providers = []string{"ollama", "anthropic", "openai"}

// named splits the name of a model from its provider. What stands before a colon
// and is no provider is part of the name: llama3:latest.
func named(name, standard string) (provider, model string) {
	if before, after, has := strings.Cut(name, ":"); has && slices.Contains(providers, before) {
		return before, strings.TrimSpace(after)
	}
	return cmp.Or(standard, providers[0]), strings.TrimSpace(name)
}

// service is the common part of the three clients.
type service struct {
	provider, model string
	base, key       string
	client          *http.Client
	window          window
}

// check reads the address. Its error does not repeat it, as it may hold a secret.
func (s *service) check() error {
	s.base = strings.TrimRight(s.base, "/")
	address, err := url.Parse(s.base)
	if err != nil || address.Scheme != "http" && address.Scheme != "https" || address.Host == "" || address.User != nil {
		return fault.New(fault.InvalidParams, "the address of %s: expected http://HOST or https://HOST", s.provider)
	}
	return nil
}

// Name is "provider:model".
func (s *service) Name() string { return s.provider + ":" + s.model }

// maxRefusal is the most bytes of an error that are repeated.
const maxRefusal = 500

// failed is the error of an answer, without the key.
func (s *service) failed(what string) error {
	return fault.New(fault.ReasoningUnavailable, "%s %s", s.Name(), fault.Cut(redact.FromLength(1, s.key).Text(what), maxRefusal))
}

// refusal is the error in the body of an answer, or "": some proxies and compatible
// services give it with status 200.
func refusal(answer []byte) string {
	var said struct {
		Error json.RawMessage `json:"error"`
	}
	if json.Unmarshal(answer, &said) != nil {
		return ""
	}
	var text string
	var object map[string]json.RawMessage
	switch {
	case json.Unmarshal(said.Error, &text) == nil:
	case json.Unmarshal(said.Error, &object) != nil || len(object) == 0:
		return ""
	case json.Unmarshal(object["message"], &text) != nil || text == "":
		text = string(said.Error)
	}
	return strings.Join(strings.Fields(strings.ToValidUTF8(text, "\uFFFD")), " ")
}

// message is one turn of a conversation, the same in all three services.
type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}
