package models_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/reasoning/models"
)

// What stands beside an answer never spoils it.
func TestBookKeepingNeverSpoilsAnAnswer(t *testing.T) {
	const call = `{"action":"tool","calls":[{"tool_name":"git.log","args":{"limit":1}}]}`
	openAI := func(rest string) string {
		return `{"choices":[{"message":{"content":"hi"},"finish_reason":"stop"}],` + rest + `}`
	}
	for name, c := range map[string]struct {
		model, body string
		want        models.Reply
	}{
		"usage as floats":      {"openai:m", openAI(`"usage":{"prompt_tokens":10.0,"completion_tokens":5.5}`), models.Reply{Text: "hi", PromptTokens: 10, OutputTokens: 5}},
		"usage as text":        {"openai:m", openAI(`"usage":{"prompt_tokens":"10","completion_tokens":"5"}`), models.Reply{Text: "hi", PromptTokens: 10, OutputTokens: 5}},
		"usage that is none":   {"openai:m", openAI(`"usage":"n/a"`), models.Reply{Text: "hi"}},
		"usage without number": {"openai:m", openAI(`"usage":{"prompt_tokens":"many","completion_tokens":null}`), models.Reply{Text: "hi"}},
		"a numbered reason":    {"openai:m", `{"choices":[{"message":{"content":"hi","refusal":false},"finish_reason":0}]}`, models.Reply{Text: "hi"}},
		"arguments as text":    {"openai:m", `{"choices":[{"message":{"tool_calls":[{"index":"0","function":{"name":"git.log","arguments":"{\"limit\":1}"}}]}}]}`, models.Reply{Text: call}},
		"arguments as object":  {"openai:m", `{"choices":[{"message":{"tool_calls":[{"function":{"name":"git.log","arguments":{"limit":1}}}]}}]}`, models.Reply{Text: call}},
		"calls without index":  {"openai:m", `{"choices":[{"message":{"tool_calls":[{"index":null,"function":{"name":"git.log"}},{"index":null,"function":{"name":"git.show"}}]}}]}`, models.Reply{Text: `{"action":"tool","calls":[{"tool_name":"git.log"},{"tool_name":"git.show"}]}`}},
		"the older calls":      {"openai:m", `{"choices":[{"message":{"content":null,"function_call":{"name":"git.log","arguments":"{\"limit\":1}"}}}]}`, models.Reply{Text: call}},
		"numbers skipped":      {"openai:m", `{"choices":[{"message":{"tool_calls":[{"index":2,"function":{"name":"git.log","arguments":{"limit":1}}}]}}]}`, models.Reply{Text: call}},
		"a call beside a text": {"openai:m", `{"choices":[{"message":{"content":"hi","tool_calls":[{"function":{"name":"git.log","arguments":{"limit":1}}}]}}]}`, models.Reply{Text: "hi", Calls: call}},
		"a reason as object":   {"openai:m", `{"choices":[{"message":{"content":[{"type":"text","text":"h"},{"type":"thinking","thinking":[]},"x",{"text":"i"}]},"finish_reason":{"type":"stop"}}],"usage":[]}`, models.Reply{Text: "hxi"}},
		"an object as content": {"openai:m", `{"choices":[{"message":{"content":{"a":1}}}]}`, models.Reply{Text: `{"a":1}`}},
		"the older interface":  {"openai:m", `{"choices":[{"text":"hi","finish_reason":"stop"}]}`, models.Reply{Text: "hi"}},
		"anthropic, a text":    {"anthropic:m", `{"content":"hi","stop_reason":"end_turn"}`, models.Reply{Text: "hi"}},
		"ollama, odd":          {"ollama:m", `{"message":{"content":"hi","thinking":{},"tool_calls":null},"done":true,"done_reason":{},"eval_count":[1]}`, models.Reply{Text: "hi"}},
		"ollama, text":         {"ollama:m", `{"message":{"tool_calls":[{"function":{"name":"git.log","arguments":"{\"limit\":1}"}}]},"done":true,"done_reason":0,"eval_count":"7"}`, models.Reply{Text: call, OutputTokens: 7}},
		"ollama, object":       {"ollama:m", `{"message":{"tool_calls":[{"function":{"name":"git.log","arguments":{"limit":1}}}]},"done":true,"prompt_eval_count":7.0}`, models.Reply{Text: call, PromptTokens: 7}},
		"anthropic, text":      {"anthropic:m", `{"content":[{"type":"tool_use","name":"answer","input":"{\"a\":1}"}],"stop_reason":3,"usage":{"input_tokens":"4","output_tokens":2.0}}`, models.Reply{Text: `{"a":1}`, PromptTokens: 4, OutputTokens: 2}},
		"anthropic, no usage":  {"anthropic:m", `{"content":[{"type":"tool_use","name":"answer","input":{"a":1}}],"usage":[]}`, models.Reply{Text: `{"a":1}`}},
		"halves, openai":       {"openai:m", events(`{"choices":[{"delta":{"content":"a \ud83c"}}]}`, `{"choices":[{"delta":{"content":"\udf89 b"}}]}`, `{"choices":[{"delta":{"content":"\ud83c"},"finish_reason":"stop"}]}`), models.Reply{Text: "a 🎉 b"}},
		"CR ends lines":        {"openai:m", strings.ReplaceAll(events(`{"choices":[{"delta":{"content":"h"}}]}`, `{"choices":[{"delta":{"content":"i"}}]}`), "\n", "\r"), models.Reply{Text: "hi"}},
		"no blank lines":       {"openai:m", strings.ReplaceAll(events(`{"choices":[{"delta":{"content":"h"}}]}`, `{"choices":[{"delta":{"content":"i"}}]}`), "\n\n", "\n"), models.Reply{Text: "hi"}},
		"a byte order mark":    {"openai:m", "\ufeff" + events(`{"choices":[{"delta":{"content":"h"}}]}`, `{"choices":[{"delta":{"content":"i"}}]}`), models.Reply{Text: "hi"}},
		"an event of text":     {"openai:m", "data: \n\n" + events(`{"choices":[{"delta":{"content":"h"}}]}`, "ping", `{"choices":[{"delta":{"content":"i"}}]}`, " [DONE] "), models.Reply{Text: "hi"}},
		"halves apart":         {"openai:m", events(`{"choices":[{"delta":{"content":"\ud83c"}}]}`, `{"choices":[{"delta":{"content":""}}]}`, `{"choices":[{"delta":{"content":"\uDF89"},"finish_reason":"stop"}]}`), models.Reply{Text: "🎉"}},
		"no halves":            {"openai:m", events(`{"choices":[{"delta":{"content":"\\ud83c"}}]}`, `{"choices":[{"delta":{"content":"\udf89"},"finish_reason":"stop"}]}`), models.Reply{Text: `\ud83c` + "\uFFFD"}},
		"halves, ollama":       {"ollama:m", `{"message":{"content":"\ud83c"}}` + "\n" + `{"message":{"content":"\udf89"},"done":true}`, models.Reply{Text: "🎉"}},
		"halves, anthropic": {"anthropic:m", events(`{"type":"content_block_start","content_block":{"type":"text","text":""}}`, `{"type":"content_block_delta","delta":{"text":"\ud83c"}}`,
			`{"type":"content_block_delta","delta":{"text":"\udf89"}}`, `{"type":"message_stop"}`), models.Reply{Text: "🎉"}},
	} {
		t.Run(name, func(t *testing.T) {
			model := open(t, c.model, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Connection", "close")
				io.WriteString(w, c.body)
			})
			asked := prompt
			if strings.Contains(c.body, "data:") || strings.Contains(c.body, "\n") {
				asked.Stream = func(string) {}
			}
			reply, err := model.Generate(t.Context(), asked)
			require.NoError(t, err)
			require.Equal(t, c.want, reply)
		})
	}
}

// events is a stream of server-sent events.
func events(data ...string) string {
	return "data: " + strings.Join(data, "\n\ndata: ") + "\n\ndata: [DONE]\n\n"
}

// Thoughts are kept apart from the answer in each form in which services send them.
func TestThoughtsOfServices(t *testing.T) {
	for name, each := range map[string]struct{ provider, body string }{
		"Anthropic": {"anthropic", `{"type":"message","content":[{"type":"thinking","thinking":"so","signature":"x"}],"stop_reason":"end_turn"}`},
		"Anthropic, streamed": {"anthropic", "data: {\"type\":\"message_start\"}\n\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"thinking\",\"thinking\":\"\"}}\n\n" +
			"data: {\"type\":\"content_block_delta\",\"delta\":{\"type\":\"thinking_delta\",\"thinking\":\"s\"}}\n\ndata: {\"type\":\"content_block_delta\",\"delta\":{\"type\":\"thinking_delta\",\"thinking\":\"o\"}}\n\ndata: {\"type\":\"message_stop\"}\n\n"},
		"OpenRouter": {"openai", `{"choices":[{"message":{"content":"","reasoning":null,"reasoning_details":[{"type":"reasoning.text","text":"so"}]},"finish_reason":"stop"}]}`},
		"Mistral":    {"openai", `{"choices":[{"message":{"content":[{"type":"thinking","thinking":[{"type":"text","text":"so"}]}]},"finish_reason":"stop"}]}`},
		"vLLM":       {"openai", `{"choices":[{"message":{"content":null,"reasoning":"so"},"finish_reason":"stop"}]}`},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Connection", "close")
				io.WriteString(w, each.body)
			}))
			defer server.Close()
			model, err := models.Open(each.provider+":m", models.Options{Services: map[string]models.Service{each.provider: {URL: server.URL + "/v1", Key: "k"}}})
			require.NoError(t, err)
			prompt := models.Prompt{User: "x"}
			if strings.HasPrefix(each.body, "data:") {
				prompt.Stream = func(string) { t.Error("thoughts are no answer") }
			}
			reply, err := model.Generate(t.Context(), prompt)
			require.NoError(t, err)
			require.Equal(t, models.Reply{Thinking: "so"}, reply)
		})
	}
}
