package mcpio

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/mark3labs/mcp-go/mcp"
)

// ReceiptKey is the member under which the reply of a witnessed call carries
// the id of its receipt: what think.next takes as result_ref.
const ReceiptKey = "_receipt"

// WithReceipt puts the id of a receipt into the JSON of a result, in the place
// of one it may have: that of a Savant mounted in this one. It comes first,
// where a client that cuts long results leaves it. A result that is no object
// is returned as it is, and so is any without an id.
func WithReceipt(encoded json.RawMessage, receipt string) json.RawMessage {
	if receipt == "" || len(encoded) == 0 || encoded[0] != '{' {
		return encoded
	}
	rest := bytes.TrimSpace(withoutReceipt(encoded)[1:])
	out := make([]byte, 0, len(rest)+len(receipt)+16)
	out = append(out, `{"`+ReceiptKey+`":"`+receipt+`"`...)
	if rest[0] != '}' {
		out = append(out, ',')
	}
	return append(out, rest...)
}

func withoutReceipt(encoded json.RawMessage) json.RawMessage {
	var members map[string]json.RawMessage
	if !bytes.Contains(encoded, []byte(`"`+ReceiptKey+`"`)) || json.Unmarshal(encoded, &members) != nil || members[ReceiptKey] == nil {
		return encoded
	}
	delete(members, ReceiptKey)
	rest, err := json.Marshal(members)
	if err != nil {
		return encoded
	}
	return rest
}

// attach puts the receipt of a call into its result: into the structured
// content and the text that repeats it, or into a text of its own where there
// is no such content or the tool's output schema would not have it.
func attach(result *mcp.CallToolResult, receipt string, output json.RawMessage) {
	structured, _ := result.StructuredContent.(json.RawMessage)
	if len(structured) > 0 && (result.IsError || takesReceipts(output)) {
		carrying := WithReceipt(structured, receipt)
		result.StructuredContent = carrying
		if at := slices.IndexFunc(result.Content, func(c mcp.Content) bool { return repeats(c, structured) }); at >= 0 {
			result.Content[at] = mcp.NewTextContent(string(carrying))
			return
		}
	}
	result.Content = append(result.Content, mcp.NewTextContent(`{"`+ReceiptKey+`":"`+receipt+`"}`))
}

// repeats says whether a content block is the structured content as text.
func repeats(content mcp.Content, structured json.RawMessage) bool {
	var shown string
	switch each := content.(type) {
	case mcp.TextContent:
		shown = each.Text
	case block:
		var described struct{ Type, Text string }
		if json.Unmarshal(each.raw, &described) != nil || described.Type != "text" {
			return false
		}
		shown = described.Text
	}
	return shown == string(structured) || sameJSON([]byte(shown), structured)
}

// sameJSON compares two texts but for white space between tokens.
func sameJSON(one, other []byte) bool {
	var a, b bytes.Buffer
	return json.Compact(&a, one) == nil && json.Compact(&b, other) == nil && bytes.Equal(a.Bytes(), b.Bytes())
}
