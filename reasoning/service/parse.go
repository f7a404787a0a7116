package service

import (
	"encoding/json"
	"strings"

	"savant/fault"
	"savant/internal/pattern"
	"savant/reasoning"
)

// maxText bounds a model's answer in bytes, maxTries the candidates in it that are
// parsed.
const (
	maxText  = 1 << 20
	maxTries = 32
)

// Parse extracts the intent from a model's text: the whole text, a fenced block, or an
// object amid prose. It repairs common mistakes (single quotes, trailing commas,
// Python's True, other names for the members) and lists them in Repairs. INVALID_INTENT
// describes the best candidate's error.
func Parse(text string, tools []reasoning.Tool) (reasoning.Intent, error) {
	if len(text) > maxText {
		return reasoning.Intent{}, fault.New(fault.InvalidIntent, "the answer is not an intent: it is larger than %d bytes", maxText)
	}
	text = withoutThoughts(text)
	var first error
	for i, candidate := range candidates(text) {
		intent, err := read(candidate, tools)
		if err == nil {
			if i > 0 {
				intent.Repairs = append([]string{"the intent stood amid other text"}, intent.Repairs...)
			}
			return intent, nil
		}
		if first == nil || i == 1 { // the first object's error is more useful than the whole text's
			first = err
		}
	}
	return reasoning.Intent{}, first
}

// thoughts matches the reasoning that some models write before their answer. thinking
// and thought match its tags: the end is missing in a truncated text, the start if the
// prompt contained it.
var (
	thoughts = pattern.Lazy(`(?s)<(think|thinking|reasoning)>.*?</(think|thinking|reasoning)>`)
	thinking = pattern.Lazy(`<(think|thinking|reasoning)>`)
	thought  = pattern.Lazy(`(?s)^.*</(think|thinking|reasoning)>`)
)

// withoutThoughts removes thoughts, so that a merely considered intent is not executed.
// A text that is one object is unchanged.
func withoutThoughts(text string) string {
	text = strings.TrimSpace(text)
	if strings.HasPrefix(text, "{") && closing(text, 0) == len(text) {
		return text
	}
	text = thoughts().ReplaceAllString(text, "")
	text = thought().ReplaceAllString(text, "")
	if cut := thinking().FindStringIndex(text); cut != nil {
		text = text[:cut[0]]
	}
	return strings.TrimSpace(text)
}

// leading matches thoughts at the beginning of a text, without an end if the text was
// truncated, or without a start if the prompt contained it: then the end has its own line, or an
// empty line follows it.
var leading = pattern.Lazy(`(?s)^(?:\s*<(?:think|thinking|reasoning)>.*?(?:</(?:think|thinking|reasoning)>|$))+` +
	`|^.*?(?:\n</(?:think|thinking|reasoning)>[ \t]*(?:\n|$)|</(?:think|thinking|reasoning)>[ \t]*\n[ \t]*\n)`)

// withoutLeadingThoughts is withoutThoughts for free text, which may itself be about such
// tags.
func withoutLeadingThoughts(text string) string {
	return strings.TrimSpace(leading().ReplaceAllString(text, ""))
}

// fence is a block of Markdown.
var fence = pattern.Lazy("(?s)```[a-zA-Z]*\\s*\\n?(.*?)```")

// candidates are the whole text, its fenced blocks, and each object in it. After maxTries
// braces that nothing closes it looks for no further object.
func candidates(text string) []string {
	list := []string{text}
	for _, block := range fence().FindAllStringSubmatch(text, maxTries) {
		list = append(list, strings.TrimSpace(block[1]))
	}
	for from, open := 0, 0; from < len(text) && len(list) < maxTries && open < maxTries; {
		start := strings.IndexByte(text[from:], '{')
		if start < 0 {
			break
		}
		start += from
		end := closing(text, start)
		if end < 0 {
			from = start + 1
			open++
			continue
		}
		if object := text[start:end]; object != text {
			list = append(list, object)
		}
		from = end
	}
	return list
}

// closing returns the end of the object that begins at start, or -1.
func closing(text string, start int) int {
	depth, inString := 0, false
	for i := start; i < len(text); i++ {
		switch c := text[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{':
			depth++
		case c == '}':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return -1
}

// read parses one candidate, repairing almost-JSON and misnamed members.
func read(candidate string, tools []reasoning.Tool) (reasoning.Intent, error) {
	var repairs []string
	if !json.Valid([]byte(candidate)) {
		if lenient := lenientJSON(candidate); json.Valid([]byte(lenient)) {
			candidate, repairs = lenient, append(repairs, "it was not quite JSON")
		}
	}
	if renamed, changed := rename(candidate); changed {
		candidate, repairs = renamed, append(repairs, "members had other names")
	}
	intent, err := reasoning.ParseIntent([]byte(candidate), tools)
	intent.Repairs = append(repairs, intent.Repairs...)
	return intent, err
}

// otherNames are names that models use for the members of an intent.
var otherNames = map[string][]string{
	"tool_name": {"tool", "name", "function"},
	"args":      {"arguments", "parameters", "input", "tool_input", "tool_args"},
	"final":     {"answer", "final_answer", "response"},
	"reasoning": {"thought", "thoughts", "rationale"},
}

// otherActions are names that models use for the actions.
var otherActions = map[string]reasoning.Action{
	"call": reasoning.ActionTool, "tool_call": reasoning.ActionTool, "call_tool": reasoning.ActionTool, "use_tool": reasoning.ActionTool,
	"think": reasoning.ActionReason, "thought": reasoning.ActionReason,
	"final": reasoning.ActionFinish, "final_answer": reasoning.ActionFinish, "answer": reasoning.ActionFinish, "done": reasoning.ActionFinish,
}

// rename corrects the names of the members of an intent and its calls, and infers a
// missing action from the other members.
func rename(text string) (renamed string, changed bool) {
	var members map[string]json.RawMessage
	if json.Unmarshal([]byte(text), &members) != nil || members == nil {
		return text, false
	}
	changed = renameMembers(members)
	var calls []map[string]json.RawMessage
	if json.Unmarshal(members["calls"], &calls) == nil && calls != nil {
		for _, call := range calls {
			changed = renameMembers(call) || changed
		}
		members["calls"] = encode(calls)
	}
	if action := actionOf(members); action != "" {
		members["action"], changed = encode(action), true
	}
	if !changed {
		return text, false
	}
	return string(encode(members)), true
}

func renameMembers(members map[string]json.RawMessage) (changed bool) {
	for name, others := range otherNames {
		for _, other := range others {
			value, has := members[other]
			if _, named := members[name]; has && !named {
				members[name], changed = value, true
				delete(members, other)
			}
		}
	}
	return changed
}

// actionOf returns the action of an intent with a missing or misnamed one; else "".
func actionOf(members map[string]json.RawMessage) reasoning.Action {
	var action string
	if raw, has := members["action"]; has && json.Unmarshal(raw, &action) != nil {
		return ""
	}
	switch meant := otherActions[strings.ToLower(strings.TrimSpace(action))]; {
	case meant != "" || action != "":
		return meant
	case members["tool_name"] != nil || members["calls"] != nil:
		return reasoning.ActionTool
	case members["final"] != nil:
		return reasoning.ActionFinish
	}
	return ""
}

// encode encodes a value that was decoded from JSON, so it cannot fail.
func encode(value any) json.RawMessage {
	raw, err := json.Marshal(value)
	if err != nil {
		panic("service: what was JSON does not marshal: " + err.Error())
	}
	return raw
}
