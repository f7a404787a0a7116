package workflows

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"savant/cmd/savant/terminal"
	"savant/internal/jsonvalue"
)

// choice is a value that a person can choose.
type choice struct {
	value any
	text  string // as shown and typed
	title string // its title, or ""
}

// String formats the choice for a list.
func (c choice) String() string {
	if c.title == "" {
		return terminal.Visible(c.text)
	}
	return terminal.Visible(c.text) + "  " + terminal.Visible(c.title)
}

// several reports whether the value is a list of choices.
func (f field) several() bool { return f.schema["type"] == "array" }

// choices are the values that a schema allows, if they can be listed: an enum, a const,
// alternatives with one value each, or those of a list's items.
func (f field) choices() []choice {
	schema := f.schema
	if f.several() {
		schema, _ = schema["items"].(map[string]any)
	}
	var found []choice
	if enum, _ := schema["enum"].([]any); len(enum) > 0 {
		for _, each := range enum {
			found = append(found, choice{value: each})
		}
		return shown(found)
	}
	if value, has := schema["const"]; has {
		return shown([]choice{{value: value}})
	}
	for _, keyword := range []string{"oneOf", "anyOf"} {
		alternatives, _ := schema[keyword].([]any)
		for _, each := range alternatives {
			described, _ := each.(map[string]any)
			value, has := described["const"]
			if !has {
				return nil
			}
			title, _ := described["title"].(string)
			found = append(found, choice{value: value, title: title})
		}
		if len(found) > 0 {
			return shown(found)
		}
	}
	return nil
}

// shown sets the texts of choices: a string as it is and any other value as JSON, or
// all as JSON if a text would be empty or ambiguous.
func shown(choices []choice) []choice {
	seen := map[string]bool{"": true}
	for i := range choices {
		choices[i].text = encodedShort(choices[i].value)
		if text, ok := choices[i].value.(string); ok && strings.TrimSpace(text) == text {
			choices[i].text = text
		}
		if seen[choices[i].text] {
			for j := range choices {
				choices[j].text = encodedShort(choices[j].value)
			}
			return choices
		}
		seen[choices[i].text] = true
	}
	return choices
}

// numbered reports whether a choice can be selected by its number: no choice's text is
// the number of another.
func numbered(choices []choice) bool {
	for i, each := range choices {
		number, err := strconv.Atoi(each.text)
		if err == nil && number != i+1 && number >= 1 && number <= len(choices) {
			return false
		}
	}
	return true
}

// chosenOf returns the choice selected by text, title or number.
func chosenOf(line string, choices []choice) []any {
	for _, same := range []func(c choice) bool{
		func(c choice) bool { return line == c.text },
		func(c choice) bool { return strings.EqualFold(line, c.text) || strings.EqualFold(line, c.title) },
	} {
		for _, each := range choices {
			if same(each) {
				return []any{each.value}
			}
		}
	}
	number, err := strconv.Atoi(line)
	if err != nil || number < 1 || number > len(choices) || !numbered(choices) {
		return nil
	}
	return []any{choices[number-1].value}
}

// severalOf returns the list of the choices in a comma-separated line.
func severalOf(line string, choices []choice) []any {
	if value, err := jsonvalue.Decode([]byte(line)); err == nil {
		if list, ok := value.([]any); ok {
			return []any{list}
		}
	}
	list := []any{}
	for part := range strings.SplitSeq(line, ",") {
		one := chosenOf(strings.TrimSpace(part), choices)
		if one == nil {
			return nil
		}
		list = append(list, one[0])
	}
	return []any{list}
}

// encodedShort returns a value as JSON on one line.
func encodedShort(value any) string {
	encoded, err := jsonvalue.Encode(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(bytes.TrimSpace(encoded))
}
