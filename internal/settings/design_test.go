package settings_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"savant/internal/settings"
	"savant/test/golden"
)

// environment is a source that has whatever variables there are, by name alone.
func environment(values map[string]string) settings.Lookup {
	return func(row settings.Setting) (string, bool) {
		value, ok := values[row.Env]
		return value, ok
	}
}

func TestTheDesignsVariables(t *testing.T) {
	loaded, err := settings.Load(from(nil), environment(map[string]string{"LLM_PROVIDER": "openai", "SLM_MODEL": "phi3.5",
		"LLM_MODEL": "llama3:latest", "OLLAMA_HOST": "box"}), everybody)
	require.NoError(t, err)
	require.Equal(t, "openai", loaded.Reasoning.Provider)
	require.Equal(t, "phi3.5", loaded.Reasoning.SLM)
	require.Equal(t, "llama3:latest", loaded.Reasoning.LLM)
	require.Equal(t, "http://box:11434", loaded.Reasoning.Service("ollama").URL)
	require.Equal(t, "environment SLM_MODEL", origins(loaded)["SLM_MODEL"])

	_, err = settings.Load(from(nil), environment(map[string]string{"LLM_PROVIDER": "acme"}), everybody)
	var refused *settings.Error
	require.ErrorAs(t, err, &refused)
	require.Equal(t, "LLM_PROVIDER", refused.Setting, "the name that was used")
	require.Equal(t, "acme", refused.Value)
}

func TestOllamaHostIsReadAsOllamaReadsIt(t *testing.T) {
	for given, expected := range map[string]string{
		"127.0.0.1": "http://127.0.0.1:11434", ":8080": "http://127.0.0.1:8080", "0.0.0.0": "http://127.0.0.1:11434",
		"0.0.0.0:1": "http://127.0.0.1:1", "[::]:2": "http://127.0.0.1:2", "[::1]": "http://[::1]:11434", "::1": "http://[::1]:11434",
		"box:9/api": "http://box:9/api", "https://box": "https://box", "http://[::1]": "http://[::1]", " \"box:3\" ": "http://box:3",
		"http://0.0.0.0:11434/": "http://127.0.0.1:11434/", "http://u:p@box": "http://u:p@box",
	} {
		loaded, err := settings.Load(from(nil), environment(map[string]string{"OLLAMA_HOST": given}), everybody)
		require.NoError(t, err)
		require.Equal(t, expected, loaded.Reasoning.Service("ollama").URL, given)
	}
}

func TestBothSpellingsOfAKey(t *testing.T) {
	loaded, err := load(t, `{"agent": {"maxSteps": 7, "retryLimit": 3, "prompt": {"slmBudgetTokens": 4000, "llm_budget_tokens": 9000}},
		"llm": {"provider": "ollama", "slmModel": "phi3.5", "llm_model": "llama3", "ollamaHost": ":99"}, "mcpService": "think",
		"reasoning": {"apiTimeoutMs": 7, "apiRetries": 1}}`, nil, nil)
	require.NoError(t, err)
	require.Equal(t, 7, loaded.Agent.MaxSteps)
	require.Equal(t, 3, loaded.Agent.RetryLimit)
	require.Equal(t, 4000, loaded.Reasoning.SLMBudget)
	require.Equal(t, 9000, loaded.Reasoning.LLMBudget)
	require.Equal(t, "phi3.5", loaded.Reasoning.SLM)
	require.Equal(t, "llama3", loaded.Reasoning.LLM)
	require.Equal(t, "http://127.0.0.1:99", loaded.Reasoning.Service("ollama").URL)
	require.Equal(t, []string{"think"}, loaded.Services)
	require.Equal(t, 1, loaded.Reasoning.Retries)

	messages := map[string]string{}
	for text, at := range map[string]string{
		`{"agent": {"maxSteps": 7, "max_steps": 8}}`:              "1:27",
		`{"agent": {"prompt": {"budget": 1}}}`:                    "1:23",
		`{"llm": {"ollamaHost": "a", "ollama_host": "http://b"}}`: "1:29",
		`{"llm": {"prices": {"m": {"input": 1}}}}`:                "1:20",
		`{"llm": {"prices": {"m": {"input": -1, "output": 1}}}}`:  "1:20",
		`{"llm": {"prices": {"m": {"input": "1", "output": 1}}}}`: "1:20",
		`{"llm": {"prices": []}}`:                                 "1:20",
		`{"Agent": {}}`:                                           "1:2",
	} {
		_, err := load(t, text, nil, nil)
		messages[text] = refusedAt(t, err, at)
	}
	golden.Messages(t, *update, "testdata/both_spellings.golden", messages)
}

func TestPrices(t *testing.T) {
	loaded, err := load(t, `{"llm": {"prices": {"anthropic:big": {"input": 3, "output": 15}, "phi3.5": {"input": 0, "output": 0.5}}}}`, nil, nil)
	require.NoError(t, err)
	cost, known := loaded.Reasoning.Prices.Cost("anthropic:big", 1_000_000, 200_000)
	require.True(t, known)
	require.InDelta(t, 6, cost, 1e-9)
	cost, known = loaded.Reasoning.Prices.Cost("ollama:phi3.5", 9, 1_000_000)
	require.True(t, known)
	require.InDelta(t, 0.5, cost, 1e-9)
	tagged, known := loaded.Reasoning.Prices.Cost("ollama:phi3.5:latest", 9, 1_000_000)
	require.True(t, known)
	require.InDelta(t, cost, tagged, 0)
	_, known = loaded.Reasoning.Prices.Cost("openai:other", 1, 1)
	require.False(t, known)
}
