package models_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"savant/fault"
	"savant/reasoning"
	"savant/reasoning/models"
)

const key = "key-0123456789abcdef"

var prompt = models.Prompt{System: "be brief", User: "what next?", Schema: json.RawMessage(`{"type":"object"}`)}

// provider is a service as its public documentation shows it.
type provider struct {
	model, path string
	// header and request are what must be sent, answer what comes back.
	header  map[string]string
	request string
	answer  string
	want    models.Reply
}

var providers = map[string]provider{
	"ollama": {model: "ollama:qwen3:4b", path: "/api/chat",
		request: `{"model":"qwen3:4b","messages":[{"role":"system","content":"be brief"},{"role":"user","content":"what next?"}],"stream":false,"truncate":false,
			"format":{"type":"object"},"options":{"temperature":0,"num_predict":4096,"num_ctx":16384}}`,
		answer: `{"model":"qwen3:4b","created_at":"2026-01-01T00:00:00Z","message":{"role":"assistant","content":"{\"a\":1}"},
			"done_reason":"stop","done":true,"total_duration":1,"prompt_eval_count":26,"eval_count":7}`,
		want: models.Reply{Text: `{"a":1}`, PromptTokens: 26, OutputTokens: 7}},
	"anthropic": {model: "anthropic:some-model", path: "/v1/messages",
		header: map[string]string{"X-Api-Key": key, "Anthropic-Version": "2023-06-01"},
		request: `{"model":"some-model","max_tokens":4096,"system":"be brief","messages":[{"role":"user","content":"what next?"}],
			"tools":[{"name":"answer","description":"Give the answer.","input_schema":{"type":"object"}}],"tool_choice":{"type":"tool","name":"answer"}}`,
		answer: `{"id":"msg_1","type":"message","role":"assistant","model":"some-model","content":[{"type":"text","text":"Well."},
			{"type":"tool_use","id":"toolu_1","name":"answer","input":{"a":1}}],"stop_reason":"tool_use","usage":{"input_tokens":26,"output_tokens":7}}`,
		want: models.Reply{Text: `{"a":1}`, PromptTokens: 26, OutputTokens: 7}},
	"openai": {model: "openai:some-model", path: "/v1/chat/completions",
		header: map[string]string{"Authorization": "Bearer " + key},
		request: `{"model":"some-model","messages":[{"role":"system","content":"be brief"},{"role":"user","content":"what next?"}],
			"response_format":{"type":"json_object"},"temperature":0.1}`,
		answer: `{"id":"chatcmpl-1","object":"chat.completion","created":1,"model":"some-model","choices":[{"index":0,"finish_reason":"stop",
			"message":{"role":"assistant","content":"{\"a\":1}","refusal":null}}],"usage":{"prompt_tokens":26,"completion_tokens":7,"total_tokens":33}}`,
		want: models.Reply{Text: `{"a":1}`, PromptTokens: 26, OutputTokens: 7}},
}

// open returns a model whose provider is a handler.
func open(t *testing.T, name string, handler http.HandlerFunc) models.Model {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	model, err := models.Open(name, models.Options{Services: map[string]models.Service{"ollama": {URL: server.URL + "/"}, "anthropic": {URL: server.URL, Key: key}, "openai": {URL: server.URL + "/v1", Key: key}}})
	require.NoError(t, err)
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	return model
}

func TestProvidersAreSpokenToAsDocumented(t *testing.T) {
	for name, p := range providers {
		t.Run(name, func(t *testing.T) {
			model := open(t, p.model, func(w http.ResponseWriter, r *http.Request) {
				require.Equal(t, p.path, r.URL.Path)
				for header, value := range p.header {
					require.Equal(t, value, r.Header.Get(header))
				}
				body, err := io.ReadAll(r.Body)
				require.NoError(t, err)
				require.JSONEq(t, p.request, string(body))
				w.Header().Set("Connection", "close")
				io.WriteString(w, p.answer)
			})
			require.Equal(t, p.model, model.Name())
			reply, err := model.Generate(t.Context(), prompt)
			require.NoError(t, err)
			require.Equal(t, p.want, reply)
		})
	}
}

func TestProvidersFail(t *testing.T) {
	for name, p := range providers {
		for what, c := range map[string]struct {
			status    int
			body      string
			temporary bool
		}{
			"a wrong key":  {401, `{"error":{"message":"Incorrect API key provided: KEY"}}`, false},
			"no model":     {404, `{"error":"model not found, try pulling it first"}`, false},
			"a rate limit": {429, `{"error":{"type":"rate_limit_error"}}`, true},
			"overloaded":   {529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, true},
			"down":         {503, "", true},
			"not JSON":     {200, "<html>", false},
			"no answer":    {202, "", false},
			"broken":       {500, "", true},
		} {
			t.Run(name+"/"+what, func(t *testing.T) {
				_, err := open(t, p.model, func(w http.ResponseWriter, r *http.Request) {
					w.Header().Set("Connection", "close")
					w.Header().Set("Retry-After", "2")
					w.WriteHeader(c.status)
					io.WriteString(w, strings.ReplaceAll(c.body, "KEY", r.Header.Get("X-Api-Key")+r.Header.Get("Authorization")))
				}).Generate(t.Context(), prompt)
				require.ErrorIs(t, err, fault.ReasoningUnavailable)
				require.NotContains(t, err.Error(), key)
				var temporary *reasoning.Temporary
				if c.temporary {
					require.ErrorAs(t, err, &temporary)
					require.Equal(t, 2*time.Second, temporary.After)
					return
				}
				require.NotErrorAs(t, err, &temporary)
			})
		}
	}
}

func TestAModelIsInterrupted(t *testing.T) {
	for name, p := range providers {
		t.Run(name, func(t *testing.T) {
			asked := make(chan struct{})
			model := open(t, p.model, func(_ http.ResponseWriter, r *http.Request) {
				io.Copy(io.Discard, r.Body)
				close(asked)
				<-r.Context().Done()
			})
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				<-asked
				cancel()
			}()
			_, err := model.Generate(ctx, prompt)
			require.ErrorIs(t, err, context.Canceled)
		})
	}
}

func TestARefusalIsAnError(t *testing.T) {
	_, err := open(t, "openai:m", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Connection", "close")
		io.WriteString(w, `{"choices":[{"message":{"content":null,"refusal":"I will not."}}]}`)
	}).Generate(t.Context(), prompt)
	require.ErrorIs(t, err, fault.ReasoningUnavailable)
	require.ErrorContains(t, err, "openai:m", "the model")
	require.ErrorContains(t, err, "I will not.", "what it said")
}

func TestModelsThatCannotBeOpened(t *testing.T) {
	good := models.Options{Services: map[string]models.Service{"ollama": {URL: "http://localhost:1"}, "anthropic": {URL: "https://a.example"}, "openai": {URL: "https://o.example/v1"}}}
	for name, named := range map[string]string{"": "PROVIDER:NAME", "ollama:": "PROVIDER:NAME", "anthropic:m": "ANTHROPIC_API_KEY"} {
		_, err := models.Open(name, good)
		require.ErrorIs(t, err, fault.InvalidParams)
		require.Contains(t, err.Error(), named)
	}
	_, err := models.Open("m", models.Options{Provider: "acme"})
	require.ErrorIs(t, err, fault.InvalidParams)
	require.ErrorContains(t, err, `"acme"`)
	_, err = models.Open("ollama:m", models.Options{Services: map[string]models.Service{"ollama": {URL: "https://ada:hunter2@host"}}})
	require.ErrorIs(t, err, fault.InvalidParams)
	require.NotContains(t, err.Error(), "hunter2")
}

// An error in an answer with a good status is reported, bounded in length and without
// the key that was sent.
func TestAnErrorInAGoodAnswerIsReported(t *testing.T) {
	for body, want := range map[string]string{
		`{"error":{"message":"the model is\noverloaded","type":"overloaded_error"}}`: "the model is overloaded",
		`{"type":"error","error":{"type":"overloaded_error"}}`:                       `{"type":"overloaded_error"}`,
		`{"error":"model not found, try pulling it"}`:                                "model not found, try pulling it",
		`{"error":{"message":"bad key ` + key + `"},"choices":[]}`:                   "bad key [redacted]",
		`{"error":{"message":"` + strings.Repeat("much ", 1000) + `"}}`:              "much much",
	} {
		for name, each := range providers {
			model := open(t, each.model, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) })
			_, err := model.Generate(t.Context(), prompt)
			require.ErrorIs(t, err, fault.ReasoningUnavailable, name)
			if name != "ollama" || !strings.Contains(body, key) { // which has no key to hide
				require.ErrorContains(t, err, want, name)
			}
			require.Less(t, len(err.Error()), 700)
		}
	}
}

// A name without a provider is one of the provider that is set, and of Ollama where
// none is; a tag behind a colon is no provider.
func TestANameWithoutAProvider(t *testing.T) {
	options := models.Options{Services: map[string]models.Service{"ollama": {URL: "http://localhost:1"}, "openai": {URL: "https://o.example/v1"}}}
	for name, want := range map[string]string{"phi3.5": "ollama:phi3.5", "llama3:latest": "ollama:llama3:latest", "openai:m:1": "openai:m:1"} {
		model, err := models.Open(name, options)
		require.NoError(t, err)
		require.Equal(t, want, model.Name())
	}
	options.Provider = "openai"
	model, err := models.Open("gpt", options)
	require.NoError(t, err)
	require.Equal(t, "openai:gpt", model.Name())
}
