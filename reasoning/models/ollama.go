package models

import (
	"context"
	"net/http"
)

// ollama speaks POST /api/chat of Ollama, whose "format" enforces a JSON Schema.
type ollama struct{ *service }

// ollamaContext is enough for the prompt, its schema and the answer. With its
// default Ollama would cut the prompt silently.
const ollamaContext = 16_384

type ollamaReply struct {
	Message         message `json:"message"`
	PromptEvalCount int     `json:"prompt_eval_count"`
	EvalCount       int     `json:"eval_count"`
}

// Generate asks Ollama.
func (o *ollama) Generate(ctx context.Context, prompt Prompt) (Reply, error) {
	request := map[string]any{"model": o.model, "messages": prompt.messages(), "stream": false,
		"options": map[string]int{"temperature": 0, "num_predict": maxOutput, "num_ctx": ollamaContext}}
	if len(prompt.Schema) > 0 {
		request["format"] = prompt.Schema
	}
	var reply ollamaReply
	err := o.post(ctx, "/api/chat", http.Header{}, request, &reply)
	return Reply{Text: reply.Message.Content, PromptTokens: reply.PromptEvalCount, OutputTokens: reply.EvalCount}, err
}
