package models

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"

	"savant/fault"
	"savant/reasoning"
)

// openAIRow is the OpenAI API, and every service that is compatible with it.
var openAIRow = providerRow{name: "openai", setting: "OPENAI_BASE_URL is the address with its version, such as http://HOST/v1", hasVersion: true,
	open: func(s *service, _ Options) Model { return &openAI{s} }}

// openAI is a client of POST /chat/completions, which many services and local servers
// implement. A schema to enforce is sent as json_schema; otherwise it requests
// json_object, which nearly all of them support.
type openAI struct{ *service }

func (o *openAI) header() http.Header {
	header := http.Header{}
	if o.key != "" { // local servers have none
		header.Set("Authorization", "Bearer "+o.key)
		if o.base.Query().Has("api-version") { // Azure
			header.Set("Api-Key", o.key)
		}
	}
	return header
}

// openAIForm is a response_format with its schema.
type openAIForm struct {
	name   string
	format any
	schema form
}

// forms are the response formats to try, in order of preference.
func (o *openAI) forms(prompt Prompt) []openAIForm {
	if len(prompt.Schema) == 0 {
		return []openAIForm{{}}
	}
	forms := []openAIForm{{name: "json_object", format: map[string]string{"type": "json_object"}}, {}}
	made, ok := objectForm(prompt.Schema)
	if !ok {
		return forms[1:]
	}
	if made.around {
		forms = forms[1:] // json_object does not enforce the schema
	}
	if prompt.Enforce {
		format := map[string]any{"type": "json_schema", "json_schema": map[string]any{"name": answerTool, "schema": made.schema, "strict": strict(made.schema)}}
		forms = append([]openAIForm{{"json_schema", format, made}}, forms...)
	}
	return forms
}

// temperature makes answers repeat themselves. Some services refuse 0.
const temperature = 0.1

// Generate asks an OpenAI-compatible service.
func (o *openAI) Generate(ctx context.Context, prompt Prompt) (Reply, error) {
	forms := o.forms(prompt)
	names := make([]string, len(forms))
	for i := range forms {
		names[i] = forms[i].name
	}
	return o.inForms(names, func(i int) (Reply, []string, error) {
		messages, sent := o.conversation(prompt)
		request := map[string]any{"model": o.model, "messages": messages}
		if forms[i].format != nil {
			request["response_format"] = forms[i].format
		}
		add := func(part string, value any) bool {
			if !o.habits.takes(part) {
				return false
			}
			request[part], sent = value, append(sent, part)
			return true
		}
		add(partTemperature, temperature)
		if prompt.Stream != nil {
			add(partStreamOptions, map[string]bool{"include_usage": true})
		}
		if prompt.Longer && !add(partMaxTokens, prompt.room()) { // else the service's own limit holds
			add(partMaxCompletion, prompt.room())
		}
		reply, err := o.exchange(ctx, "/chat/completions", o.header(), request, &openAIAnswer{partialAnswer{stream: prompt.Stream}})
		reply.Text = forms[i].schema.unwrap(reply.Text)
		return reply, sent, err
	})
}

// openAIAnswer reads a completion, whole or in chunks.
type openAIAnswer struct{ partialAnswer }

// openAIMessage is a whole message, or the delta of a chunk.
type openAIMessage struct {
	Content json.RawMessage `json:"content"`
	Refusal lenient[string] `json:"refusal"`
	// Some services put the answer here, and nothing into content.
	ReasoningContent lenient[string] `json:"reasoning_content"`
	Reasoning        lenient[string] `json:"reasoning"`
	ToolCalls        []struct {
		Index    *count `json:"index"`
		Function struct {
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
}

func (a *openAIAnswer) take(part []byte) error {
	var chunk struct {
		Choices []struct {
			Message      *openAIMessage `json:"message"`
			Delta        *openAIMessage `json:"delta"`
			FinishReason word           `json:"finish_reason"`
		} `json:"choices"`
		Usage lenient[struct {
			PromptTokens     count `json:"prompt_tokens"`
			CompletionTokens count `json:"completion_tokens"`
		}] `json:"usage"`
	}
	if err := json.Unmarshal(part, &chunk); err != nil {
		return err
	}
	if used := chunk.Usage.value; used.PromptTokens > 0 {
		a.reply.PromptTokens, a.reply.OutputTokens = int(used.PromptTokens), int(used.CompletionTokens)
	}
	if len(chunk.Choices) == 0 {
		if a.stream != nil { // a chunk of usage, or Azure's first one, of what a filter found in the prompt
			return nil
		}
		return fault.New(fault.ReasoningUnavailable, "the service answered without a choice")
	}
	choice := chunk.Choices[0]
	for _, said := range []*openAIMessage{choice.Message, choice.Delta} {
		if said != nil {
			a.add(*said)
		}
	}
	a.ended = a.ended || choice.FinishReason != "" || choice.Message != nil
	switch choice.FinishReason {
	case "length":
		a.reply.Cut = true
	case "content_filter":
		return fault.New(fault.ReasoningUnavailable, "the service's content filter ended the answer")
	}
	return nil
}

func (a *openAIAnswer) add(said openAIMessage) {
	a.wrote(a.content(said.Content))
	a.refusal.WriteString(said.Refusal.value)
	a.thinking.WriteString(cmp.Or(said.ReasoningContent.value, said.Reasoning.value))
	for i, each := range said.ToolCalls {
		number := i
		if each.Index != nil {
			number = int(*each.Index)
		}
		made := a.callAt(number)
		made.name += each.Function.Name
		made.args.WriteString(a.arguments(each.Function.Arguments))
	}
}

// content reads a content: a text, or a list of parts with texts.
func (a *openAIAnswer) content(raw json.RawMessage) string {
	var parts []struct {
		Text lenient[string] `json:"text"`
	}
	if json.Unmarshal(raw, &parts) != nil {
		return a.join(inner(raw))
	}
	text := ""
	for _, each := range parts {
		text += each.Text.value
	}
	return text
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
