package models

import (
	"context"
	"encoding/json"
	"net/http"
)

// anthropic speaks POST /v1/messages. The model must use one tool whose input has
// the prompt's schema: that service has no other way to enforce a schema.
type anthropic struct{ *service }

// anthropicVersion is the version of the interface, as its header wants it.
const anthropicVersion = "2023-06-01"

// answerTool is the tool that the model answers with.
const answerTool = "answer"

type anthropicReply struct {
	Content []struct {
		Type  string          `json:"type"`
		Text  string          `json:"text"`
		Input json.RawMessage `json:"input"`
	} `json:"content"`
	Usage struct {
		InputTokens  int `json:"input_tokens"`
		OutputTokens int `json:"output_tokens"`
	} `json:"usage"`
}

// Generate asks the Anthropic API.
func (a *anthropic) Generate(ctx context.Context, prompt Prompt) (Reply, error) {
	request := map[string]any{"model": a.model, "max_tokens": maxOutput, "messages": []message{{"user", prompt.User}}}
	if prompt.System != "" {
		request["system"] = prompt.System
	}
	if len(prompt.Schema) > 0 {
		request["tools"] = []any{map[string]any{"name": answerTool, "description": "Give the answer.", "input_schema": prompt.Schema}}
		request["tool_choice"] = map[string]string{"type": "tool", "name": answerTool}
	}
	header := http.Header{}
	header.Set("X-Api-Key", a.key)
	header.Set("Anthropic-Version", anthropicVersion)
	var reply anthropicReply
	if err := a.post(ctx, "/v1/messages", header, request, &reply); err != nil {
		return Reply{}, err
	}
	return Reply{Text: reply.text(), PromptTokens: reply.Usage.InputTokens, OutputTokens: reply.Usage.OutputTokens}, nil
}

// text is the tool's input, or what was written where no tool was used.
func (r anthropicReply) text() string {
	written := ""
	for _, block := range r.Content {
		switch block.Type {
		case "tool_use":
			return string(block.Input)
		case "text":
			written += block.Text
		}
	}
	return written
}
