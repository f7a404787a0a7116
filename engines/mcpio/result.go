package mcpio

import (
	"encoding/json"
	"fmt"

	"github.com/mark3labs/mcp-go/mcp"

	"savant/fault"
	"savant/internal/jsonvalue"
)

// structure returns a tool's value as the JSON object that structuredContent
// has to be: a value of another kind is wrapped as {"result": value}.
func structure(value any) (json.RawMessage, error) {
	data, err := jsonvalue.Encode(value)
	if err != nil {
		return nil, fmt.Errorf("the result does not marshal: %w", err)
	}
	if data[0] == '{' {
		return data, nil
	}
	wrapped := append([]byte(`{"result":`), data...)
	return append(wrapped, '}'), nil
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
	structured, err := structure(coded)
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
