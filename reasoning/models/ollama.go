package models

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/tidwall/gjson"

	"savant/reasoning"
)

// ollamaRow is Ollama, on this machine by default.
var ollamaRow = providerRow{name: "ollama", setting: "OLLAMA_HOST is http://HOST:11434",
	open: func(s *service, options Options) Model { return &ollama{s, options.Think} }}

// ollama is a client of POST /api/chat, whose "format" enforces a JSON Schema.
type ollama struct {
	*service
	think string
}

// ollamaContext is the smallest window requested. Ollama's default would truncate the
// prompt silently, and each change of the size reloads the model.
const ollamaContext = 16_384

// room returns the window for a prompt and its answer: ollamaContext, doubled until
// both fit. Token estimates may be a quarter too low.
func (o *ollama) room(prompt Prompt) int {
	needed := (len(prompt.System)+len(prompt.User))/4*5/4 + prompt.room()
	size := ollamaContext
	for size < needed {
		size *= 2
	}
	o.window.mu.Lock()
	defer o.window.mu.Unlock()
	if o.window.size > 0 {
		return min(size, o.window.size)
	}
	return size
}

// ollamaAnswer reads a reply of Ollama or a part of one; both have the same form.
type ollamaAnswer struct{ partialAnswer }

func (a *ollamaAnswer) take(part []byte) error {
	reply := gjson.ParseBytes(part)
	a.wrote(a.join(reply.Get("message.content")))
	a.thinking.WriteString(reply.Get("message.thinking").Str)
	for _, each := range reply.Get("message.tool_calls.#.function").Array() {
		a.callAt(len(a.calls), "", each.Get("name").Str).args.WriteString(a.arguments(each.Get("arguments")))
	}
	if reply.Get("done").Bool() {
		a.ended, a.reply.Cut = true, reply.Get("done_reason").Str == "length"
		a.reply.PromptTokens, a.reply.OutputTokens = tokens(reply.Get("prompt_eval_count")), tokens(reply.Get("eval_count"))
	}
	return nil
}

// Generate asks Ollama.
func (o *ollama) Generate(ctx context.Context, prompt Prompt) (Reply, error) {
	forms, names := []any{nil}, []string{""}
	if len(prompt.Schema) > 0 {
		forms, names = []any{prompt.Schema, "json", nil}, []string{"format schema", "format json", ""}
	}
	return o.inForms(names, func(i int) (Reply, []string, error) {
		messages, sent := o.conversation(prompt)
		request := map[string]any{"model": o.model, "messages": messages, "stream": false, "truncate": false,
			"options": map[string]int{"temperature": 0, "num_predict": prompt.room(), "num_ctx": o.room(prompt)}}
		if forms[i] != nil {
			request["format"] = forms[i]
		}
		if (o.think == ThinkOn || o.think == ThinkOff || prompt.Again) && o.habits.takes(partThink) {
			request["think"], sent = o.think == ThinkOn, append(sent, partThink)
		}
		reply, err := o.exchange(ctx, "/api/chat", http.Header{}, request, &ollamaAnswer{partialAnswer{stream: prompt.Stream}})
		return reply, sent, err
	})
}

// Window reads model_info of POST /api/show.
func (o *ollama) Window(ctx context.Context) int {
	return o.windowFrom(ctx, func(ctx context.Context) int {
		body, err := json.Marshal(map[string]string{"model": o.model})
		if err != nil {
			return 0
		}
		answer, _ := reasoning.Post(ctx, o.client, o.address("/api/show"), http.Header{}, body) // without one, nothing is known
		size := 0
		gjson.GetBytes(answer, "model_info").ForEach(func(name, value gjson.Result) bool {
			if strings.HasSuffix(name.Str, ".context_length") {
				size = tokens(value)
			}
			return true
		})
		return size
	})
}
