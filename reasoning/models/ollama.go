package models

import (
	"context"
	"encoding/json"
	"net/http"
)

// ollama speaks POST /api/chat of Ollama, whose "format" enforces a JSON Schema.
type ollama struct{ *service }

type ollamaRequest struct {
	Model    string          `json:"model"`
	Messages []message       `json:"messages"`
	Stream   bool            `json:"stream"`
	Format   json.RawMessage `json:"format,omitempty"`
	Options  ollamaOptions   `json:"options"`
}

type ollamaOptions struct {
	Temperature float64 `json:"temperature"`
	NumPredict  int     `json:"num_predict"`
	NumCtx      int     `json:"num_ctx"`
}

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
	var reply ollamaReply
	err := o.post(ctx, "/api/chat", http.Header{}, ollamaRequest{
		Model:    o.model,
		Messages: []message{{"system", prompt.System}, {"user", prompt.User}},
		Format:   prompt.Schema,
		Options:  ollamaOptions{NumPredict: maxOutput, NumCtx: ollamaContext},
	}, &reply)
	return Reply{Text: reply.Message.Content, PromptTokens: reply.PromptEvalCount, OutputTokens: reply.EvalCount}, err
}
