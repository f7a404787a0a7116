package workflows

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"savant/cmd/savant/app"
	"savant/cmd/savant/terminal"
	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/schemas"
)

// approves asks for a person's decision: yes, decline, or later, which is ErrNoAnswer
// and leaves the step waiting.
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
		case "l", "later", "":
			return false, terminal.ErrNoAnswer
		}
		fmt.Fprintln(p.Stdout, "Answer y, d or l: d declines, l answers later.")
	}
}

// questions asks a person at the terminal for a value, field by field.
type questions struct {
	*program
	// schema is the schema of the whole answer; nil if it cannot be compiled here, and
	// the answer is validated only when it is submitted.
	schema *schemas.Schema
	whole  any // the answer so far
}

// ask asks for a value of a schema: a choice for an enum, fields for an object. A value
// that does not fit is reported and asked for again.
func (p *program) ask(ctx context.Context, a *app.App, schema any) (any, error) {
	q := &questions{program: p}
	if set, err := a.Think.Library.Schemas(); err == nil && schema != nil {
		q.schema, _ = set.Inline(schema)
	}
	described, _ := schema.(map[string]any)
	if schema == nil {
		described = map[string]any{"type": "string"}
	}
	if len(members(described)) > 0 {
		answer := map[string]any{}
		q.whole = answer
		return answer, q.askFields(ctx, described, answer, "", "")
	}
	one := field{name: "Answer", schema: described, needed: true, put: func(value any) { q.whole = value }}
	_, err := q.askValue(ctx, one)
	return q.whole, err
}

// members returns the fields of an object's schema.
func members(schema map[string]any) map[string]any {
	fields, _ := schema["properties"].(map[string]any)
	return fields
}

// askFields asks for the fields of an object, required ones first.
func (q *questions) askFields(ctx context.Context, schema, answer map[string]any, at, label string) error {
	required, _ := schema["required"].([]any)
	needed := func(name string) bool { return slices.Contains(required, any(name)) }
	names := slices.SortedFunc(maps.Keys(members(schema)), func(a, b string) int {
		if needed(a) != needed(b) {
			return map[bool]int{true: -1, false: 1}[needed(a)]
		}
		return cmp.Compare(a, b)
	})
	for _, name := range names {
		described, _ := members(schema)[name].(map[string]any)
		one := field{name: label + name, at: at + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name), schema: described, needed: needed(name),
			put: func(value any) { answer[name] = value }}
		given, err := q.askField(ctx, one)
		if err != nil {
			return err
		}
		if !given {
			delete(answer, name)
		}
	}
	return nil
}

// askField asks for a field, or for its own fields if it is an object.
func (q *questions) askField(ctx context.Context, one field) (given bool, err error) {
	if one.schema["type"] == "null" {
		if one.needed {
			one.put(nil)
		}
		return one.needed, nil
	}
	if len(members(one.schema)) == 0 || len(one.choices()) > 0 {
		return q.askValue(ctx, one)
	}
	if !one.needed {
		fill, err := q.Typed.Confirm(ctx, q.Stdin, q.Stdout, one.label()+": fill in its fields?")
		if err != nil || !fill {
			return false, err
		}
	}
	inner := map[string]any{}
	one.put(inner)
	return true, q.askFields(ctx, one.schema, inner, one.at, one.name+".")
}

// askValue asks for one value until it fits. An empty line takes the default, or omits
// an optional value.
func (q *questions) askValue(ctx context.Context, one field) (given bool, err error) {
	choices := one.choices()
	for i, each := range choices {
		mark := fmt.Sprint(i + 1)
		if !numbered(choices) {
			mark = "-"
		}
		fmt.Fprintf(q.Stdout, "  %s  %s\n", mark, each)
	}
	standard, hasDefault := one.schema["default"]
	for {
		line, err := q.Typed.Ask(ctx, q.Stdin, q.Stdout, one.question(choices)+": ")
		if err != nil {
			return false, err
		}
		switch {
		case line == "" && hasDefault:
			one.put(standard)
			return true, nil
		case line == "" && !one.needed:
			return false, nil
		case line == "":
			fmt.Fprintln(q.Stdout, "An answer is needed."+one.howEmpty())
			continue
		}
		why := "choose from the list"
		for i, meant := range one.read(line, choices) {
			one.put(meant)
			violation := q.violation(one.at)
			if violation == "" {
				return true, nil
			}
			if i == 0 {
				why = violation
			}
		}
		fmt.Fprintf(q.Stdout, "That does not fit: %s.\n", terminal.Visible(why))
	}
}

// violation returns why the part of the answer at a pointer is invalid, or "".
func (q *questions) violation(at string) string {
	if q.schema == nil {
		return ""
	}
	err := q.schema.Check(q.whole)
	if !errors.Is(err, fault.ValidationFailed) {
		return ""
	}
	for _, each := range fault.From(err).Diagnostics {
		if inner, ok := strings.CutPrefix(each.Pointer, at); ok && (inner == "" || inner[0] == '/') {
			return strings.TrimSuffix(strings.TrimPrefix(inner+": ", ": ")+each.Message, ".")
		}
	}
	return ""
}

// field is one value to ask for.
type field struct {
	name, at string // as shown, and as a JSON pointer into the answer
	schema   map[string]any
	needed   bool
	put      func(value any) // into the answer
}

// label is the value's name with its description.
func (f field) label() string {
	for _, member := range []string{"title", "description"} {
		if text, _ := f.schema[member].(string); text != "" {
			return terminal.Visible(f.name) + " (" + terminal.Visible(text) + ")"
		}
	}
	return terminal.Visible(f.name)
}

// question is the label with what may be typed.
func (f field) question(choices []choice) string {
	kinds, hint := f.kinds(), ""
	switch {
	case len(choices) > 0 && f.several():
		hint = "entries of the list, separated by commas"
	case len(choices) > 0 && numbered(choices):
		hint = fmt.Sprintf("1-%d", len(choices))
	case len(choices) > 0:
		hint = "an entry of the list"
	case slices.Equal(kinds, []string{"boolean"}):
		hint = "y/n"
	case slices.Equal(kinds, []string{"array"}):
		hint = `list as JSON, such as ["one", "two"]`
	case slices.Equal(kinds, []string{"object"}):
		hint = "object as JSON"
	case len(kinds) > 0 && !slices.Equal(kinds, []string{"string"}):
		hint = strings.Join(kinds, " or ")
	}
	label := f.label()
	if hint != "" {
		label += " [" + terminal.Visible(hint) + "]"
	}
	if standard, has := f.schema["default"]; has {
		return label + " (empty: " + terminal.Visible(encodedShort(standard)) + ")"
	}
	if !f.needed {
		return label + " (optional)"
	}
	return label
}

// howEmpty says how to answer with an empty text, if that may fit.
func (f field) howEmpty() string {
	if len(f.choices()) == 0 && slices.Contains(f.kinds(), "string") {
		return ` An empty text is "", and Ctrl-D leaves the step as it is.`
	}
	return " Ctrl-D leaves the step as it is."
}

// kinds are the types in the schema.
func (f field) kinds() []string {
	switch kind := f.schema["type"].(type) {
	case string:
		return []string{kind}
	case []any:
		var kinds []string
		for _, each := range kind {
			kinds = append(kinds, fmt.Sprint(each))
		}
		return kinds
	}
	return nil
}

// read returns the possible values of a line, most likely first; none if there are
// choices and the line is none of them.
func (f field) read(line string, choices []choice) []any {
	kinds := f.kinds()
	value, err := jsonvalue.Decode([]byte(line))
	switch {
	case len(choices) > 0 && f.several():
		return severalOf(line, choices)
	case len(choices) > 0:
		return chosenOf(line, choices)
	case err != nil && slices.Contains(kinds, "boolean"):
		if meant, ok := map[string]bool{"y": true, "yes": true, "n": false, "no": false}[strings.ToLower(line)]; ok {
			return []any{meant, line}
		}
		return []any{line}
	case err != nil:
		return []any{line}
	case line == `""`:
		return []any{value, line}
	case slices.Equal(kinds, []string{"string"}):
		return []any{line, value}
	}
	return []any{value, line}
}
