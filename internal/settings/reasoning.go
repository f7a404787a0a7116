package settings

import "time"

// Reasoning says who decides what an agent does next, and where the models
// are that the built-in reasoning service may use.
type Reasoning struct {
	// URL is the address of a Reasoning API, empty for the service inside the
	// program; Token is its bearer token.
	URL, Token string
	// Timeout bounds one attempt to reach it, Retries those after the first.
	Timeout time.Duration
	Retries int
	// SLM and LLM are the models of the service inside, as PROVIDER:NAME;
	// ModelTimeout bounds the answer of either.
	SLM, LLM     string
	ModelTimeout time.Duration
	// Addresses and keys of the providers.
	OllamaURL                  string
	AnthropicURL, AnthropicKey string
	OpenAIURL, OpenAIKey       string
}

// Variables of the Reasoning API and of the models that messages name.
const (
	EnvReasoningURL = "REASONING_API_URL"
	EnvSLM          = "SAVANT_SLM"
	EnvLLM          = "SAVANT_LLM"
)

// maxRetries keeps a dead service from being asked for minutes.
const maxRetries = 10

func reasoningRows() []Setting {
	return []Setting{
		{Flag: "reasoning-api-url", Env: EnvReasoningURL, Key: "reasoning.api_url", Kind: Address,
			Doc: "address of a Reasoning API; without one the service inside decides", field: func(s *Settings) any { return &s.Reasoning.URL }},
		{Flag: "reasoning-api-token", Env: "REASONING_API_TOKEN", Key: "reasoning.api_token", Secret: true, SentTo: "reasoning.api_url",
			Doc: "bearer token for it", field: func(s *Settings) any { return &s.Reasoning.Token }},
		{Flag: "reasoning-api-timeout-ms", Env: "REASONING_API_TIMEOUT_MS", Key: "reasoning.api_timeout_ms", Kind: Number, Min: 1, Max: maxWait, Default: "5000",
			Doc: "milliseconds an attempt to reach it may take", field: func(s *Settings) any { return &s.Reasoning.Timeout }},
		{Flag: "reasoning-api-retries", Env: "REASONING_API_RETRIES", Key: "reasoning.api_retries", Kind: Number, Max: maxRetries, Default: "2",
			Doc: "attempts after the first", field: func(s *Settings) any { return &s.Reasoning.Retries }},
	}
}

// modelRows are the models of the service inside.
func modelRows() []Setting {
	return []Setting{
		{Flag: "slm-model", Env: EnvSLM, Key: "llm.slm_model",
			Doc: "small model of the service inside, as PROVIDER:NAME; ollama, anthropic or openai", field: func(s *Settings) any { return &s.Reasoning.SLM }},
		{Flag: "llm-model", Env: EnvLLM, Key: "llm.llm_model",
			Doc: "large model of the service inside, as PROVIDER:NAME", field: func(s *Settings) any { return &s.Reasoning.LLM }},
		{Flag: "model-timeout-ms", Env: "SAVANT_MODEL_TIMEOUT_MS", Key: "llm.model_timeout_ms", Kind: Number, Min: 1, Max: maxWait, Default: "120000",
			Doc: "milliseconds a model may take to answer", field: func(s *Settings) any { return &s.Reasoning.ModelTimeout }},
		{Flag: "ollama-url", Env: "SAVANT_OLLAMA_URL", Key: "llm.ollama_url", Kind: Address, Default: "http://127.0.0.1:11434",
			Doc: "address of Ollama", field: func(s *Settings) any { return &s.Reasoning.OllamaURL }},
		{Flag: "anthropic-url", Env: "ANTHROPIC_BASE_URL", Key: "llm.anthropic_url", Kind: Address, Default: "https://api.anthropic.com",
			Doc: "address of the Anthropic API", field: func(s *Settings) any { return &s.Reasoning.AnthropicURL }},
		{Flag: "anthropic-key", Env: "ANTHROPIC_API_KEY", Key: "llm.anthropic_key", Secret: true, SentTo: "llm.anthropic_url",
			Doc: "key for it", field: func(s *Settings) any { return &s.Reasoning.AnthropicKey }},
		{Flag: "openai-url", Env: "OPENAI_BASE_URL", Key: "llm.openai_url", Kind: Address, Default: "https://api.openai.com/v1",
			Doc: "address of the OpenAI API, or of one like it, with its version", field: func(s *Settings) any { return &s.Reasoning.OpenAIURL }},
		{Flag: "openai-key", Env: "OPENAI_API_KEY", Key: "llm.openai_key", Secret: true, SentTo: "llm.openai_url",
			Doc: "key for it", field: func(s *Settings) any { return &s.Reasoning.OpenAIKey }},
	}
}
