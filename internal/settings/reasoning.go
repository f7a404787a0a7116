package settings

import (
	"fmt"
	"strconv"
	"time"
)

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
	text := func(of func(*Reasoning) *string) func(*Settings, string) error {
		return func(into *Settings, value string) error {
			*of(&into.Reasoning) = value
			return nil
		}
	}
	return []Setting{
		{Flag: "reasoning-api-url", Env: EnvReasoningURL, Key: "reasoning_api_url",
			Doc: "address of a Reasoning API; without one the service inside decides", set: text(func(r *Reasoning) *string { return &r.URL })},
		{Flag: "reasoning-api-token", Env: "REASONING_API_TOKEN", Key: "reasoning_api_token", Secret: true,
			Doc: "bearer token for it", set: text(func(r *Reasoning) *string { return &r.Token })},
		{Flag: "reasoning-api-timeout-ms", Env: "REASONING_API_TIMEOUT_MS", Key: "reasoning_api_timeout_ms", Default: "5000",
			Doc: "milliseconds an attempt to reach it may take", set: setReasoningTimeout},
		{Flag: "reasoning-api-retries", Env: "REASONING_API_RETRIES", Key: "reasoning_api_retries", Default: "2",
			Doc: "attempts after the first", set: setReasoningRetries},
		{Flag: "slm-model", Env: EnvSLM, Key: "slm",
			Doc: "small model of the service inside, as PROVIDER:NAME; ollama, anthropic or openai", set: text(func(r *Reasoning) *string { return &r.SLM })},
		{Flag: "llm-model", Env: EnvLLM, Key: "llm",
			Doc: "large model of the service inside, as PROVIDER:NAME", set: text(func(r *Reasoning) *string { return &r.LLM })},
		{Flag: "model-timeout-ms", Env: "SAVANT_MODEL_TIMEOUT_MS", Key: "model_timeout_ms", Default: "120000",
			Doc: "milliseconds a model may take to answer", set: setModelTimeout},
		{Flag: "ollama-url", Env: "SAVANT_OLLAMA_URL", Key: "ollama_url", Default: "http://127.0.0.1:11434",
			Doc: "address of Ollama", set: text(func(r *Reasoning) *string { return &r.OllamaURL })},
		{Flag: "anthropic-url", Env: "ANTHROPIC_BASE_URL", Key: "anthropic_url", Default: "https://api.anthropic.com",
			Doc: "address of the Anthropic API", set: text(func(r *Reasoning) *string { return &r.AnthropicURL })},
		{Flag: "anthropic-key", Env: "ANTHROPIC_API_KEY", Key: "anthropic_key", Secret: true,
			Doc: "key for it", set: text(func(r *Reasoning) *string { return &r.AnthropicKey })},
		{Flag: "openai-url", Env: "OPENAI_BASE_URL", Key: "openai_url", Default: "https://api.openai.com/v1",
			Doc: "address of the OpenAI API, or of one like it, with its version", set: text(func(r *Reasoning) *string { return &r.OpenAIURL })},
		{Flag: "openai-key", Env: "OPENAI_API_KEY", Key: "openai_key", Secret: true,
			Doc: "key for it", set: text(func(r *Reasoning) *string { return &r.OpenAIKey })},
	}
}

func setReasoningTimeout(into *Settings, value string) (err error) {
	into.Reasoning.Timeout, err = positiveMilliseconds(value)
	return err
}

func setModelTimeout(into *Settings, value string) (err error) {
	into.Reasoning.ModelTimeout, err = positiveMilliseconds(value)
	return err
}

func positiveMilliseconds(value string) (time.Duration, error) {
	milliseconds, err := strconv.Atoi(value)
	if err != nil || milliseconds < 1 || milliseconds > maxSlow {
		return 0, unfit(fmt.Sprintf("milliseconds from 1 to %d", maxSlow))
	}
	return time.Duration(milliseconds) * time.Millisecond, nil
}

func setReasoningRetries(into *Settings, value string) error {
	retries, err := strconv.Atoi(value)
	if err != nil || retries < 0 || retries > maxRetries {
		return unfit(fmt.Sprintf("a number from 0 to %d", maxRetries))
	}
	into.Reasoning.Retries = retries
	return nil
}
