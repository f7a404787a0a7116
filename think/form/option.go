package form

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"savant/internal/jsonvalue"
)

// Option is a value that can be chosen.
type Option struct {
	Value any
	Text  string // as shown and typed
	Title string // or ""
}

// optionsOf returns the values that a schema allows, if they can be listed: an enum, a
// const, or alternatives with one value each.
func optionsOf(schema map[string]any) (found []Option) {
	if enum, _ := schema["enum"].([]any); len(enum) > 0 {
		titles, _ := schema["enumNames"].([]any)
		for i, each := range enum {
			option := Option{Value: each}
			if len(titles) == len(enum) {
				option.Title, _ = titles[i].(string)
			}
			found = append(found, option)
		}
		return nameOptions(found)
	}
	if value, has := schema["const"]; has {
		return nameOptions([]Option{{Value: value}})
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
			found = append(found, Option{Value: value, Title: title})
		}
		if len(found) > 0 {
			return nameOptions(found)
		}
	}
	return nil
}

// nameOptions sets the texts of options: a string as it is and any other value as JSON, or all
// as JSON if a text would be empty or ambiguous.
func nameOptions(options []Option) []Option {
	seen := map[string]bool{"": true}
	for i := range options {
		options[i].Text = Encoded(options[i].Value)
		if text, ok := options[i].Value.(string); ok && strings.TrimSpace(text) == text {
			options[i].Text = text
		}
		if seen[options[i].Text] {
			for j := range options {
				options[j].Text = Encoded(options[j].Value)
			}
			return options
		}
		seen[options[i].Text] = true
	}
	return options
}

// Shown returns a value as a person reads it: a string as it is, any other as JSON.
func Shown(value any) string {
	if text, ok := value.(string); ok {
		return text
	}
	return Encoded(value)
}

// Encoded returns a value as JSON on one line.
func Encoded(value any) string {
	raw, err := jsonvalue.Encode(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(bytes.TrimSpace(raw))
}

// Numbered reports whether an option can be chosen by its number: no option's text is the
// number of another.
func (f *Field) Numbered() bool {
	for i, each := range f.Choices {
		number, err := strconv.Atoi(each.Text)
		if err == nil && number != i+1 && number >= 1 && number <= len(f.Choices) {
			return false
		}
	}
	return true
}

// Chosen returns the value of the option with a text, a title or, where Numbered, a
// number.
func (f *Field) Chosen(text string) (value any, ok bool) {
	for _, same := range []func(o Option) bool{
		func(o Option) bool { return text == o.Text },
		func(o Option) bool { return strings.EqualFold(text, o.Text) || strings.EqualFold(text, o.Title) },
	} {
		if at := slices.IndexFunc(f.Choices, same); at >= 0 {
			return f.Choices[at].Value, true
		}
	}
	number, err := strconv.Atoi(text)
	if err != nil || number < 1 || number > len(f.Choices) || !f.Numbered() {
		return nil, false
	}
	return f.Choices[number-1].Value, true
}

// HasByDefault reports whether an option is in the default of the field.
func (f *Field) HasByDefault(option Option) bool {
	text := Encoded(option.Value)
	list, several := f.Default.([]any)
	if !several || f.Kind == Choice {
		list = []any{f.Default}
	}
	return f.HasDefault && slices.ContainsFunc(list, func(each any) bool { return Encoded(each) == text })
}

// Read returns what a typed text can mean, likeliest first; nothing if the field has
// Choices and the text names none.
func (f *Field) Read(text string) []any {
	value, err := jsonvalue.Decode([]byte(text))
	switch {
	case f.Kind == Choices:
		return f.readList(text, value)
	case f.Kind == Choice:
		if chosen, ok := f.Chosen(text); ok {
			return []any{chosen}
		}
		return nil
	case err != nil && slices.Contains(f.Types, "boolean"):
		if meant, ok := map[string]bool{"y": true, "yes": true, "n": false, "no": false}[strings.ToLower(text)]; ok {
			return []any{meant, text}
		}
		return []any{text}
	case err != nil:
		return []any{text}
	case text != `""` && slices.Equal(f.Types, []string{"string"}):
		return []any{text, value}
	}
	return []any{value, text}
}

// readList returns the list that a text means: value where that is one, else the options
// that the text names between commas.
func (f *Field) readList(text string, value any) []any {
	if list, ok := value.([]any); ok {
		return []any{list}
	}
	list := []any{}
	for part := range strings.SplitSeq(text, ",") {
		one, ok := f.Chosen(strings.TrimSpace(part))
		if !ok {
			return nil
		}
		list = append(list, one)
	}
	return []any{list}
}
