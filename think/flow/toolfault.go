package flow

import (
	"encoding/json"

	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/internal/pattern"
)

// codeShape is how an error code of a tool looks.
var codeShape = pattern.Lazy(`^[A-Z][A-Z0-9_]{1,63}$`)

// toolFailed is the failure of an attempt whose tool reported an error. Where
// the tool said it as Savant does, with a code and details, these are shown;
// else the text is.
func toolFailed(result map[string]any, text string) *fault.Error {
	if said := toolFault(result, text); said != nil {
		details := said.Error()
		if said.Code == fault.ToolFailed {
			details = said.Details
		}
		return fault.New(fault.ToolFailed, "%s", fault.Cut(details, 1000)).With(said.Diagnostics...)
	}
	said := "the tool failed"
	if text != "" {
		said += ": " + fault.Cut(text, 1000)
	}
	return fault.New(fault.ToolFailed, "%s", said).With(
		fault.Diagnostic{Pointer: "/isError", Message: "the tool reported an error", Expected: "a result", Actual: fault.Cut(text, 400)})
}

// toolFault reads {"error": CODE, "details": text, …} from the result of a call
// that failed: from its text, else from what is structured; nil where neither
// is one.
func toolFault(result map[string]any, text string) *fault.Error {
	structured, _ := jsonvalue.Encode(result["structuredContent"]) // it came from JSON
	for _, each := range [][]byte{[]byte(text), structured} {
		said := new(fault.Error)
		if json.Unmarshal(each, said) == nil && codeShape().MatchString(string(said.Code)) && said.Details != "" {
			return said
		}
	}
	return nil
}

// hopeless says whether a result is the failure of a call that would fail again:
// its error says "retry": false. Who called the tool with exactly what was asked
// for knows that better than the workflow.
func hopeless(value any) bool {
	object, _ := value.(map[string]any)
	if failed, _ := object["isError"].(bool); !failed {
		return false
	}
	content, _ := object["content"].([]any)
	said := toolFault(object, contentText(content))
	if said == nil {
		return false
	}
	again, told := said.Extra["retry"].(json.RawMessage)
	return told && string(again) == "false"
}
