package hub

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/internal/visible"
	"savant/think/form"
	"savant/think/library"
)

// field is one input of a page's form.
type field struct {
	// Input is the name of the input: the field's position in the form, so that no name
	// from a schema is used in HTML.
	Input string
	// ID is unlike those of other forms of the page.
	ID          string
	Name, About string
	Control     string // its form.Kind
	// Kind says which values fit, for people.
	Kind     string
	Choices  []option
	Value    string // as it was typed
	Checked  bool
	Default  string
	Required bool
	Error    string
	// Min, Max and Step are those of a number.
	Min, Max, Step string
}

// option is one choice of a field.
type option struct {
	Input, Label string
	Chosen       bool
}

// inputs are a form with its fields in a page.
type inputs struct {
	form   form.Form
	fields []field
}

func inputsOf(asked form.Form) inputs {
	out := inputs{form: asked}
	for i, each := range asked.Fields() {
		shown := fieldOf(each)
		shown.Input = "field." + strconv.Itoa(i)
		shown.ID = shown.Input
		out.fields = append(out.fields, shown)
	}
	return out
}

func fieldOf(f *form.Field) field {
	out := field{Name: visible.Characters(f.Name), About: f.Title, Required: f.Mandatory && !f.Nullable(), Control: string(f.Kind), Kind: strings.Join(f.Types, " or ")}
	if out.About == "" {
		out.About = f.Description
	}
	if f.HasDefault {
		out.Default = form.Shown(f.Default)
	}
	switch f.Kind {
	case form.Boolean:
		out.Kind, out.Checked, out.Default = "", f.Default == true, ""
	case form.Choices:
		out.Kind, out.Default = "", ""
	case form.Choice:
		out.Kind = ""
	case form.Integer:
		out.Min, out.Max, out.Step = f.Bound("minimum"), f.Bound("maximum"), "1"
	case form.Number:
		out.Min, out.Max, out.Step = f.Bound("minimum"), f.Bound("maximum"), "any"
	case form.JSON:
		if out.Kind == "" {
			out.Kind = "value"
		}
		out.Kind += " as JSON"
	}
	if f.Kind != form.Choice {
		out.Kind = strings.TrimPrefix(strings.TrimSuffix(out.Kind+"; "+f.Limits, "; "), "; ")
	}
	for i, each := range f.Choices {
		label := each.Text
		if each.Title != "" {
			label = each.Title
		}
		out.Choices = append(out.Choices, option{Input: strconv.Itoa(i), Label: visible.Characters(label), Chosen: f.Kind == form.Choices && f.HasByDefault(each)})
	}
	return out
}

// read parses the submitted values and reports whether all are valid; the fields hold what
// was typed and the errors. An empty field is left out, and so are boxes that nobody has
// ticked where they are optional and have no default.
func (in *inputs) read(sent url.Values) (filled form.Filled, ok bool) {
	filled, ok = form.Filled{}, true
	for i, each := range in.form.Fields() {
		shown := &in.fields[i]
		value, given := shown.read(each, sent[shown.Input])
		if given {
			filled[each.Pointer] = value
		}
		ok = ok && shown.Error == ""
	}
	return filled, ok
}

// read parses the input of a field; Error is why it is invalid.
func (f *field) read(asked *form.Field, sent []string) (value any, given bool) {
	implied := asked.Required || asked.HasDefault
	switch asked.Kind {
	case form.Boolean:
		if f.Checked = strings.Join(sent, "") != ""; f.Checked {
			return true, true
		}
		return form.Untouched{Value: false}, implied
	case form.Choices:
		list := f.selectOptions(asked, sent)
		if len(list) < len(sent) {
			f.Error = "Choose from the list."
		}
		if len(list) == 0 {
			return form.Untouched{Value: []any{}}, implied && f.Error == ""
		}
		return list, true
	}
	f.Value = strings.ReplaceAll(strings.Join(sent, ""), "\r\n", "\n") // browsers send CRLF
	switch {
	case f.Value == "" && f.Required:
		f.Error = "A value is needed."
		return nil, false
	case f.Value == "":
		return nil, false
	case asked.Kind == form.Choice:
		list := f.selectOptions(asked, sent)
		if len(list) != 1 {
			f.Error = "Choose one of the list."
			return nil, false
		}
		return list[0], true
	case asked.Kind == form.Text:
		return f.Value, true
	}
	expected := map[string]string{"integer": "a whole number", "number": "a number",
		"object": `an object as JSON, such as {"name": "value"}`, "array": `a list as JSON, such as ["one", "two"]`}[asked.Only()]
	if expected == "" { // any value
		return jsonvalue.TextOrValue(f.Value), true
	}
	value, err := jsonvalue.Decode([]byte(strings.TrimSpace(f.Value)))
	if err != nil {
		f.Error = "Expected " + expected + "."
		return nil, false
	}
	return value, true
}

// selectOptions marks the options that were sent and returns their values.
func (f *field) selectOptions(asked *form.Field, sent []string) (list []any) {
	for i := range f.Choices {
		if f.Choices[i].Chosen = slices.Contains(sent, f.Choices[i].Input); f.Choices[i].Chosen {
			list = append(list, asked.Choices[i].Value)
		}
	}
	return list
}

// place puts diagnostics beside their fields. If one has no field, or the list is empty,
// the error itself goes to problem. at returns where in the answer a diagnostic is.
func (in *inputs) place(why *fault.Error, at func(fault.Diagnostic) string, problem *string) {
	for _, found := range why.Diagnostics {
		pointer := at(found)
		beside := slices.IndexFunc(in.form.Fields(), func(f *form.Field) bool { return strings.HasPrefix(pointer+"/", f.Pointer+"/") })
		if beside < 0 {
			*problem = why.Message()
			continue
		}
		in.fields[beside].Error = strings.TrimSpace(in.fields[beside].Error + " " + sentence(found))
	}
	if len(why.Diagnostics) == 0 {
		*problem = why.Message()
	}
}

// startView is the form that starts a run of a workflow.
type startView struct {
	Shown   bool   // a run can be started here
	Lacks   string // why the visitor cannot start one
	Run     string
	Guided  bool
	Fields  []field
	Problem string
}

// starting is the form with the decoding of its values.
type starting struct {
	startView
	inputs
}

// startForm returns the form of a workflow's parameters.
func (h *Hub) startForm(ctx context.Context, name string) (*starting, error) {
	read, err := h.options.Think.Library.Read(ctx, library.ReadInput{Workflow: name})
	if err != nil {
		return nil, err
	}
	return h.startOf(read), nil
}

func (h *Hub) startOf(read *library.WorkflowRead) *starting {
	out := &starting{inputs: inputsOf(form.New(read.Asked))}
	out.Shown, out.Fields = !h.options.ReadOnly, out.fields
	return out
}

// paramOf returns where in the parameters a diagnostic is.
func paramOf(found fault.Diagnostic) string {
	name, _ := strings.CutPrefix(found.Path, "params.")
	if at := strings.IndexAny(name, ".["); at >= 0 {
		name = name[:at]
	}
	return "/" + name + found.Pointer
}

// refusal is a form that was not accepted. The page that has the form shows it again,
// with the reason and what was filled in.
type refusal struct {
	cause error // nil: the form has the reasons beside its fields
	form  any   // the view of the form, for one that shows its own values
	act   string
	sent  url.Values
}

func refusalOf(r *http.Request) refusal { return visitOf(r).refusal }

// again shows the page of a refused form.
func (h *Hub) again(w http.ResponseWriter, r *http.Request, cause error, form any, show http.HandlerFunc) {
	if r.Context().Err() != nil {
		return // the client is gone
	}
	seen := visitOf(r)
	seen.refusal = refusal{cause: cause, form: form, act: path.Base(r.URL.Path), sent: r.PostForm}
	show(w, seen.on(r))
}

// status is the HTTP status of a page, which may show a refused form again.
func (f refusal) status() int {
	switch {
	case errors.Is(f.cause, fault.StateCorrupt): // of what was sent
		return http.StatusUnprocessableEntity
	case f.cause != nil:
		return statusOf(f.cause)
	case f.form != nil:
		return http.StatusUnprocessableEntity
	}
	return http.StatusOK
}

// unwritten are the fields of forms that nobody writes in.
var unwritten = []string{"csrf", "step", "digest", "decision", "token", "how", "run"}

// writtenTexts returns the texts that somebody wrote in a form that is not shown again: no
// box, and no choice, which is sent as its number.
func writtenTexts(sent url.Values) []formField {
	var out []formField
	for name, values := range sent {
		text := strings.TrimSpace(strings.Join(values, "\n"))
		if len(text) > 1 && text != "yes" && text != "true" && !slices.Contains(unwritten, name) {
			out = append(out, formField{name, text})
		}
	}
	slices.SortFunc(out, func(a, b formField) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// explain puts the reason of a refusal on a page.
func (f refusal) explain(shown *page) {
	shown.Refused = f.act != ""
	if f.cause == nil {
		return
	}
	failure := fault.From(f.cause)
	shown.Problem, shown.Code = failure.Message(), failure.Code
	if f.act == "answer" {
		shown.Typed = writtenTexts(f.sent)
	}
}

// backTo redirects from the address of a form to the page that has it: a refused form is
// shown at its own address, so links of that page lead here.
func backTo(w http.ResponseWriter, r *http.Request) {
	target := url.URL{Path: pageOf(r), RawQuery: r.URL.RawQuery}
	http.Redirect(w, r, target.String(), http.StatusSeeOther)
}

// inbox in the query of a form's address says that the form stands on the overview.
const inbox = "inbox"

// pageOf returns the path of the page that an address below it belongs to.
func pageOf(r *http.Request) string {
	if r.URL.Query().Get("on") == inbox || strings.HasPrefix(r.URL.Path, "/calls/") {
		return "/"
	}
	return path.Dir(r.URL.Path)
}
