package mcpio

import (
	"encoding/json"

	"github.com/mark3labs/mcp-go/mcp"

	"savant/engines"
	"savant/fault"
	"savant/internal/jsonvalue"
)

// succeeded returns the result of a call that went well.
func succeeded(result engines.Result) *mcp.CallToolResult {
	if content, whole := result.Value.(engines.Content); whole {
		return contentResult(content)
	}
	return toolResult(object(result.JSON))
}

// unfit is the answer where an excerpt stands for a result that has an output
// schema: clients hold structured content against it, and a failure needs none.
func unfit(result engines.Result) *fault.Error {
	return fault.New(fault.LimitExceeded, "the result is too large to hand on; \"result\" says where it is kept").
		Attach("result", result.JSON)
}

// object returns a value as the JSON object that structuredContent has to be: a
// value of another kind is wrapped as {"result": value}.
func object(encoded json.RawMessage) json.RawMessage {
	if encoded[0] == '{' {
		return encoded
	}
	wrapped := append([]byte(`{"result":`), encoded...)
	return append(wrapped, '}')
}

// contentResult returns the result of a mounted server as that server gave it.
func contentResult(content engines.Content) *mcp.CallToolResult {
	result := &mcp.CallToolResult{Content: blocksOf(content)}
	if len(content.Structured) > 0 {
		result.StructuredContent = content.Structured
	}
	return result
}

// block is a content block as it came: none of its members is lost.
type block struct {
	mcp.Content // never set; it makes a block one of mcp-go's
	raw         json.RawMessage
}

func (b block) MarshalJSON() ([]byte, error) { return b.raw, nil }

// blocksOf returns the content blocks, or the structured content as text for
// clients that show nothing else.
func blocksOf(content engines.Content) []mcp.Content {
	var raw []json.RawMessage
	if json.Unmarshal(content.Blocks, &raw) != nil || len(raw) == 0 {
		return toolResult(content.Structured).Content
	}
	blocks := make([]mcp.Content, len(raw))
	for i, each := range raw {
		blocks[i] = block{raw: each}
	}
	return blocks
}

// toolResult holds the same JSON twice: some clients show the model only the
// structured content, others only the text.
func toolResult(structured json.RawMessage) *mcp.CallToolResult {
	return &mcp.CallToolResult{
		Content:           []mcp.Content{mcp.NewTextContent(string(structured))},
		StructuredContent: structured,
	}
}

// failed returns the result of a call that went wrong: the fault object
// {error, details, diagnostics}, marked as an error.
func failed(coded *fault.Error) outcome {
	structured, err := jsonvalue.Encode(coded)
	if err != nil {
		structured = json.RawMessage(`{"error":"INTERNAL","details":"","diagnostics":[]}`)
	}
	result := toolResult(structured)
	result.IsError = true
	return outcome{result: result, code: coded.Code}
}

// wireResult is a tool's result as it is written. mcp-go's own marshalling
// copies a large result several times and escapes <, > and &.
type wireResult struct {
	Meta              *mcp.Meta         `json:"_meta,omitempty"`
	ResultType        mcp.ResultType    `json:"resultType,omitempty"`
	Content           []mcp.Content     `json:"content,omitempty"`
	StructuredContent any               `json:"structuredContent,omitempty"`
	IsError           bool              `json:"isError,omitempty"`
	InputRequests     mcp.InputRequests `json:"inputRequests,omitempty"`
	RequestState      string            `json:"requestState,omitempty"`
}

// onWire returns a result in the form it is written in.
func onWire(result any) any {
	given, isTool := result.(*mcp.CallToolResult)
	if !isTool {
		return result
	}
	return wireResult{
		Meta: given.Meta, ResultType: given.ResultType, Content: given.Content,
		StructuredContent: given.StructuredContent, IsError: given.IsError,
		InputRequests: given.InputRequests, RequestState: given.RequestState,
	}
}
