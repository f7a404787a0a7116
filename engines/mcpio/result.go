package mcpio

import (
	"bytes"
	"encoding/json"

	"github.com/mark3labs/mcp-go/mcp"

	"savant/engines"
	"savant/fault"
	"savant/internal/jsonvalue"
)

// callResult is the result of tools/call as written. Marshalling mcp.CallToolResult
// would copy a large result several times and escape <, > and &.
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

// linkBlock is a content block that names a resource.
type linkBlock struct {
	Type string `json:"type"` // always "resource_link"
	URI  string `json:"uri"`
	Name string `json:"name"`
	Size int    `json:"size"`
}

// newOutcome returns a call's result for the client. The same JSON is sent twice, as
// structured content and as text, since some clients show the model only one of them.
// The receipt and a warning are members of that JSON if the output schema allows it,
// else a separate text block.
func newOutcome(target engines.Target, result engines.Result, err error) outcome {
	output := target.Output()
	if err == nil && result.Artifact != "" && len(output.Published) > 0 {
		// An excerpt does not fit the output schema.
		err = fault.New(fault.LimitExceeded, "the result is too large for a reply; \"result\" says where it is kept").Attach("result", result.JSON)
	}
	done := outcome{result: &callResult{IsError: err != nil}}
	content, whole := result.Value.(engines.Content)
	mayCarry := output.Receipts
	switch {
	case err != nil:
		coded := fault.From(err)
		done.code = coded.Code
		content, mayCarry = engines.Content{Structured: faultJSON(coded)}, true
	case !whole:
		content.Structured = asObject(result.JSON)
	}
	structured := content.Structured
	if mayCarry {
		structured = result.Annotated(structured)
	}
	blocks, carried := contentBlocks(content, structured)
	whole = mayCarry && carried && !(result.Warning != "" && engines.OwnWarning(content.Structured))
	if note := result.Annotated(json.RawMessage("{}")); len(note) > len("{}") && !whole {
		blocks = append(blocks, textBlock{"text", string(note)})
	}
	done.result.Content = blocks
	if err == nil || output.Faults { // clients validate it, and would only show that it does not fit
		done.result.StructuredContent = structured
	}
	return done
}

// contentBlocks returns the blocks of a content, or else the structured content as
// text. structured may include the receipt: then the block that repeats it without the
// receipt is replaced. repeated reports whether structured is among the blocks.
func contentBlocks(content engines.Content, structured json.RawMessage) (blocks []any, repeated bool) {
	var given []json.RawMessage
	if json.Unmarshal(content.Blocks, &given) != nil || len(given) == 0 {
		return []any{textBlock{"text", string(structured)}}, len(structured) > 0
	}
	unchanged := bytes.Equal(structured, content.Structured)
	for _, block := range given {
		if unchanged || repeated || !repeats(block, content.Structured) {
			blocks = append(blocks, block)
			continue
		}
		blocks = append(blocks, textBlock{"text", string(structured)})
		repeated = true
	}
	return blocks, repeated
}

// repeats reports whether a content block is the structured content as text.
func repeats(block, structured json.RawMessage) bool {
	return len(structured) > 0 && jsonvalue.TextMember(block, "type") == "text" &&
		engines.SameJSON([]byte(jsonvalue.TextMember(block, "text")), structured)
}

// asObject returns a value as a JSON object, which structuredContent must be: any other
// value is wrapped as {"result": value}.
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
