package models_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"savant/fault"
	"savant/reasoning"
	"savant/reasoning/models"
)

// streams are answers in parts, as the documentation of each provider shows them.
var streams = map[string]struct {
	model, body string
	want        models.Reply
	heard       string
}{
	"ollama": {"ollama:llama3.2", `{"model":"llama3.2","created_at":"2023-08-04T08:52:19.385406455-07:00","message":{"role":"assistant","content":"The","images":null},"done":false}
{"model":"llama3.2","created_at":"2023-08-04T08:52:19.385406455-07:00","message":{"role":"assistant","content":" sky"},"done":false}
{"model":"llama3.2","created_at":"2023-08-04T19:22:45.499127Z","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","total_duration":4883583458,"load_duration":1334875,"prompt_eval_count":26,"prompt_eval_duration":342546000,"eval_count":282,"eval_duration":4535599000}
`, models.Reply{Text: "The sky", PromptTokens: 26, OutputTokens: 282}, "The| sky"},
	"ollama, no number": {"ollama:m", `{"message":{"content":"The"},"score":NaN,"done":false}
{"message":{"content":" sky"},"score":NaN,"done":false}
{"message":{"content":"."},"done":true,"eval_count":3}
`, models.Reply{Text: "The sky.", OutputTokens: 3}, "The| sky|."},
	"ollama, a tool": {"ollama:llama3.2", `{"model":"llama3.2","created_at":"2025-07-07T20:22:19.184789Z","message":{"role":"assistant","content":"","tool_calls":[{"function":{"name":"get_weather","arguments":{"city":"Tokyo"}}}]},"done":false}
{"model":"llama3.2","created_at":"2025-07-07T20:22:19.19314Z","message":{"role":"assistant","content":""},"done_reason":"stop","done":true,"total_duration":182242375,"prompt_eval_count":169,"eval_count":15}
`, models.Reply{Text: `{"action":"tool","calls":[{"tool_name":"get_weather","args":{"city":"Tokyo"}}]}`, PromptTokens: 169, OutputTokens: 15}, ""},
	"anthropic": {"anthropic:some-model", `event: message_start
data: {"type": "message_start", "message": {"id": "msg_1nZdL29xx5MUA1yADyHTEsnR8uuvGzszyY", "type": "message", "role": "assistant", "content": [], "model": "some-model", "stop_reason": null, "stop_sequence": null, "usage": {"input_tokens": 25, "output_tokens": 1}}}

event: content_block_start
data: {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}

event: ping
data: {"type": "ping"}

event: content_block_delta
data: {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hello"}}

event: content_block_delta
data: {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "!"}}

event: content_block_stop
data: {"type": "content_block_stop", "index": 0}

event: message_delta
data: {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence":null}, "usage": {"output_tokens": 15}}

event: message_stop
data: {"type": "message_stop"}

`, models.Reply{Text: "Hello!", PromptTokens: 25, OutputTokens: 15}, "Hello|!"},
	"anthropic, the tool to answer with": {"anthropic:some-model", `event: message_start
data: {"type":"message_start","message":{"id":"msg_014p7gG3wDgGV9EUtLvnow3U","type":"message","role":"assistant","model":"some-model","stop_sequence":null,"usage":{"input_tokens":472,"output_tokens":2},"content":[],"stop_reason":null}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Okay"}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: content_block_start
data: {"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"toolu_01T1x1fJ34qAmk2tNTrN7Up6","name":"answer","input":{}}}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"location\":"}}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":" \"San Francisco\"}"}}

event: content_block_stop
data: {"type":"content_block_stop","index":1}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":89}}

event: message_stop
data: {"type":"message_stop"}

`, models.Reply{Text: `{"location": "San Francisco"}`, PromptTokens: 472, OutputTokens: 89}, `Okay|{"location":| "San Francisco"}`},
	"openai": {"openai:some-model", `data: {"id":"chatcmpl-123","object":"chat.completion.chunk","created":1694268190,"model":"some-model","system_fingerprint":"fp_44709d6fcb","choices":[{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}],"usage":null}

data: {"id":"chatcmpl-123","object":"chat.completion.chunk","created":1694268190,"model":"some-model","system_fingerprint":"fp_44709d6fcb","choices":[{"index":0,"delta":{"content":"Hello"},"logprobs":null,"finish_reason":null}],"usage":null}

data: {"id":"chatcmpl-123","object":"chat.completion.chunk","created":1694268190,"model":"some-model","system_fingerprint":"fp_44709d6fcb","choices":[{"index":0,"delta":{},"logprobs":null,"finish_reason":"stop"}],"usage":null}

data: {"id":"chatcmpl-123","object":"chat.completion.chunk","created":1694268190,"model":"some-model","choices":[],"usage":{"prompt_tokens":19,"completion_tokens":10,"total_tokens":29}}

data: [DONE]

`, models.Reply{Text: "Hello", PromptTokens: 19, OutputTokens: 10}, "Hello"},
	"openai, a tool": {"openai:some-model", `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"role":"assistant","content":null,"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"get_weather","arguments":""}}]},"finish_reason":null}]}

data: {"id":"chatcmpl-1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"location\":"}}]},"finish_reason":null}]}

data: {"id":"chatcmpl-1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\"Paris\"}"}}]},"finish_reason":null}]}

data: {"id":"chatcmpl-1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}

data: [DONE]

`, models.Reply{Text: `{"action":"tool","calls":[{"tool_name":"get_weather","args":{"location":"Paris"}}]}`}, ""},
	"openai, calls with one number": {"openai:some-model", `data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"1","function":{"name":"a","arguments":""}}]}}]}

data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"1","function":{"name":"a","arguments":"{}"}}]}}]}

data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"2","name":"b","args":{"x":1}}]},"logprobs":NaN,"finish_reason":"tool_calls"}]}

data: [DONE]

`, models.Reply{Text: `{"action":"tool","calls":[{"tool_name":"a","args":{}},{"tool_name":"b","args":{"x":1}}]}`}, ""},
	"openai, parts": {"openai:some-model", `{"choices":[{"message":{"content":[{"type":"reasoning","text":"a draft"},{"type":"text","text":"Hello"}]},"score":-Infinity,"finish_reason":"stop"}]}`,
		models.Reply{Text: "Hello", Thinking: "a draft"}, "Hello"},
	"anthropic, two answers": {"anthropic:some-model", `{"type":"message","content":[{"type":"tool_use","name":"answer","input":{"a":1}},{"type":"tool_use","name":"answer","input":{"a":2}}]}`,
		models.Reply{Text: "{\"a\":1}\n{\"a\":2}"}, `{"a":1}|{"a":2}`},
	"anthropic, an event of a later version": {"anthropic:some-model", `data: {"type":"content_block_start","content_block":{"type":"text","text":""}}

data: {"type":"content_block_delta","delta":{"type":"text_delta","text":"Hel"}}

data: {"type":"session_status","content":[{"type":"text","text":"busy"}]}

data: {"type":"content_block_delta","delta":{"type":"text_delta","text":"lo"}}

data: {"type":"message_stop"}

`, models.Reply{Text: "Hello"}, "Hel|lo"},
	"openai, what a filter found in the prompt": {"openai:some-model", `data: {"choices":[],"created":0,"id":"","model":"","object":"","prompt_filter_results":[{"prompt_index":0}]}

data: {"id":"chatcmpl-1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"Hello"},"finish_reason":"stop"}]}

data: [DONE]

`, models.Reply{Text: "Hello"}, "Hello"},
	"cut off": {"anthropic:some-model", `data: {"type":"content_block_start","content_block":{"type":"text","text":""}}

data: {"type":"content_block_delta","delta":{"type":"text_delta","text":"Hel"}}

data: {"type":"message_delta","delta":{"stop_reason":"max_tokens"},"usage":{"output_tokens":4096}}

data: {"type":"message_stop"}

`, models.Reply{Text: "Hel", OutputTokens: 4096, Cut: true}, "Hel"},
	"no stream after all": {"openai:some-model", providers["openai"].answer, providers["openai"].want, `{"a":1}`},
}

// hear returns a prompt that streams into a list.
func hear(into *[]string) models.Prompt {
	heard := prompt
	heard.Stream = func(text string) { *into = append(*into, text) }
	return heard
}

func TestAnswersComeInParts(t *testing.T) {
	for name, c := range streams {
		t.Run(name, func(t *testing.T) {
			model := open(t, c.model, func(w http.ResponseWriter, r *http.Request) {
				var request struct {
					Stream bool `json:"stream"`
				}
				require.NoError(t, json.NewDecoder(r.Body).Decode(&request))
				require.True(t, request.Stream)
				w.Header().Set("Connection", "close")
				for part := range strings.SplitAfterSeq(c.body, "\n") { // as it comes
					_, _ = io.WriteString(w, part)
					w.(http.Flusher).Flush()
				}
			})
			var heard []string
			reply, err := model.Generate(t.Context(), hear(&heard))
			require.NoError(t, err)
			require.Equal(t, c.want, reply)
			require.Equal(t, c.heard, strings.Join(heard, "|"))
		})
	}
}

// What breaks off is not taken for the whole, and may come whole the next time.
func TestAStreamThatBreaksOff(t *testing.T) {
	for name, c := range streams {
		if c.want.Text == "" || !strings.Contains(c.body, "\n") {
			continue
		}
		body := c.body[:len(c.body)*2/3]
		_, err := open(t, c.model, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Connection", "close")
			_, _ = io.WriteString(w, body[:strings.LastIndexByte(strings.TrimSpace(body), '\n')+1])
		}).Generate(t.Context(), hear(new([]string)))
		require.ErrorIs(t, err, fault.ReasoningUnavailable, name)
		require.ErrorAs(t, err, new(*reasoning.Temporary), name)
	}
}

// A proxy that lost the service writes a page of its own into the answer; that is not the page
// of a wrong path. An answer without a length that breaks off looks whole.
func TestAnAnswerThatAnotherProgramEnds(t *testing.T) {
	for name, c := range streams {
		if !strings.Contains(c.body, "\n") || strings.Contains(name, "filter") || strings.Contains(name, "no stream") {
			continue
		}
		begun := c.body[:strings.IndexByte(c.body[len(c.body)/3:], '\n')+len(c.body)/3+1]
		for what, body := range map[string]string{
			"a page":              begun + "<html><title>502 Bad Gateway</title></html>",
			"a page in an event":  begun + "\n\ndata: <html><title>502 Bad Gateway</title></html>\n\n",
			"a page amid a part":  begun + `data: {"choices":[{"del<html lang="en"><title>502</title></html>` + "\n\n",
			"a sentence":          begun + "\nupstream connect error or disconnect/reset before headers",
			"a torn part":         begun + "data: {\"choices\":[{\n\n" + "\n",
			"half of a whole one": c.body[:len(c.body)/6],
		} {
			if strings.HasPrefix(c.body, "{") {
				body = strings.ReplaceAll(body, "data: ", "")
			}
			_, err := open(t, c.model, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Connection", "close")
				_, _ = io.WriteString(w, body)
			}).Generate(t.Context(), hear(new([]string)))
			require.ErrorAs(t, err, new(*reasoning.Temporary), "%s: %s", name, what)
			require.NotContains(t, err.Error(), "does not have POST", "%s: %s", name, what)
		}
	}
	for name, c := range providers {
		for _, at := range []int{0, 1, len(c.answer) / 2, len(c.answer) - 1} {
			_, err := open(t, name+":m", func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Connection", "close")
				_, _ = io.WriteString(w, c.answer[:at])
			}).Generate(t.Context(), prompt)
			require.ErrorAs(t, err, new(*reasoning.Temporary), c.answer[:at])
		}
	}
}

// An answer of white space alone is refused, and a page that quotes the key does not show its beginning.
func TestAnswersWithoutSense(t *testing.T) {
	answers := func(body string, observed models.Prompt) error {
		_, err := open(t, "openai:m", func(w http.ResponseWriter, _ *http.Request) {
			w.(http.Flusher).Flush() // without a length
			_, _ = io.WriteString(w, body)
		}).Generate(t.Context(), observed)
		return err
	}
	require.ErrorAs(t, answers(strings.Repeat(" ", reasoning.MaxAnswer+1), prompt), new(*reasoning.Temporary))
	for at := range 30 {
		err := answers("data: {\"choices\":[]}\n\ndata: upstream "+strings.Repeat("x", 470+at)+" "+key+"\n\n", hear(new([]string)))
		require.ErrorContains(t, err, "broke off its answer with upstream x")
		require.NotContains(t, err.Error(), key[:4])
	}
}

// An event of many objects is read in a time that grows like its size: this took minutes.
func TestAnEventOfManyObjects(t *testing.T) {
	_, err := open(t, "openai:m", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "data: "+strings.Repeat(" {}", 1<<19)+strings.Repeat(" ", 16<<20)+"x\n\n")
	}).Generate(t.Context(), hear(new([]string)))
	require.ErrorAs(t, err, new(*reasoning.Temporary))
}

func TestAStreamOfAnError(t *testing.T) {
	for model, body := range map[string]string{
		"anthropic:m": "event: error\ndata: {\"type\": \"error\", \"error\": {\"type\": \"overloaded_error\", \"message\": \"Overloaded\"}}\n\n",
		"openai:m":    "data: {\"error\":{\"message\":\"Overloaded\",\"type\":\"overloaded\"}}\n\n",
		"ollama:m":    `{"error":"Overloaded"}`,
	} {
		_, err := open(t, model, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) }).Generate(t.Context(), hear(new([]string)))
		require.ErrorContains(t, err, "Overloaded")
		require.ErrorIs(t, err, fault.ReasoningUnavailable)
	}
}

const (
	objectSchema = `{"type":"object","required":["a"],"additionalProperties":false,"properties":{"a":{"type":"integer"}}}`
	looseSchema  = `{"type":"object","properties":{"a":{"type":"string","minLength":2}}}`
	listSchema   = `{"type":"array","items":{"$ref":"#/$defs/n"},"$defs":{"n":{"type":"integer"}}}`
	aroundSchema = `{"type":"object","required":["answer"],"additionalProperties":false,"properties":{"answer":{"type":"array","items":{"$ref":"#/$defs/n"}}},"$defs":{"n":{"type":"integer"}}}`
)

// The schema of the answer reaches each provider in the place that is for it.
func TestTheSchemaIsTheOutputFormat(t *testing.T) {
	for name, c := range map[string]struct {
		model, schema string
		// member is where the schema is in the request.
		member       string
		want, answer string
		text         string
	}{
		"ollama": {"ollama:m", objectSchema, "format", objectSchema,
			`{"message":{"content":"{\"a\":1}"},"done":true}`, `{"a":1}`},
		"ollama, a list": {"ollama:m", listSchema, "format", listSchema,
			`{"message":{"content":"[1]"},"done":true}`, `[1]`},
		"openai": {"openai:m", objectSchema, "response_format", `{"type":"json_schema","json_schema":{"name":"answer","strict":true,"schema":` + objectSchema + `}}`,
			`{"choices":[{"message":{"content":"{\"a\":1}"}}]}`, `{"a":1}`},
		"openai, not strict": {"openai:m", looseSchema, "response_format", `{"type":"json_schema","json_schema":{"name":"answer","strict":false,"schema":` + looseSchema + `}}`,
			`{"choices":[{"message":{"content":"{\"a\":\"bc\"}"}}]}`, `{"a":"bc"}`},
		"openai, a list": {"openai:m", listSchema, "response_format", `{"type":"json_schema","json_schema":{"name":"answer","strict":true,"schema":` + aroundSchema + `}}`,
			`{"choices":[{"message":{"content":"{\"answer\":[1]}"}}]}`, `[1]`},
		"anthropic": {"anthropic:m", objectSchema, "tools", `[{"name":"answer","description":"Give the answer.","input_schema":` + objectSchema + `}]`,
			`{"content":[{"type":"tool_use","name":"answer","input":{"a":1}}]}`, `{"a":1}`},
		"anthropic, a list": {"anthropic:m", listSchema, "tools", `[{"name":"answer","description":"Give the answer.","input_schema":` + aroundSchema + `}]`,
			`{"content":[{"type":"tool_use","name":"answer","input":{"answer":[1]}}]}`, `[1]`},
	} {
		t.Run(name, func(t *testing.T) {
			reply, err := open(t, c.model, func(w http.ResponseWriter, r *http.Request) {
				var request map[string]json.RawMessage
				require.NoError(t, json.NewDecoder(r.Body).Decode(&request))
				require.JSONEq(t, c.want, string(request[c.member]))
				_, _ = io.WriteString(w, c.answer)
			}).Generate(t.Context(), models.Prompt{User: "what?", Schema: json.RawMessage(c.schema), Enforce: true})
			require.NoError(t, err)
			require.Equal(t, c.text, reply.Text)
		})
	}
}

// A service that does not know a form is asked in the next one.
func TestAFormThatIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		model, member string
		status        int
		refusal       string
		answer        string
		forms         []string
	}{
		"openai": {"openai:m", "response_format", 400, `{"error":{"message":"This response_format type is unavailable now"}}`, `{"choices":[{"message":{"content":"{}"}}]}`,
			[]string{`{"type":"json_schema","json_schema":{"name":"answer","strict":false,"schema":` + looseSchema + `}}`, `{"type":"json_object"}`, ``}},
		"ollama": {"ollama:m", "format", 500, `{"error":"invalid JSON schema in format"}`, `{"message":{"content":"{}"},"done":true}`, []string{looseSchema, `"json"`}},
		"anthropic": {"anthropic:m", "tool_choice", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"tools.0.custom.input_schema: invalid"}}`,
			`{"content":[{"type":"text","text":"{}"}]}`, []string{`{"type":"tool","name":"answer"}`, ``}},
	} {
		t.Run(name, func(t *testing.T) {
			asked := 0
			reply, err := open(t, c.model, func(w http.ResponseWriter, r *http.Request) {
				var request map[string]json.RawMessage
				require.NoError(t, json.NewDecoder(r.Body).Decode(&request))
				if c.forms[asked] == "" {
					require.Empty(t, request[c.member])
				} else {
					require.JSONEq(t, c.forms[asked], string(request[c.member]))
				}
				if asked++; asked < len(c.forms) {
					w.WriteHeader(c.status)
					_, _ = io.WriteString(w, c.refusal)
					return
				}
				_, _ = io.WriteString(w, c.answer)
			}).Generate(t.Context(), models.Prompt{User: "what?", Schema: json.RawMessage(looseSchema), Enforce: true})
			require.NoError(t, err)
			require.Equal(t, "{}", reply.Text)
			require.Equal(t, len(c.forms), asked)
		})
	}
}

func TestAnAnswerThatWasCutOff(t *testing.T) {
	for model, body := range map[string]string{
		"ollama:m":    `{"message":{"content":"Hel"},"done":true,"done_reason":"length"}`,
		"openai:m":    `{"choices":[{"message":{"content":"Hel"},"finish_reason":"length"}]}`,
		"anthropic:m": `{"content":[{"type":"text","text":"Hel"}],"stop_reason":"max_tokens"}`,
	} {
		reply, err := open(t, model, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) }).Generate(t.Context(), models.Prompt{User: "what?"})
		require.NoError(t, err)
		require.Equal(t, models.Reply{Text: "Hel", Cut: true}, reply)
	}
}

// A native call whose arguments were cut off must not be made with other arguments.
func TestACallWithBrokenArgumentsIsNoIntent(t *testing.T) {
	for name, c := range map[string]struct {
		arguments string
		args      string // "": no intent
	}{
		"whole":   {`{\"path\":\"a\"}`, `{"path":"a"}`},
		"none":    {``, `{}`},
		"cut off": {`{\"path\":\"a`, ""},
		"no JSON": {`path=a`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			body := `{"choices":[{"message":{"tool_calls":[{"function":{"name":"git.log","arguments":"` + c.arguments + `"}}]},"finish_reason":"length"}]}`
			reply, err := open(t, "openai:m", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) }).Generate(t.Context(), models.Prompt{User: "what?"})
			require.NoError(t, err)
			intent, err := reasoning.ParseIntent([]byte(reply.Text), nil)
			if c.args == "" {
				require.ErrorIs(t, err, fault.InvalidIntent)
				return
			}
			require.NoError(t, err)
			require.JSONEq(t, c.args, string(intent.AllCalls()[0].Args))
		})
	}
}

func TestAModelSaysItsWindow(t *testing.T) {
	for model, c := range map[string]struct {
		request, body string
		want          int
	}{
		"ollama:m":    {"POST /api/show", `{"details":{"family":"llama"},"model_info":{"general.architecture":"llama","llama.context_length":8192,"llama.embedding_length":4096}}`, 8192},
		"openai:m":    {"GET /v1/models", `{"object":"list","data":[{"id":"other","max_model_len":1},{"id":"m","object":"model","max_model_len":32768}]}`, 32768},
		"openai:n":    {"GET /v1/models", `{"object":"list","data":[{"id":"n","object":"model","owned_by":"x"}]}`, 0},
		"anthropic:m": {"GET /v1/models/m", `{"type":"model","id":"m","display_name":"M","max_input_tokens":200000,"max_tokens":64000}`, 200000},
		"anthropic:n": {"GET /v1/models/n", `nothing`, 0},
	} {
		asked := 0
		opened := open(t, model, func(w http.ResponseWriter, r *http.Request) {
			require.Equal(t, c.request, r.Method+" "+r.URL.Path)
			asked++
			_, _ = io.WriteString(w, c.body)
		})
		for range 2 {
			require.Equal(t, c.want, opened.(models.Windowed).Window(t.Context()), model)
		}
		require.Equal(t, 1, asked)
	}
}

// Ollama is asked to open a window that holds prompt and answer, and no larger one
// than the model has.
func TestOllamaOpensARoomThatIsLargeEnough(t *testing.T) {
	var opened []int
	model := open(t, "ollama:m", func(w http.ResponseWriter, r *http.Request) {
		var request struct {
			Options struct {
				Window int `json:"num_ctx"`
			} `json:"options"`
		}
		require.NoError(t, json.NewDecoder(r.Body).Decode(&request))
		if r.URL.Path == "/api/show" {
			_, _ = io.WriteString(w, `{"model_info":{"llama.context_length":40000}}`)
			return
		}
		opened = append(opened, request.Options.Window)
		_, _ = io.WriteString(w, `{"message":{"content":"x"},"done":true}`)
	})
	ask := func(tokens int) {
		_, err := model.Generate(t.Context(), models.Prompt{User: strings.Repeat("word", tokens)})
		require.NoError(t, err)
	}
	ask(8000)
	ask(12_000)
	ask(32_000)
	model.(models.Windowed).Window(t.Context())
	ask(32_000)
	require.Equal(t, []int{16_384, 32_768, 65_536, 40_000}, opened)
}

func TestLimitsOfRateAreHeeded(t *testing.T) {
	for name, c := range map[string]struct {
		header map[string]string
		body   string
		wait   time.Duration
		final  bool
	}{
		"seconds":            {header: map[string]string{"Retry-After": "3"}, wait: 3 * time.Second},
		"milliseconds":       {header: map[string]string{"Retry-After-Ms": "250", "Retry-After": "1"}, wait: 250 * time.Millisecond},
		"openai's tokens":    {header: map[string]string{"X-Ratelimit-Remaining-Requests": "59", "X-Ratelimit-Reset-Requests": "1s", "X-Ratelimit-Remaining-Tokens": "0", "X-Ratelimit-Reset-Tokens": "6m0s"}, wait: 6 * time.Minute},
		"not what is left":   {header: map[string]string{"X-Ratelimit-Reset-Requests": "2s", "X-Ratelimit-Remaining-Tokens": "7", "X-Ratelimit-Reset-Tokens": "9s"}, wait: 2 * time.Second},
		"for all":            {header: map[string]string{"X-Ratelimit-Reset": "1.5"}, wait: 1500 * time.Millisecond},
		"no number":          {header: map[string]string{"X-Ratelimit-Reset": "NaN"}},
		"nothing is used up": {header: map[string]string{"X-Ratelimit-Remaining-Requests": "59", "X-Ratelimit-Reset-Requests": "1s"}},
		"no more money":      {body: `{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}`, final: true},
	} {
		_, err := open(t, "openai:m", func(w http.ResponseWriter, _ *http.Request) {
			for name, value := range c.header {
				w.Header().Set(name, value)
			}
			w.WriteHeader(http.StatusTooManyRequests)
			_, _ = io.WriteString(w, c.body)
		}).Generate(t.Context(), prompt)
		var temporary *reasoning.Temporary
		require.ErrorIs(t, err, fault.ReasoningUnavailable)
		if c.final {
			require.NotErrorAs(t, err, &temporary, name)
			continue
		}
		require.ErrorAs(t, err, &temporary, name)
		require.Equal(t, c.wait, temporary.After, name)
	}
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	header := http.Header{}
	header.Set("Anthropic-Ratelimit-Tokens-Remaining", "0")
	header.Set("Anthropic-Ratelimit-Tokens-Reset", "2026-11-22T12:00:09Z")
	require.Equal(t, 9*time.Second, reasoning.Patience(header, now))
	for _, since1970 := range []string{"1795348812", "1795348812000"} { // GitHub's and OpenRouter's
		require.Equal(t, 12*time.Second, reasoning.Patience(http.Header{"X-Ratelimit-Remaining": {"0"}, "X-Ratelimit-Reset": {since1970}}, now))
	}
}
