package service

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"savant/internal/jsonvalue"
	"savant/internal/redact"
	"savant/reasoning"
)

// answerInstructions is the first section of a prompt for the answer of a step.
//
//go:embed answer.md
var answerInstructions string

// writeAnswerSystem is the form of the answer, with its schema.
func writeAnswerSystem(request reasoning.Request, _ int) string {
	text := strings.TrimSpace(answerInstructions)
	if schema := request.Question.Schema; len(schema) > 0 {
		return text + "\n\nAnswer with one JSON value and nothing else. It has to fit this JSON Schema:\n" + string(schema)
	}
	return text + "\n\nAnswer with the answer and nothing else. If the task asks for JSON, that is the JSON value alone."
}

// writeNotes writes what was wrong with the previous attempt.
func writeNotes(request reasoning.Request, limit int) string {
	var out strings.Builder
	for _, note := range request.Policy.Notes {
		out.WriteString("- " + note + "\n")
	}
	return cut(out.String(), limit)
}

// writeInput writes the data of a question: each member under its name, texts verbatim.
// If it is too long, it cuts the longest texts to the same length, each with a note;
// then the longest lists; at last the whole.
func writeInput(request reasoning.Request, limit int) string {
	members, data := dataOf(request)
	if members == nil {
		return cut(data, limit)
	}
	whole := written(members)
	if Tokens(whole) <= limit {
		return whole
	}
	text := shortest(func(length int) string { return written(shorten(members, length, unbounded)) }, shortestText, len(whole), limit)
	if Tokens(text) > limit {
		text = shortest(func(length int) string { return written(shorten(members, shortestText, length)) }, 1, len(whole), limit)
	}
	return cut(text, limit)
}

// dataOf returns the data of a question as a model may see it, and its members; nil if
// it is no object.
func dataOf(request reasoning.Request) (members map[string]any, data string) {
	if data = request.Data(); data == "" {
		return nil, ""
	}
	data = redact.Shapes().Certain().Text(data)
	if value, err := jsonvalue.DecodeStored([]byte(data)); err == nil {
		members, _ = value.(map[string]any)
	}
	return members, data
}

// seen returns, for each text of the data that a section does not show whole, how many
// of its first lines it shows.
func seen(request reasoning.Request, section string) map[string]int {
	members, _ := dataOf(request)
	cut := map[string]int{}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		text, isText := members[name].(string)
		if !isText {
			continue
		}
		_, shown, found := strings.Cut("\n"+section, heading(name))
		lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
		count := 0
		for ; found && count < len(lines); count++ {
			line, rest, more := strings.Cut(shown, "\n")
			if line != lines[count] {
				break
			}
			shown, found = rest, more
			section = rest
		}
		if count < len(lines) {
			cut[name] = count
		}
	}
	return cut
}

// shortestText is the length in bytes below which a text is not cut.
const shortestText = 200

// shortest returns the output of write for the largest length between least and most
// that fits the token limit; if none fits, the output for least.
func shortest(write func(length int) string, least, most, limit int) string {
	best := write(least)
	for least < most-1 {
		middle := least + (most-least)/2
		if text := write(middle); Tokens(text) <= limit {
			best, least = text, middle
		} else {
			most = middle
		}
	}
	return best
}

// shorten cuts the texts of a value to a number of bytes and its lists to a number of
// items, each with a note of how much is missing.
func shorten(value any, text, items int) any {
	switch value := value.(type) {
	case string:
		return shortenText(value, text)
	case []any:
		kept := make([]any, 0, min(len(value), items)+1)
		for _, each := range value[:min(len(value), items)] {
			kept = append(kept, shorten(each, text, items))
		}
		if left := len(value) - len(kept); left > 0 {
			kept = append(kept, fmt.Sprintf("… (%d items left out)", left))
		}
		return kept
	case map[string]any:
		kept := make(map[string]any, len(value))
		for name, each := range value {
			kept[name] = shorten(each, text, items)
		}
		return kept
	}
	return value
}

// shortenText cuts a text at the end of a line, if there is one near.
func shortenText(text string, length int) string {
	if len(text) <= length {
		return text
	}
	keep := length
	for keep > 0 && !utf8.RuneStart(text[keep]) {
		keep--
	}
	if line := strings.LastIndexByte(text[:keep], '\n'); line > keep*3/4 {
		keep = line
	}
	return text[:keep] + fmt.Sprintf("\n… (%d of %d tokens left out)", Tokens(text[keep:]), Tokens(text))
}

// written formats data for a model.
func written(value any) string {
	members := value.(map[string]any)
	var out strings.Builder
	for i, name := range slices.Sorted(maps.Keys(members)) {
		if i > 0 {
			out.WriteString("\n\n")
		}
		text, isText := members[name].(string)
		if !isText {
			text = string(jsonvalue.Encoded(members[name]))
		}
		out.WriteString(strings.TrimLeft(heading(name), "\n") + strings.TrimRight(text, "\n"))
	}
	return out.String()
}

// heading is what stands before a member of the data.
func heading(name string) string { return "\n## " + name + "\n" }

// schemaOf returns the schema of the answer, for services that can enforce one: the
// question's, or that of intents.
func schemaOf(request reasoning.Request) (schema json.RawMessage, exact bool) {
	switch {
	case request.Question == nil:
		return intentSchema, false
	case len(request.Question.Schema) == 0 || request.Question.Schema[0] != '{':
		return nil, false
	}
	return request.Question.Schema, true
}
