package models

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"savant/reasoning"
)

// window caches the size of a model's context window.
type window struct {
	mu    sync.Mutex
	known bool
	size  int
}

// windowWait bounds the query for the window.
const windowWait = 5 * time.Second

// windowFrom returns the size of the window, queried once. It is 0 if the service does
// not answer.
func (s *service) windowFrom(ctx context.Context, ask func(context.Context) int) int {
	s.window.mu.Lock()
	defer s.window.mu.Unlock()
	if !s.window.known {
		bounded, cancel := context.WithTimeout(ctx, windowWait)
		defer cancel()
		size := ask(bounded)
		if ctx.Err() != nil {
			return 0
		}
		s.window.known, s.window.size = true, max(size, 0)
	}
	return s.window.size
}

// Window reads model_info of POST /api/show.
func (o *ollama) Window(ctx context.Context) int {
	return o.windowFrom(ctx, func(ctx context.Context) int {
		body, err := json.Marshal(map[string]string{"model": o.model})
		if err != nil {
			return 0
		}
		answer, err := reasoning.Post(ctx, o.client, o.address("/api/show"), http.Header{}, body)
		var shown struct {
			Info map[string]json.RawMessage `json:"model_info"`
		}
		if err != nil || json.Unmarshal(answer, &shown) != nil {
			return 0
		}
		for name, value := range shown.Info {
			if strings.HasSuffix(name, ".context_length") {
				return number(value)
			}
		}
		return 0
	})
}

// Window reads max_input_tokens of GET /v1/models/MODEL.
func (a *anthropic) Window(ctx context.Context) int {
	return a.windowFrom(ctx, func(ctx context.Context) int {
		answer, err := reasoning.Get(ctx, a.client, a.address("/v1/models/"+url.PathEscape(a.model)), a.header())
		var shown struct {
			Window json.RawMessage `json:"max_input_tokens"`
		}
		if err != nil || json.Unmarshal(answer, &shown) != nil {
			return 0
		}
		return number(shown.Window)
	})
}

// windowNames are the names of the window in the model lists of OpenAI-compatible
// services: vLLM, Groq, OpenRouter, Mistral. OpenAI itself does not report it.
var windowNames = []string{"max_model_len", "context_window", "context_length", "max_context_length"}

// Window reads GET /models.
func (o *openAI) Window(ctx context.Context) int {
	return o.windowFrom(ctx, func(ctx context.Context) int {
		answer, err := reasoning.Get(ctx, o.client, o.address("/models"), o.header())
		var list struct {
			Data []map[string]json.RawMessage `json:"data"`
		}
		if err != nil || json.Unmarshal(answer, &list) != nil {
			return 0
		}
		for _, each := range list.Data {
			var id string
			if json.Unmarshal(each["id"], &id) != nil || id != o.model {
				continue
			}
			for _, name := range windowNames {
				if size := number(each[name]); size > 0 {
					return size
				}
			}
		}
		return 0
	})
}

// number decodes a number; 0 for anything else.
func number(raw json.RawMessage) int {
	var value float64
	if json.Unmarshal(raw, &value) != nil || value < 0 || value > 1<<40 {
		return 0
	}
	return int(value)
}
