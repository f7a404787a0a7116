package settings

import (
	"time"
)

// Reasoning says who decides what an agent does next, and where the models of the
// built-in reasoning service are.
type Reasoning struct {
	// URL is the address of a Reasoning API, empty for the built-in service of the
	// program; Token is its bearer token.
	URL, Token string
	// Transport is TransportHTTP, or TransportMongo for a queue.
	Transport string
	// Timeout bounds one attempt to reach it, and an answer of a model; Retries is the
	// number of further attempts.
	Timeout time.Duration
	Retries int
	// SLM and LLM are the models of the built-in service, as PROVIDER:NAME, or as a
	// NAME of Provider. Provider is empty if none was chosen, and Offline if no model
	// may be asked.
	SLM, LLM, Provider string
	// Think is auto, on or off, for models of Ollama that think.
	Think string
	// SLMBudget and LLMBudget are the maximum sizes of their prompts, in estimated
	// tokens.
	SLMBudget, LLMBudget int
	// Prices are the prices of tokens, by model.
	Prices Prices
	// Services are where the models are, by provider.
	Services map[string]*ModelService
	// Waiting is why models of the user's settings may not be asked: the file gives
	// their address, and nobody accepted it. Nil if they may.
	Waiting error
}

// ModelService is the service of a provider of models.
type ModelService struct{ URL, Key string }

// Service returns the service of a provider, an empty one if there is no such provider.
func (r Reasoning) Service(provider string) ModelService {
	if found := r.Services[provider]; found != nil {
		return *found
	}
	return ModelService{}
}

// How a reasoning service outside is asked.
const (
	TransportHTTP  = "http"
	TransportMongo = "mongo"
)

// Variables of the Reasoning API and of the models that messages name.
const (
	EnvReasoningURL = "REASONING_API_URL"
	EnvSLM          = "SLM_MODEL"
	EnvLLM          = "LLM_MODEL"
)

// Offline is the provider that disables models: the offline planner decides, and Savant
// does not look for an Ollama.
const Offline = "offline"

// Bounds of a prompt's budget, in estimated tokens.
const (
	minBudget = 2_000
	maxBudget = 2_000_000
)

// maxRetries bounds how long an unreachable service is tried.
const maxRetries = 10

func reasoningRows() []Setting {
	return []Setting{
		{Flag: "reasoning-api-url", Env: EnvReasoningURL, Key: "reasoning.api_url", Kind: Address, Guarded: true,
			Doc: "address of a Reasoning API; without one the built-in service decides", field: func(s *Settings) any { return &s.Reasoning.URL }},
		{Env: "REASONING_TRANSPORT", Key: "reasoning.transport", Default: TransportHTTP, Allowed: []string{TransportHTTP, TransportMongo}, Guarded: true,
			Doc: "how decisions are requested: http, or mongo, a queue in MongoDB", field: func(s *Settings) any { return &s.Reasoning.Transport }},
		{Env: "REASONING_API_TOKEN", Key: "reasoning.api_token", Secret: true, Guarded: true, SentTo: "reasoning.api_url",
			Doc: "bearer token for it", field: func(s *Settings) any { return &s.Reasoning.Token }},
		{Env: "REASONING_API_TIMEOUT_MS", Key: "reasoning.api_timeout_ms", Kind: Number, Min: 1, Max: maxWait, Default: "120000",
			Doc: "milliseconds an attempt to reach it, or a model, may take", field: func(s *Settings) any { return &s.Reasoning.Timeout }},
		{Env: "REASONING_API_RETRIES", Key: "reasoning.api_retries", Kind: Number, Max: maxRetries, Default: "2",
			Doc: "attempts after the first", field: func(s *Settings) any { return &s.Reasoning.Retries }},
	}
}

// provider is a provider of models, with the settings of its service: the address, and the
// key, where it has one.
type provider struct {
	name         string
	address, key Setting
}

// providers are the providers of models that llm.provider may name; the first is the
// default.
var providers = []provider{
	{name: "ollama", address: Setting{Env: "OLLAMA_HOST", Key: "llm.ollama_host", Default: "http://127.0.0.1:11434", normal: ollamaAddress, Doc: "address of Ollama"}},
	{name: "anthropic", address: Setting{Env: "ANTHROPIC_BASE_URL", Key: "llm.anthropic_url", Default: "https://api.anthropic.com", Doc: "address of the Anthropic API"},
		key: Setting{Env: "ANTHROPIC_API_KEY", Key: "llm.anthropic_key"}},
	{name: "openai", address: Setting{Env: "OPENAI_BASE_URL", Key: "llm.openai_url", Default: "https://api.openai.com/v1", Doc: "address of the OpenAI API, or of one like it, with its version"},
		key: Setting{Env: "OPENAI_API_KEY", Key: "llm.openai_key"}},
}

func providerNames() []string {
	var names []string
	for _, each := range providers {
		names = append(names, each.name)
	}
	return names
}

// rows are the settings of the provider's service.
func (p provider) rows() []Setting {
	of := func(s *Settings) *ModelService {
		if s.Reasoning.Services == nil {
			s.Reasoning.Services = map[string]*ModelService{}
		}
		if s.Reasoning.Services[p.name] == nil {
			s.Reasoning.Services[p.name] = &ModelService{}
		}
		return s.Reasoning.Services[p.name]
	}
	address, key := p.address, p.key
	address.Kind, address.Guarded, address.field = Address, true, func(s *Settings) any { return &of(s).URL }
	if key.Key == "" {
		return []Setting{address}
	}
	key.Secret, key.Guarded, key.SentTo, key.Doc, key.field = true, true, address.Key, "key for it", func(s *Settings) any { return &of(s).Key }
	return []Setting{address, key}
}

// modelRows are the models of the built-in service.
func modelRows() []Setting {
	rows := []Setting{
		{Env: "LLM_PROVIDER", Key: "llm.provider", Guarded: true, Allowed: append(providerNames(), Offline),
			Doc: "provider of models that are named without one, ollama by default; offline asks no model", field: func(s *Settings) any { return &s.Reasoning.Provider }},
		{Flag: "slm", Env: EnvSLM, FormerEnv: "SAVANT_SLM", Key: "llm.slm_model", Guarded: true,
			Doc: "small model of the built-in service, as NAME or PROVIDER:NAME", field: func(s *Settings) any { return &s.Reasoning.SLM }},
		{Flag: "llm", Env: EnvLLM, FormerEnv: "SAVANT_LLM", Key: "llm.llm_model", Guarded: true,
			Doc: "large model of the built-in service, as NAME or PROVIDER:NAME", field: func(s *Settings) any { return &s.Reasoning.LLM }},
		{Env: "LLM_THINK", Key: "llm.think", Default: "auto", Allowed: []string{"auto", "on", "off"},
			Doc: "whether models of Ollama think before they answer; auto leaves it to the model, and off for a second question", field: func(s *Settings) any { return &s.Reasoning.Think }},
	}
	for _, each := range providers {
		rows = append(rows, each.rows()...)
	}
	return append(rows, Setting{Env: "LLM_PRICES", Key: "llm.prices", Kind: PriceList,
		Doc: "price of a million tokens, by model: {\"MODEL\": {\"input\": 3, \"output\": 15}}", field: func(s *Settings) any { return &s.Reasoning.Prices }})
}
