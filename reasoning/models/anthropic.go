package models

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/tidwall/gjson"

	"savant/reasoning"
)

// anthropicRow is the Anthropic API.
var anthropicRow = providerRow{name: "anthropic", setting: "ANTHROPIC_BASE_URL is https://HOST", needsKey: true,
	open: func(s *service, _ Options) Model { return &anthropic{s} }}

// anthropic is a client of POST /v1/messages. It forces the use of one tool whose input
// has the prompt's schema, which all models of the service support.
type anthropic struct{ *service }

// anthropicVersion is the value of the anthropic-version header.
const anthropicVersion = "2023-06-01"

// answerTool is the tool that the model answers with.
const answerTool = "answer"

func (a *anthropic) header() http.Header {
	header := http.Header{}
	header.Set("X-Api-Key", a.key)
	header.Set("Anthropic-Version", anthropicVersion)
	return header
}

// Generate asks the Anthropic API.
func (a *anthropic) Generate(ctx context.Context, prompt Prompt) (Reply, error) {
	forms, names := []form{{}}, []string{""}
	if made, ok := objectForm(prompt.Schema); ok {
		forms, names = []form{made, {}}, []string{"tool", ""}
	}
	return a.inForms(names, func(i int) (Reply, []string, error) {
		request := map[string]any{"model": a.model, "max_tokens": prompt.room(), "messages": []message{{"user", prompt.User}}}
		if prompt.System != "" {
			request["system"] = prompt.System
		}
		if forms[i].schema != nil {
			request["tools"] = []any{map[string]any{"name": answerTool, "description": "Give the answer.", "input_schema": forms[i].schema}}
			request["tool_choice"] = map[string]string{"type": "tool", "name": answerTool}
		}
		answer := &anthropicAnswer{partialAnswer: partialAnswer{stream: prompt.Stream}}
		reply, err := a.exchange(ctx, "/v1/messages", a.header(), request, answer)
		reply.Text = forms[i].unwrap(reply.Text)
		return reply, nil, err
	})
}

// anthropicAnswer reads a message of Anthropic, whole or as a stream of events.
type anthropicAnswer struct {
	partialAnswer
	blocks []*anthropicBlock
}

// anthropicBlock is a part of a message: text, or the use of a tool.
type anthropicBlock struct {
	kind, name string
	text       strings.Builder
}

func (a *anthropicAnswer) take(part []byte) error {
	event := gjson.ParseBytes(part)
	switch event.Get("type").Str {
	case "message_start":
		a.count(event.Get("message.usage"))
	case "content_block_start":
		a.begin(event.Get("content_block"))
	case "content_block_delta":
		a.thinking.WriteString(event.Get("delta.thinking").Str)
		a.write(a.join(event.Get("delta.text")) + a.join(event.Get("delta.partial_json")))
	case "message_delta":
		a.count(event.Get("usage"))
		a.stop(event.Get("delta.stop_reason").Str)
	case "message_stop":
		a.end()
	case "message", "": // whole; events of other types, which later versions may add, are ignored
		for _, each := range event.Get("content").Array() {
			if each.Type == gjson.String { // a text alone
				each = gjson.Parse(`{"type":"text","text":` + each.Raw + `}`)
			}
			a.begin(each)
			a.write(a.arguments(each.Get("input")))
		}
		a.count(event.Get("usage"))
		a.stop(event.Get("stop_reason").Str)
		a.end()
	}
	return nil
}

// begin begins a block. A streamed tool use starts with an empty placeholder input,
// which is ignored.
func (a *anthropicAnswer) begin(block gjson.Result) {
	a.blocks = append(a.blocks, &anthropicBlock{kind: block.Get("type").Str, name: block.Get("name").Str})
	a.thinking.WriteString(block.Get("thinking").Str)
	a.write(a.join(block.Get("text")))
}

func (a *anthropicAnswer) write(text string) {
	if len(a.blocks) == 0 || text == "" {
		return
	}
	block := a.blocks[len(a.blocks)-1]
	block.text.WriteString(text)
	if a.stream != nil && (block.kind == "text" || block.kind == "tool_use") {
		a.stream(text)
	}
}

func (a *anthropicAnswer) count(usage gjson.Result) {
	read := 0
	for _, name := range []string{"input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"} {
		read += tokens(usage.Get(name))
	}
	a.reply.PromptTokens = cmp.Or(read, a.reply.PromptTokens)
	a.reply.OutputTokens = cmp.Or(tokens(usage.Get("output_tokens")), a.reply.OutputTokens)
}

func (a *anthropicAnswer) stop(reason string) {
	switch reason {
	case "max_tokens", "model_context_window_exceeded":
		a.reply.Cut = true
	case "refusal":
		a.refusal.WriteString("it declines to answer this")
	}
}

// end builds the answer: the inputs of the answer tool, else the text, and other tool
// calls.
func (a *anthropicAnswer) end() {
	a.ended = true
	var answered, written strings.Builder
	for _, block := range a.blocks {
		switch {
		case block.kind == "tool_use" && block.name == answerTool:
			answered.WriteString("\n" + block.text.String())
		case block.kind == "tool_use":
			a.callAt(len(a.calls), "", block.name).args.WriteString(block.text.String())
		case block.kind == "text":
			written.WriteString(block.text.String())
		}
	}
	a.text.WriteString(cmp.Or(strings.TrimSpace(answered.String()), written.String()))
}

// Window reads max_input_tokens of GET /v1/models/MODEL.
func (a *anthropic) Window(ctx context.Context) int {
	return a.windowFrom(ctx, func(ctx context.Context) int {
		answer, _ := reasoning.Get(ctx, a.client, a.address("/v1/models/"+url.PathEscape(a.model)), a.header()) // without one, nothing is known
		return tokens(gjson.GetBytes(answer, "max_input_tokens"))
	})
}
