package models

import (
	"cmp"
	"context"
	"net/http"

	"github.com/tidwall/gjson"

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
		format := map[string]any{"type": "json_schema", "json_schema": map[string]any{"name": answerTool, "schema": made.schema, "strict": strict(gjson.ParseBytes(made.schema))}}
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

func (a *openAIAnswer) take(part []byte) error {
	chunk := gjson.ParseBytes(part)
	if used := tokens(chunk.Get("usage.prompt_tokens")); used > 0 {
		a.reply.PromptTokens, a.reply.OutputTokens = used, tokens(chunk.Get("usage.completion_tokens"))
	}
	choice := chunk.Get("choices.0")
	if !choice.Exists() {
		if a.stream != nil { // a chunk of usage, or Azure's first one, of what a filter found in the prompt
			return nil
		}
		return fault.New(fault.ReasoningUnavailable, "the service answered without a choice")
	}
	whole, reason := choice.Get("message"), choice.Get("finish_reason").String()
	a.add(whole)
	a.add(choice.Get("delta"))
	a.wrote(a.join(choice.Get("text"))) // of the older interface; others do not have it
	a.ended = a.ended || reason != "" || whole.IsObject()
	switch reason {
	case "length":
		a.reply.Cut = true
	case "content_filter":
		return fault.New(fault.ReasoningUnavailable, "the service's content filter ended the answer")
	}
	return nil
}

// add adds a message, or the delta of one. Some services put the answer into its reasoning,
// and nothing into content.
func (a *openAIAnswer) add(said gjson.Result) {
	switch content := said.Get("content"); {
	case content.IsObject():
		a.wrote(content.Raw)
	case content.IsArray():
		for _, part := range content.Array() {
			a.addPart(part)
		}
	default:
		a.wrote(a.join(content))
	}
	a.refusal.WriteString(said.Get("refusal").Str)
	a.thinking.WriteString(cmp.Or(textOf(said.Get("reasoning_content")), textOf(said.Get("reasoning")), textOf(said.Get("reasoning_details"))))
	for i, each := range said.Get("tool_calls").Array() {
		if index := each.Get("index"); index.Type != gjson.Null {
			i = tokens(index)
		}
		a.called(i, each)
	}
	if older := said.Get("function_call"); older.IsObject() {
		a.called(0, older)
	}
}

// addPart adds one of a list of parts of a message.
func (a *openAIAnswer) addPart(part gjson.Result) {
	switch part.Get("type").Str {
	case "refusal":
		a.refusal.WriteString(part.Get("refusal").Str)
	case "thinking", "reasoning":
		a.thinking.WriteString(textOf(part.Get("thinking")) + textOf(part))
	default:
		a.wrote(textOf(part))
	}
}

// called adds a call, or the next part of one, whose name stands in a member of it or in itself.
func (a *openAIAnswer) called(number int, part gjson.Result) {
	function := part
	for _, name := range []string{"function", "custom"} {
		if inner := part.Get(name); inner.IsObject() {
			function = inner
		}
	}
	made := a.callAt(number, part.Get("id").Str, function.Get("name").Str)
	for _, name := range []string{"arguments", "args", "input"} {
		made.args.WriteString(a.arguments(function.Get(name)))
	}
}

// windowNames are the names of the window in the model lists of OpenAI-compatible
// services: vLLM, Groq, OpenRouter, Mistral. OpenAI itself does not report it.
var windowNames = []string{"max_model_len", "context_window", "context_length", "max_context_length"}

// Window reads GET /models.
func (o *openAI) Window(ctx context.Context) int {
	return o.windowFrom(ctx, func(ctx context.Context) int {
		answer, err := reasoning.Get(ctx, o.client, o.address("/models"), o.header())
		if err != nil {
			return 0
		}
		listed := gjson.GetBytes(answer, "data.#(id==\""+o.model+"\")")
		for _, name := range windowNames {
			if size := tokens(listed.Get(name)); size > 0 {
				return size
			}
		}
		return 0
	})
}
