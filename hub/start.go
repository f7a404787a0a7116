package hub

import (
	"context"
	"strings"

	"savant/fault"
	"savant/think/form"
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
