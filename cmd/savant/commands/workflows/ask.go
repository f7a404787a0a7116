package workflows

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"savant/cmd/savant/terminal"
	"savant/internal/jsonvalue"
)

// approves asks for a person's decision: yes, decline, or later, which leaves the step
// waiting and is ErrNoAnswer.
func (p *program) approves(ctx context.Context) (approved bool, err error) {
	for {
		said, err := p.Typed.Ask(ctx, p.Stdin, p.Stdout, "Approve? [y]es / [d]ecline / [l]ater ")
		if err != nil {
			return false, err
		}
		switch strings.ToLower(said) {
		case "y", "yes":
			return true, nil
		case "d", "decline":
			return false, nil
		case "l", "later", "n", "no", "":
			return false, terminal.ErrNoAnswer
		}
		fmt.Fprintln(p.Stdout, "Answer y, d or l.")
	}
}

// ask asks for a value of a schema: choices for an enum, fields for an object.
func (p *program) ask(ctx context.Context, schema any) (any, error) {
	described, _ := schema.(map[string]any)
	fields, isForm := described["properties"].(map[string]any)
	if !isForm || len(fields) == 0 {
		value, _, err := p.askValue(ctx, "Answer", described, true)
		return value, err
	}
	required, _ := described["required"].([]any)
	needed := func(name string) bool { return slices.Contains(required, any(name)) }
	names := slices.SortedFunc(maps.Keys(fields), func(a, b string) int {
		if needed(a) != needed(b) {
			return map[bool]int{true: -1, false: 1}[needed(a)]
		}
		return cmp.Compare(a, b)
	})
	answer := map[string]any{}
	for _, name := range names {
		field, _ := fields[name].(map[string]any)
		value, given, err := p.askValue(ctx, name, field, needed(name))
		if err != nil {
			return nil, err
		}
		if given {
			answer[name] = value
		}
	}
	return answer, nil
}

// askValue asks for one value until what is typed can be one. A value that may be left
// out is by an empty line.
func (p *program) askValue(ctx context.Context, name string, schema map[string]any, needed bool) (value any, given bool, err error) {
	choices, _ := schema["enum"].([]any)
	label := terminal.Visible(name)
	for _, member := range []string{"title", "description"} {
		if text, _ := schema[member].(string); text != "" {
			label += " (" + terminal.Visible(text) + ")"
			break
		}
	}
	for i, each := range choices {
		fmt.Fprintf(p.Stdout, "  %d  %s\n", i+1, terminal.Visible(shownChoice(each)))
	}
	switch {
	case len(choices) > 0:
		label += fmt.Sprintf(" [1-%d]", len(choices))
	case schema["type"] == "boolean":
		label += " [y/n]"
	case schema["type"] == "integer" || schema["type"] == "number":
		label += " [" + fmt.Sprint(schema["type"]) + "]"
	case schema["type"] == "array" || schema["type"] == "object":
		label += " [JSON " + fmt.Sprint(schema["type"]) + "]"
	}
	if !needed {
		label += " (optional)"
	}
	for {
		line, err := p.Typed.Ask(ctx, p.Stdin, p.Stdout, label+": ")
		if err != nil {
			return nil, false, err
		}
		if line == "" && !needed {
			return nil, false, nil
		}
		if value, ok := valueOf(line, schema, choices); ok {
			return value, true, nil
		}
		fmt.Fprintln(p.Stdout, "That does not fit.")
	}
}

// valueOf reads what was typed for a schema; false where it cannot be meant.
func valueOf(line string, schema map[string]any, choices []any) (any, bool) {
	if len(choices) > 0 {
		for _, each := range choices { // a value before a number: a choice may be a number
			if strings.EqualFold(line, shownChoice(each)) {
				return each, true
			}
		}
		number, err := strconv.Atoi(line)
		if err != nil || number < 1 || number > len(choices) {
			return nil, false
		}
		return choices[number-1], true
	}
	switch schema["type"] {
	case "boolean":
		switch strings.ToLower(line) {
		case "y", "yes", "true":
			return true, true
		case "n", "no", "false":
			return false, true
		}
		return nil, false
	case "integer", "number", "array", "object":
		value, err := jsonvalue.Decode([]byte(line))
		return value, err == nil && ofType(value, schema["type"])
	}
	if schema == nil {
		return line, true
	}
	return typed(line, schema), true
}

// ofType reports whether a value is of a JSON type, roughly: the schema decides.
func ofType(value, kind any) bool {
	switch value.(type) {
	case map[string]any:
		return kind == "object"
	case []any:
		return kind == "array"
	case string, bool, nil:
		return false
	}
	return kind == "integer" || kind == "number"
}

// shownChoice is a choice as a person reads and types it.
func shownChoice(value any) string {
	if text, ok := value.(string); ok {
		return text
	}
	encoded, err := jsonvalue.Encode(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(bytes.TrimSpace(encoded))
}
