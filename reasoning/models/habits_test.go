package models_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/fault"
	"savant/reasoning"
	"savant/reasoning/models"
)

const openAIAnswer = `{"choices":[{"message":{"content":"{\"a\":1}"},"finish_reason":"stop"}]}`

// refusing is a service that refuses what a request must not hold, and keeps the
// requests.
func refusing(t *testing.T, name string, status int, refusals map[string]string, asked *[]string, answer string) models.Model {
	t.Helper()
	return open(t, name, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		require.NoError(t, err)
		*asked = append(*asked, string(body))
		w.Header().Set("Connection", "close")
		for holds, refusal := range refusals {
			if strings.Contains(string(body), holds) {
				w.WriteHeader(status)
				io.WriteString(w, refusal)
				return
			}
		}
		io.WriteString(w, answer)
	})
}

// What another form cures is cured once, and remembered.
func TestRefusalsThatAnotherFormCures(t *testing.T) {
	for name, c := range map[string]struct {
		model, holds, refusal string
		status                int
	}{
		"system role":           {"openai:m", `"role":"system"`, `{"error":{"message":"System role not supported"}}`, 400},
		"developer instruction": {"openai:m", `"role":"system"`, `{"error":{"message":"Developer instruction is not enabled for models/gemma-3"}}`, 400},
		"alternating roles":     {"openai:m", `"role":"system"`, `Exception: Conversation roles must alternate user/assistant`, 500},
		"two roles":             {"openai:m", `"role":"system"`, `{"error":{"message":"Only user and assistant roles are supported!"}}`, 500},
		"unknown variant":       {"openai:m", `"role":"system"`, "{\"error\":{\"message\":\"messages[0].role: unknown variant `system`\"}}", 422},
		"a list of two roles":   {"openai:m", `"role":"system"`, `{"error":{"message":"Value error, role must be 'user' or 'assistant'"}}`, 400},
		"no endpoint, 404":      {"openai:m", `response_format`, `{"error":{"message":"No endpoints found that support the requested parameters: response_format"}}`, 404},
		"structured outputs":    {"openai:m", `response_format`, `{"error":{"message":"This model does not support structured outputs."}}`, 400},
		"guided decoding":       {"openai:m", `response_format`, `{"object":"error","message":"guided_json is not available","code":400}`, 400},
		"system, Ollama":        {"ollama:m", `"role":"system"`, `{"error":"the template has no system message"}`, 400},
		"stream_options":        {"openai:m", `stream_options`, `{"error":{"message":"Extra inputs are not permitted: stream_options"}}`, 400},
		"stream_options, 422":   {"openai:m", `stream_options`, `{"detail":[{"type":"extra_forbidden","loc":["body","stream_options"]}]}`, 422},
		"response_format":       {"openai:m", `response_format`, `{"error":{"message":"'response_format.type' must be 'json_schema' or 'text'"}}`, 400},
		"json_validate_failed":  {"openai:m", `response_format`, `{"error":{"message":"Failed to generate JSON","code":"json_validate_failed"}}`, 400},
		"in a 200":              {"openai:m", `response_format`, `{"error":{"message":"grammar is not supported","code":400}}`, 200},
		"temperature":           {"openai:m", `temperature`, `{"error":{"message":"Unsupported value: 'temperature' does not support 0.1 with this model."}}`, 400},
		"max_tokens":            {"openai:m", `"max_tokens"`, `{"error":{"message":"Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."}}`, 400},
		"think":                 {"ollama:m", `"think"`, `{"error":"\"m\" does not support thinking"}`, 400},
		"a format of Ollama":    {"ollama:m", `"format":{`, `{"error":"invalid format: expected \"json\" or a JSON schema"}`, 500},
		"a tool":                {"anthropic:m", `"tools"`, `{"error":{"message":"tools: not supported"}}`, 400},
	} {
		t.Run(name, func(t *testing.T) {
			answers := map[string]string{"openai:m": openAIAnswer, "ollama:m": `{"message":{"content":"{\"a\":1}"},"done":true}`,
				"anthropic:m": `{"content":[{"type":"text","text":"{\"a\":1}"}]}`}
			var asked []string
			model := refusing(t, c.model, c.status, map[string]string{c.holds: c.refusal}, &asked, answers[c.model])
			question := prompt
			question.Again, question.Longer, question.Stream = true, true, func(string) {}
			for range 2 {
				reply, err := model.Generate(t.Context(), question)
				require.NoError(t, err)
				require.Equal(t, `{"a":1}`, reply.Text)
			}
			require.Len(t, asked, 3, "one refusal, and it is remembered")
			require.Contains(t, asked[2], "be brief", "the system's text is not lost")
		})
	}
}

func TestSeveralRefusalsAreCured(t *testing.T) {
	var asked []string
	model := refusing(t, "openai:m", 400, map[string]string{"temperature": `temperature is not allowed`, "response_format": `response_format is not allowed`,
		`"role":"system"`: `the system role is not allowed`}, &asked, openAIAnswer)
	_, err := model.Generate(t.Context(), prompt)
	require.NoError(t, err)
	require.Len(t, asked, 4)
	var sent map[string]any
	require.NoError(t, json.Unmarshal([]byte(asked[3]), &sent))
	require.Len(t, sent, 2)
}

// A fault that passes teaches nothing, whatever its sentence holds.
func TestAFaultIsNoRefusal(t *testing.T) {
	var asked []string
	model := refusing(t, "openai:m", 500, map[string]string{"model": `{"error":{"message":"internal error; for more information write to the operators"}}`}, &asked, "")
	for range 2 {
		_, err := model.Generate(t.Context(), prompt)
		require.ErrorAs(t, err, new(*reasoning.Temporary))
	}
	require.Len(t, asked, 2)
	require.Equal(t, asked[0], asked[1])
}

// A refusal of something else is final.
func TestARefusalThatNoFormCures(t *testing.T) {
	for _, status := range []int{400, 401, 403} {
		var asked []string
		_, err := refusing(t, "openai:m", status, map[string]string{"model": `{"error":{"message":"the account is closed"}}`}, &asked, "").Generate(t.Context(), prompt)
		require.ErrorContains(t, err, "the account is closed")
		require.Len(t, asked, 1)
	}
}

func TestAddressesThatPeoplePaste(t *testing.T) {
	for _, c := range []struct{ model, base, path string }{
		{"openai:m", "/v1", "/v1/chat/completions"},
		{"openai:m", "/v1/", "/v1/chat/completions"},
		{"openai:m", "/v1/v1", "/v1/chat/completions"},
		{"openai:m", "/v1/chat/completions", "/v1/chat/completions"},
		{"openai:m", "/api/v1/models", "/api/v1/chat/completions"},
		{"openai:m", "/v1beta/openai/", "/v1beta/openai/chat/completions"},
		{"openai:m", "/openai/deployments/d?api-version=2024-10-21", "/openai/deployments/d/chat/completions?api-version=2024-10-21"},
		{"openai:m", "/openai/deployments/d/chat/completions?api-version=2024-10-21", "/openai/deployments/d/chat/completions?api-version=2024-10-21"},
		{"anthropic:m", "/v1", "/v1/messages"},
		{"anthropic:m", "/v1/messages", "/v1/messages"},
		{"anthropic:m", "/proxy/anthropic/", "/proxy/anthropic/v1/messages"},
		{"ollama:m", "/v1", "/api/chat"},
		{"ollama:m", "/v1/chat/completions", "/api/chat"},
		{"ollama:m", "/api/generate", "/api/chat"},
		{"openai/m", "/v1", "/v1/chat/completions"},
		{"openai:m", "/v1/embeddings", "/v1/chat/completions"},
		{"openai:m", "/v1/chat", "/v1/chat/completions"},
		{"openai:m", "/v1/models/m", "/v1/chat/completions"},
		{"openai:m", "/v1#chat", "/v1/chat/completions"},
		{"openai:m", "/V1", "/V1/chat/completions"},
		{"ollama:m", "/api", "/api/chat"},
		{"ollama:m", "/api/", "/api/chat"},
		{"openai:m", "/api", "/api/chat/completions"},
		{"anthropic:m", "/api", "/api/v1/messages"},
		{"anthropic:m", "/v1/messages/count_tokens", "/v1/messages"},
		{"openai:m", "/v1/chat/completions?", "/v1/chat/completions"},
		{"openai:m", "/v1\"", "/v1/chat/completions"},
	} {
		asked := pasted(t, c.model, c.base, "", func(http.ResponseWriter, *http.Request) bool { return true })
		require.Equal(t, []string{c.path}, asked.paths, c.base)
	}
	for _, given := range []string{"localhost:1/v1", "127.0.0.1:1", "[::1]:1/v1", `"http://localhost:1/v1"`} {
		_, err := models.Open("openai:m", models.Options{Services: map[string]models.Service{"openai": {URL: given}}})
		require.NoError(t, err, given)
	}
	require.Equal(t, "openai/m", pasted(t, "openai/m", "/v1", "openai", func(http.ResponseWriter, *http.Request) bool { return true }).model)
	require.Equal(t, "m", pasted(t, "openai/m", "/v1", "", func(http.ResponseWriter, *http.Request) bool { return true }).model)
}

// asked is what a service was asked.
type asked struct {
	paths []string
	model string
	err   error
}

// pasted asks a model twice at an address with a path. The service answers where serve
// says so.
func pasted(t *testing.T, name, base, provider string, serve func(http.ResponseWriter, *http.Request) bool) (made asked) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct{ Model string }
		require.NoError(t, json.NewDecoder(r.Body).Decode(&body))
		if !slices.Contains(made.paths, r.URL.RequestURI()) {
			made.paths = append(made.paths, r.URL.RequestURI())
		}
		made.model = body.Model
		w.Header().Set("Connection", "close")
		if serve(w, r) {
			io.WriteString(w, openAIAnswer)
		}
	}))
	defer server.Close()
	url := server.URL + base
	model, err := models.Open(name, models.Options{Provider: provider, Services: map[string]models.Service{"ollama": {URL: url}, "anthropic": {URL: url, Key: key}, "openai": {URL: url}}})
	require.NoError(t, err)
	for range 2 {
		_, made.err = model.Generate(t.Context(), prompt)
	}
	return made
}

func TestAnAddressWithoutItsVersion(t *testing.T) {
	for name, refuse := range map[string]func(http.ResponseWriter){
		"LM Studio": func(w http.ResponseWriter) {
			io.WriteString(w, `{"error":"Unexpected endpoint or method. (POST /chat/completions)"}`)
		},
		"404":         func(w http.ResponseWriter) { http.Error(w, "404 page not found", http.StatusNotFound) },
		"a page":      func(w http.ResponseWriter) { io.WriteString(w, "<html>Welcome</html>") },
		"not allowed": func(w http.ResponseWriter) { http.Error(w, "Method Not Allowed", http.StatusMethodNotAllowed) },
	} {
		served := pasted(t, "openai:m", "", "", func(w http.ResponseWriter, r *http.Request) bool {
			if strings.HasPrefix(r.URL.Path, "/v1/") {
				return true
			}
			refuse(w)
			return false
		})
		require.NoError(t, served.err, name)
		require.Equal(t, []string{"/chat/completions", "/v1/chat/completions"}, served.paths, name)
		lost := pasted(t, "openai:m", "/some", "", func(w http.ResponseWriter, _ *http.Request) bool {
			refuse(w)
			return false
		})
		require.ErrorIs(t, lost.err, fault.ReasoningUnavailable, name)
		require.ErrorContains(t, lost.err, "/some/chat/completions", name)
		require.ErrorContains(t, lost.err, "OPENAI_BASE_URL", name)
	}
	missing := pasted(t, "openai:m", "", "", func(w http.ResponseWriter, _ *http.Request) bool {
		http.Error(w, `{"error":{"message":"The model m does not exist"}}`, http.StatusNotFound)
		return false
	})
	require.Equal(t, []string{"/chat/completions"}, missing.paths)
	require.ErrorContains(t, missing.err, "does not exist")
}

func TestAWindowThatIsTooSmall(t *testing.T) {
	for body, window := range map[string]int{
		`[{"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}]`:                                   1_048_576,
		`{"error":{"message":"This model's maximum prompt length is 131072 but the request contains 140000 tokens."}}`:                                                                               131_072,
		`{"message":"too many tokens: total number of tokens in the prompt cannot exceed 4081"}`:                                                                                                     4081,
		`{"error":"Input validation error: inputs must have less than 4096 tokens. Given: 5000"}`:                                                                                                    4096,
		`{"error":{"message":"Your request exceeded model token limit: 8192"}}`:                                                                                                                      8192,
		`{"error":{"message":"Please reduce the length of the messages or completion."}}`:                                                                                                            0,
		`{"error":{"message":"Prompt contains 40000 tokens, too large for model with 32768 maximum context length"}}`:                                                                                32_768,
		`{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error","n_prompt_tokens":9000,"n_ctx":4096}}`:                                   4096,
		`{"error":{"message":"Request too large for model in organization o on tokens per minute (TPM): Limit 6000, Requested 9000, please reduce your message size","code":"rate_limit_exceeded"}}`: 6000,
		`{"error":{"message":"This model's maximum context length is 8192 tokens. However, you requested 9000 tokens","code":"context_length_exceeded"}}`:                                            8192,
		"{\"error\":\"Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 9000 `inputs` tokens\"}":                                                                    4096,
		`{"error":"The number of tokens to keep from the initial prompt is greater than the context length. Try to load the model with a larger context length"}`:                                    0,
		`{"error":"prompt too long; exceeded max context length by 123 tokens"}`:                                                                                                                     0,
		`{"error":{"message":"prompt token count of 70000 exceeds the limit of 64000","code":"model_max_prompt_tokens_exceeded"}}`:                                                                   64_000,
		`{"message":"Input tokens (9000) exceed the maximum number of input tokens (8192)."}`:                                                                                                        8192,
		`{"error":{"message":"Prompt of 9000 tokens exceeds the model's limit of 8192 tokens"}}`:                                                                                                     8192,
		`{"message":"The number of input tokens 9000 cannot exceed the total tokens limit 8192 for this model"}`:                                                                                     8192,
		`{"error":{"message":"The provided prompt is 5000 tokens long, so 4096 tokens require a sequence length of 9096, but the maximum supported sequence length is just 8192!"}}`:                 0,
		`{"error":{"message":"You passed 9000 input tokens and requested 0 output tokens. However, the model's context length is only 8192 tokens."}}`:                                               8192,
		`{"message":"The model returned the following errors: input length and max_tokens exceed context limit: 19900 + 8000 > 20000"}`:                                                              20_000,
		`{"error":{"message":"Range of input length should be [1, 4096]"}}`:                                                                                                                          4096,
		`{"error":"input length (9000 tokens) exceeds the context length (2048 tokens)"}`:                                                                                                            2048,
		`{"error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}`:                                                                                  200_000,
		`{"error":{"message":"Trying to keep the first 9000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens"}}`:                              4096,
	} {
		for _, status := range []int{200, 400, 500} {
			var asked []string
			_, err := refusing(t, "openai:m", status, map[string]string{"model": body}, &asked, "").Generate(t.Context(), prompt)
			var long *models.TooLong
			require.ErrorAs(t, err, &long, body)
			require.Equal(t, window, long.Window, body)
			require.Len(t, asked, 1)
		}
	}
}

func TestModelsOfOllamaThink(t *testing.T) {
	for _, c := range []struct {
		setting string
		again   bool
		want    string
	}{{"auto", false, ""}, {"auto", true, `"think":false`}, {"on", true, `"think":true`}, {"off", false, `"think":false`}, {"", false, ""}} {
		var body string
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			raw, err := io.ReadAll(r.Body)
			require.NoError(t, err)
			body = string(raw)
			w.Header().Set("Connection", "close")
			io.WriteString(w, `{"message":{"content":"","thinking":"so"},"done":true,"done_reason":"stop"}`)
		}))
		model, err := models.Open("ollama:m", models.Options{Services: map[string]models.Service{"ollama": {URL: server.URL}}, Think: c.setting})
		require.NoError(t, err)
		reply, err := model.Generate(t.Context(), models.Prompt{User: "x", Again: c.again})
		require.NoError(t, err)
		require.Equal(t, models.Reply{Thinking: "so"}, reply)
		if c.want == "" {
			require.NotContains(t, body, "think")
		} else {
			require.Contains(t, body, c.want)
		}
		server.Close()
	}
}
