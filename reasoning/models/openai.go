package models

import (
	"context"
	"net/http"
)

// openAI speaks POST /chat/completions, which many services and local servers offer.
// It asks for json_object, which all of them have; json_schema does not allow the
// free arguments of tools.
type openAI struct{ *service }

type openAIReply struct {
	Choices []struct {
		Message struct {
			Content string `json:"content"`
			Refusal string `json:"refusal"`
		} `json:"message"`
	} `json:"choices"`
	Usage struct {
		PromptTokens     int `json:"prompt_tokens"`
		CompletionTokens int `json:"completion_tokens"`
	} `json:"usage"`
}

// Generate asks an OpenAI-compatible service.
func (o *openAI) Generate(ctx context.Context, prompt Prompt) (Reply, error) {
	request := map[string]any{"model": o.model, "messages": prompt.messages()}
	if len(prompt.Schema) > 0 {
		request["response_format"] = map[string]string{"type": "json_object"}
	}
	header := http.Header{}
	if o.key != "" { // local servers have none
		header.Set("Authorization", "Bearer "+o.key)
	}
	var reply openAIReply
	if err := o.post(ctx, "/chat/completions", header, request, &reply); err != nil {
		return Reply{}, err
	}
	if len(reply.Choices) == 0 {
		return Reply{}, o.failed("answered without a choice")
	}
	said := reply.Choices[0].Message
	if said.Content == "" && said.Refusal != "" {
		return Reply{}, o.failed("refused: " + said.Refusal)
	}
	return Reply{Text: said.Content, PromptTokens: reply.Usage.PromptTokens, OutputTokens: reply.Usage.CompletionTokens}, nil
}
