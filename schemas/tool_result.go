package schemas

import (
	"maps"
	"slices"
	"strings"

	"savant/fault"
	"savant/internal/jsonvalue"
)

// FailedCall returns the CallToolResult of a failed call.
func FailedCall(err error) map[string]any {
	text := string(jsonvalue.Encoded(fault.From(err)))
	return map[string]any{"isError": true, "content": []any{map[string]any{"type": "text", "text": text}}}
}

// resultMembers are the members of an MCP CallToolResult.
var resultMembers = []string{"content", "structuredContent", "isError", "_meta", "resultType"}

// IsResultMember reports whether a CallToolResult has a member of this name.
func IsResultMember(name string) bool { return slices.Contains(resultMembers, name) }

// IsToolResult reports whether a value has the form of an MCP CallToolResult, and not
// just members of the same names. also are further members that one may have.
func IsToolResult(value any, also ...string) bool {
	object, ok := value.(map[string]any)
	if !ok {
		return false
	}
	content, isResult := object["content"].([]any)
	_, structured := object["structuredContent"]
	failed, _ := object["isError"].(bool)
	if !isResult && !structured && !failed {
		return false
	}
	for key := range object {
		if !slices.Contains(resultMembers, key) && !slices.Contains(also, key) {
			return false
		}
	}
	for _, item := range content {
		block, ok := item.(map[string]any)
		if kind, typed := block["type"].(string); !ok || !typed || kind == "" {
			return false
		}
	}
	return true
}

// ContentValue returns the value of the text of a result without structured content: its
// JSON, else {"text": …}. It is the one rule for a result, whoever carries it.
func ContentValue(text string) any {
	if parsed := Normalise(text); jsonvalue.Kind(parsed) != "string" {
		return WithoutReceipt(parsed)
	}
	return map[string]any{"text": text}
}

// ContentText joins the texts of content blocks by line breaks, without those that only
// carry a receipt. The text of a resource is that which it holds, else its name and address.
func ContentText(content []any) string { return joinTexts(content, true) }

// BlockText is ContentText without resources.
func BlockText(content []any) string { return joinTexts(content, false) }

func joinTexts(content []any, resources bool) string {
	var parts []string
	for _, item := range content {
		block, _ := item.(map[string]any)
		if inner, is := block["resource"].(map[string]any); is && resources {
			block = inner
		}
		text, ok := block["text"].(string)
		if uri, is := block["uri"].(string); is && !ok && resources {
			name, _ := block["name"].(string)
			text, ok = strings.TrimSpace(name+" "+uri), true
		}
		if ok && !OnlyReceipt(text) {
			parts = append(parts, text)
		}
	}
	return strings.Join(parts, "\n")
}

// The members that Savant adds to the reply of a tool: the receipt of the call, and
// beside it what was left out of the call.
const (
	ReceiptMember = "_receipt"
	WarningMember = "_warning"
)

// The words of the warning, by which it is told from a tool's own member of that name.
const (
	warningStart = "the tool does not declare "
	warningEnd   = ": the call was made without"
)

// Warning returns the warning that names what was left out of a call.
func Warning(names string) string { return warningStart + names + warningEnd }

// IsWarning reports whether a member is Savant's warning, and not the tool's own.
func IsWarning(member any) bool {
	text, _ := member.(string)
	return strings.HasPrefix(text, warningStart) && strings.HasSuffix(text, warningEnd)
}

// WithoutReceipt removes what Savant added to a reply that was sent as it came, because it
// is not part of the tool's result.
func WithoutReceipt(value any) any {
	object, ok := value.(map[string]any)
	_, carries := object[ReceiptMember].(string)
	warns := IsWarning(object[WarningMember])
	if !ok || !carries && !warns {
		return value
	}
	object = maps.Clone(object)
	if carries {
		delete(object, ReceiptMember)
	}
	if warns {
		delete(object, WarningMember)
	}
	return object
}

// MaxReceiptText exceeds the length of every text that holds only a receipt.
const MaxReceiptText = 4000

// OnlyReceipt reports whether a text only carries a receipt and is not part of the
// tool's result.
func OnlyReceipt(text string) bool {
	if len(text) > MaxReceiptText || !strings.HasPrefix(text, `{"`+ReceiptMember+`":`) {
		return false
	}
	value, err := jsonvalue.DecodeStored([]byte(text))
	rest, _ := WithoutReceipt(value).(map[string]any)
	return err == nil && len(rest) == 0
}
