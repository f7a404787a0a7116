package workflows

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"savant/cmd/savant/app"
	"savant/cmd/savant/terminal"
	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/schemas"
	"savant/think/form"
)

// maxMisfits is how often a person is asked again for what does not fit.
const maxMisfits = 3

// approves asks for a person's decision: yes, decline, or later, which is ErrNoAnswer
// and leaves the step waiting.
func (p *program) approves(ctx context.Context) (approved bool, err error) {
	for range 1 + maxMisfits {
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
	return false, terminal.ErrNoAnswer
}

// questions asks a person at the terminal for a value, field by field.
type questions struct {
	*program
	form form.Form
	// schema is the schema of the whole answer; nil if it cannot be compiled here, and
	// the answer is validated only when it is submitted.
	schema *schemas.Schema
	filled form.Filled // so far
}

// questionsOf returns what a form asks a person for.
func (p *program) questionsOf(a *app.App, asked form.Form) *questions {
	q := &questions{program: p, form: asked, filled: form.Filled{}}
	if set, err := a.Think.Library.Schemas(); err == nil && q.form.Schema != nil {
		if whole, err := jsonvalue.DecodeStored(q.form.Schema); err == nil {
			q.schema, _ = set.Inline(whole)
		}
	}
	return q
}

// ask asks for the answer to a question, field by field. A value that does not fit is
// reported and asked for again.
func (q *questions) ask(ctx context.Context) (any, error) {
	if q.form.Schema != nil {
		fmt.Fprintf(q.Stdout, "Type %s for the schema of the answer.\n", wantsSchema)
	}
	if err := q.askField(ctx, q.form.Root); err != nil {
		return nil, err
	}
	value, _ := q.form.Answer(q.filled)
	return value, nil
}

// parse returns what a text means as the whole answer, JSON or the text itself: the
// likelier, unless only the other fits.
func (q *questions) parse(text string) any {
	readings := []any{jsonvalue.TextOrValue(text), text}
	if slices.Equal(q.form.Root.Types, []string{"string"}) {
		slices.Reverse(readings)
	}
	if q.check(readings[0]) != nil && q.check(readings[1]) == nil {
		return readings[1]
	}
	return readings[0]
}

// wantsSchema is typed to see the schema; typed again after that, it is the answer.
const wantsSchema = "?"

// askField asks for a field, or for those of a group.
func (q *questions) askField(ctx context.Context, f *form.Field) error {
	switch f.Kind {
	case form.Null:
		return nil
	case form.Group:
	default:
		return q.askValue(ctx, f)
	}
	if !f.Required {
		fill, err := q.wants(ctx, f)
		if err != nil || !fill {
			return err
		}
		q.filled[f.Pointer] = true
	}
	for _, each := range f.Fields {
		if err := q.askField(ctx, each); err != nil {
			return err
		}
	}
	return nil
}

// wants asks whether the fields of a group are to be filled in. What is neither yes nor no
// was meant as a value, and is asked for again.
func (q *questions) wants(ctx context.Context, group *form.Field) (bool, error) {
	for range 1 + maxMisfits {
		said, err := q.Typed.Ask(ctx, q.Stdin, q.Stdout, label(group)+": fill in its fields? [y/N] ")
		switch strings.ToLower(said) {
		case "y", "yes":
			return true, err
		case "", "n", "no":
			return false, err
		}
		if err != nil {
			return false, err
		}
		fmt.Fprintln(q.Stdout, "Answer y or n: y asks for each field.")
	}
	return false, terminal.ErrNoAnswer
}

// askValue asks for one value until it fits. An empty line takes the default, or omits
// an optional value.
func (q *questions) askValue(ctx context.Context, f *form.Field) error {
	for i, each := range f.Choices {
		mark := fmt.Sprint(i + 1)
		if !f.Numbered() {
			mark = "-"
		}
		title := ""
		if each.Title != "" {
			title = "  " + terminal.Visible(each.Title)
		}
		fmt.Fprintf(q.Stdout, "  %s  %s%s\n", mark, terminal.Visible(each.Text), title)
	}
	why := ""
	for range 1 + maxMisfits {
		line, err := q.Typed.Ask(ctx, q.Stdin, q.Stdout, prompt(f)+": ")
		if err == nil && line == wantsSchema && q.form.Schema != nil {
			if err := q.Print(json.RawMessage(q.form.Schema)); err != nil {
				return err
			}
			line, err = q.Typed.Ask(ctx, q.Stdin, q.Stdout, prompt(f)+": ")
		}
		if err != nil {
			return err
		}
		switch {
		case line == "" && f.HasDefault:
			q.filled[f.Pointer] = f.Default
			return nil
		case line == "" && (!f.Required || f.Nullable()):
			return nil
		case line == "":
			why = "an answer is needed"
			fmt.Fprintln(q.Stdout, "An answer is needed."+howEmpty(f))
			continue
		}
		why = "choose from the list"
		for i, meant := range f.Read(line) {
			q.filled[f.Pointer] = meant
			violation := q.violation(f.Pointer)
			if violation == "" {
				return nil
			}
			if i == 0 {
				why = violation
			}
		}
		delete(q.filled, f.Pointer)
		fmt.Fprintf(q.Stdout, "That does not fit: %s.\n", terminal.Visible(why))
	}
	return fault.New(fault.ValidationFailed, "%s: no answer fits: %s; the step still waits", f.Name, why)
}

// check validates a whole answer as it will be taken.
func (q *questions) check(value any) error {
	if q.schema == nil {
		return nil
	}
	meant, _ := schemas.ConvertBy(q.form.Schema, value)
	return q.schema.Check(meant)
}

// violation returns why the part of the answer at a pointer is invalid, or "".
func (q *questions) violation(at string) string {
	value, _ := q.form.Answer(q.filled)
	err := q.check(value)
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

// label is the name of a field with its title, or else its description.
func label(f *form.Field) string {
	for _, text := range []string{f.Title, f.Description} {
		if text != "" {
			return terminal.Visible(f.Name) + " (" + terminal.Visible(text) + ")"
		}
	}
	return terminal.Visible(f.Name)
}

// prompt is the label with what may be typed.
func prompt(f *form.Field) string {
	hint := ""
	switch {
	case f.Kind == form.Choices:
		hint = "entries of the list, separated by commas"
	case f.Kind == form.Choice && f.Numbered():
		hint = fmt.Sprintf("1-%d", len(f.Choices))
	case f.Kind == form.Choice:
		hint = "an entry of the list"
	case slices.Equal(f.Types, []string{"boolean"}):
		hint = "y/n"
	case slices.Equal(f.Types, []string{"array"}):
		hint = `list as JSON, such as ["one", "two"]`
	case slices.Equal(f.Types, []string{"object"}):
		hint = "object as JSON"
	case f.Kind != form.Text || len(f.Types) > 1:
		hint = strings.Join(f.Types, " or ")
	}
	if f.Limits != "" && f.Kind != form.Choice {
		hint = strings.TrimPrefix(hint+", "+f.Limits, ", ")
	}
	text := label(f)
	if hint != "" {
		text += " [" + terminal.Visible(hint) + "]"
	}
	if f.HasDefault {
		return text + " (empty: " + terminal.Visible(form.Encoded(f.Default)) + ")"
	}
	if !f.Required {
		return text + " (optional)"
	}
	return text
}

// howEmpty says how to answer with an empty text, if that may fit.
func howEmpty(f *form.Field) string {
	if len(f.Choices) == 0 && slices.Contains(f.Types, "string") {
		return ` An empty text is "", and Ctrl-D leaves the step as it is.`
	}
	return " Ctrl-D leaves the step as it is."
}
