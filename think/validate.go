package think

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"

	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/schemas"
	"savant/think/flow"
	"savant/think/library"
)

// ValidateInput asks for one check: a response against a schema, a workflow
// by name, or a workflow's text.
type ValidateInput struct {
	Schema       json.RawMessage `json:"schema,omitempty" doc:"a name or JSON Schema" example:"\"Finding\""`
	Response     json.RawMessage `json:"response,omitempty" example:"{\"path\":\"pay.go\"}"`
	Workflow     string          `json:"workflow,omitempty"`
	WorkflowYAML string          `json:"workflow_yaml,omitempty"`
	StrictTools  bool            `json:"strict_tools,omitempty" list:"no"`
}

// ValidateOutput is the result of a validation, with its findings.
type ValidateOutput struct {
	Valid bool `json:"valid"`
	// Capture is the capture of a valid response.
	Capture any `json:"capture,omitempty"`
	// Code is the code of the first error.
	Code     fault.Code         `json:"code,omitempty"`
	Errors   []fault.Diagnostic `json:"errors"`
	Warnings []fault.Diagnostic `json:"warnings,omitempty"`
	// Notes are about things without effect, such as an unread capture.
	Notes []fault.Diagnostic `json:"notes,omitempty"`
}

// Diagnostics returns all findings in the order of the file. One without a severity is an
// error.
func (o *ValidateOutput) Diagnostics() []fault.Diagnostic {
	all := slices.Concat(o.Errors, o.Warnings, o.Notes)
	slices.SortStableFunc(all, func(a, b fault.Diagnostic) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return all
}

// Validate checks without a run. Findings are part of the output; the errors are
// SCHEMA_NOT_FOUND, UNKNOWN_WORKFLOW and INVALID_PARAMS.
func (e *Engine) Validate(ctx context.Context, in ValidateInput) (*ValidateOutput, error) {
	switch {
	case len(in.Schema) > 0:
		return e.validateResponse(in)
	case in.WorkflowYAML != "":
		workflow, err := e.Library.Parse("", []byte(in.WorkflowYAML))
		return e.withSourceLines(e.validateWorkflow(ctx, workflow, err, in.StrictTools), in.WorkflowYAML), nil
	case in.Workflow != "":
		workflow, err := e.Library.Find(in.Workflow, "")
		if err != nil && fault.From(err).Code == fault.UnknownWorkflow && len(fault.From(err).Diagnostics) == 0 {
			return nil, err
		}
		return e.withSourceLines(e.validateWorkflow(ctx, workflow, err, in.StrictTools), ""), nil
	}
	return nil, fault.New(fault.InvalidParams, "give schema and response, or workflow, or workflow_yaml")
}

// withSourceLines adds the source lines of diagnostics; text is the text of a workflow without
// a file.
func (e *Engine) withSourceLines(out *ValidateOutput, text string) *ValidateOutput {
	files := map[string][]string{"": fault.Lines(text)}
	for _, list := range [][]fault.Diagnostic{out.Errors, out.Warnings, out.Notes} {
		for i, d := range list {
			if files[d.File] == nil {
				files[d.File] = fault.Lines(e.Library.Text(d.File))
			}
			list[i] = d.Quoting(files[d.File])
		}
	}
	return out
}

func (e *Engine) validateResponse(in ValidateInput) (*ValidateOutput, error) {
	if len(in.Response) == 0 {
		return nil, fault.New(fault.InvalidParams, "response is missing: the value to check against the schema")
	}
	wanted, err := jsonvalue.Decode(in.Schema)
	if err != nil {
		return nil, fault.New(fault.InvalidParams, "schema: %s", err)
	}
	response, err := jsonvalue.Decode(in.Response)
	if err != nil {
		return nil, fault.New(fault.InvalidParams, "response: %s", err)
	}
	set, err := e.Library.Schemas()
	if err != nil {
		return nil, err
	}
	schema, err := schemaOf(set, wanted)
	if err != nil {
		return nil, err
	}
	capture := response
	if schema.Check(response) != nil {
		capture = schemas.Normalise(response)
	}
	out := judged(schema.Check(capture))
	if out.Valid {
		out.Capture = capture
	}
	for i := range out.Errors {
		out.Errors[i].Path = fault.PathOf(out.Errors[i].Pointer)
	}
	return out, nil
}

// schemaOf finds a schema by name, or compiles one given as an object or as
// JSON text.
func schemaOf(set *schemas.Set, wanted any) (*schemas.Schema, error) {
	name, isName := wanted.(string)
	if !isName {
		return set.Inline(wanted)
	}
	if inline, ok := schemas.Normalise(name).(map[string]any); ok {
		return set.Inline(inline)
	}
	return set.Lookup(name)
}

func judged(err error) *ValidateOutput {
	out := &ValidateOutput{Valid: err == nil, Errors: []fault.Diagnostic{}}
	if err != nil {
		problem := fault.From(err)
		out.Code = problem.Code
		out.Errors = problem.Diagnostics
		if len(out.Errors) == 0 {
			out.Errors = []fault.Diagnostic{{Code: problem.Code, Message: problem.Message()}}
		}
		if len(out.Errors) > 20 {
			out.Errors = out.Errors[:20]
		}
	}
	return out
}

// withDraft adds to the errors in expressions of a file what else is certainly wrong
// with the workflow.
func (e *Engine) withDraft(err error) error {
	var unfinished *flow.Unfinished
	if !errors.As(err, &unfinished) {
		return err
	}
	failure := fault.From(err)
	graph, wrong := library.Link(unfinished.Draft, func(reference string) (*flow.Workflow, error) { return e.Library.Find(reference, "") }, flow.CurrentEdition)
	if wrong == nil {
		wrong = e.findings(graph).Fault()
	}
	if wrong == nil {
		return err
	}
	all := *failure
	all.Diagnostics = slices.Concat(failure.Diagnostics, fault.From(wrong).Diagnostics)
	slices.SortStableFunc(all.Diagnostics, func(a, b fault.Diagnostic) int {
		if a.File != b.File {
			return 0
		}
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return &all
}

func (e *Engine) validateWorkflow(ctx context.Context, workflow *flow.Workflow, err error, strict bool) *ValidateOutput {
	if err != nil {
		return judged(e.withDraft(err))
	}
	graph, err := e.Library.Compile(workflow)
	if err != nil {
		return judged(err)
	}
	report := e.checkedNow(graph)
	warnings, unseen := e.unknownTools(ctx, graph, false)
	report.Errors = append(report.Errors, unseen...)
	if len(warnings) > 0 && (strict || workflow.StrictTools) {
		report.Errors = append(report.Errors, errorsOf(warnings)...)
		warnings = nil
	}
	out := judged(report.Fault())
	out.Warnings = append(append(warnings, report.Warnings...), e.misquoted(workflow)...)
	out.Notes = report.Notes
	return out
}

// misquoted returns the warnings for steps whose quote stands nowhere in its document.
func (e *Engine) misquoted(workflow *flow.Workflow) (warnings []fault.Diagnostic) {
	for _, step := range workflow.Steps {
		if step.Source != nil && !step.Source.Stands(e.Library.Text(step.Source.File)) {
			warnings = append(warnings, workflow.Misquoted(step))
		}
	}
	return warnings
}
