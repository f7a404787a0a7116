package hub

import (
	"context"
	"maps"
	"slices"
	"strings"

	"savant/fault"
	"savant/think/library"
)

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
	form form
}

// startForm returns the form of a workflow's parameters, required ones first.
func (h *Hub) startForm(ctx context.Context, name string) (*starting, error) {
	read, err := h.options.Think.Library.Read(ctx, library.ReadInput{Workflow: name})
	if err != nil {
		return nil, err
	}
	return h.startOf(read.Params), nil
}

func (h *Hub) startOf(params map[string]any) *starting {
	var members []member
	for _, name := range slices.Sorted(maps.Keys(params)) {
		described, _ := params[name].(map[string]any)
		members = append(members, member{name, described, described["required"] == true})
	}
	slices.SortStableFunc(members, neededFirst)
	out := &starting{form: formOf(members)}
	out.Shown, out.Fields = !h.options.ReadOnly, out.form.fields
	return out
}

// paramOf returns the parameter that a diagnostic is about.
func paramOf(found fault.Diagnostic) string {
	name, _ := strings.CutPrefix(found.Path, "params.")
	if at := strings.IndexAny(name, ".["); at >= 0 {
		name = name[:at]
	}
	return name
}
