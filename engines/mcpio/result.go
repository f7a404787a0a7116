package mcpio

import (
	"encoding/json"

	"github.com/mark3labs/mcp-go/mcp"

	"savant/engines"
	"savant/fault"
	"savant/internal/jsonvalue"
)

// callResult is the result of tools/call as it is written. The marshalling of
// mcp.CallToolResult copies a large result several times and escapes <, > and &.
type callResult struct {
	mcp.Result
	Content           []any             `json:"content,omitempty"`
	StructuredContent json.RawMessage   `json:"structuredContent,omitempty"`
	IsError           bool              `json:"isError,omitempty"`
	InputRequests     mcp.InputRequests `json:"inputRequests,omitempty"`
	RequestState      string            `json:"requestState,omitempty"`
}

// textBlock is a content block of text.
type textBlock struct {
	Type string `json:"type"` // always "text"
	Text string `json:"text"`
}

func newText(text json.RawMessage) textBlock { return textBlock{"text", string(text)} }

// newOutcome returns how a call went, as the client gets it.
func newOutcome(target engines.Target, result engines.Result, err error) outcome {
	output := target.Output()
	if err == nil && result.Artifact != "" && len(output.Published) > 0 {
		// An excerpt is not a result of that schema.
		err = fault.New(fault.LimitExceeded, "the result is too large to hand on; \"result\" says where it is kept").Attach("result", result.JSON)
	}
	if err != nil {
		coded := fault.From(err)
		made := newResult(faultJSON(coded), nil, result.Receipt, true)
		made.IsError = true
		if !output.Faults {
			made.StructuredContent = nil // clients validate it, and would only show that it does not fit
		}
		return outcome{made, coded.Code}
	}
	if content, whole := result.Value.(engines.Content); whole {
		return outcome{result: newResult(content.Structured, content.Blocks, result.Receipt, output.Receipts)}
	}
	return outcome{result: newResult(asObject(result.JSON), nil, result.Receipt, output.Receipts)}
}

// newResult returns a result with the same JSON twice, structured and as text:
// some clients show the model only the one, others only the other. blocks, when
// given, are the content instead. The receipt is a member of that JSON if
// mayCarry says so, else a text of its own.
func newResult(structured, blocks json.RawMessage, receipt string, mayCarry bool) *callResult {
	result := &callResult{StructuredContent: structured}
	carried := receipt == ""
	if !carried && mayCarry && len(structured) > 0 {
		result.StructuredContent = engines.WithReceipt(structured, receipt)
	}
	var given []json.RawMessage
	if json.Unmarshal(blocks, &given) != nil || len(given) == 0 {
		result.Content = append(result.Content, newText(result.StructuredContent))
		carried = carried || mayCarry && len(structured) > 0
	}
	for _, block := range given {
		if !carried && mayCarry && repeats(block, structured) {
			result.Content = append(result.Content, newText(result.StructuredContent))
			carried = true
			continue
		}
		result.Content = append(result.Content, block)
	}
	if !carried {
		result.Content = append(result.Content, newText(json.RawMessage(`{"`+engines.ReceiptKey+`":"`+receipt+`"}`)))
	}
	return result
}

// repeats says whether a content block is the structured content as text.
func repeats(block, structured json.RawMessage) bool {
	return len(structured) > 0 && jsonvalue.TextMember(block, "type") == "text" &&
		engines.SameJSON([]byte(jsonvalue.TextMember(block, "text")), structured)
}

// asObject returns a value as the JSON object that structuredContent has to
// be: a value of another kind is wrapped as {"result": value}.
func asObject(encoded json.RawMessage) json.RawMessage {
	if encoded[0] == '{' {
		return encoded
	}
	wrapped := append([]byte(`{"result":`), encoded...)
	return append(wrapped, '}')
}

// faultJSON returns the fault object {error, details, diagnostics}.
func faultJSON(coded *fault.Error) json.RawMessage {
	encoded, err := jsonvalue.Encode(coded)
	if err != nil {
		return json.RawMessage(`{"error":"INTERNAL","details":"","diagnostics":[]}`)
	}
	return encoded
}
