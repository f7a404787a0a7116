package telemetry

import "savant/internal/redact"

// clean redacts the texts of an event and then cuts them.
func clean(r *redact.Redactor, e Event) Event {
	for _, text := range []*string{&e.SessionID, &e.RunID, &e.Workflow, &e.StepID, &e.Model, &e.Action, &e.ToolName, &e.CallID,
		&e.Output, &e.Status, &e.TraceParent, &e.By, &e.Claims} {
		*text = cut(r.Text(*text))
	}
	if len(e.Args) > 0 {
		e.Args = short(r.JSON(e.Args))
	}
	if e.Error != nil {
		e.Error = &Failure{Code: cut(r.Text(e.Error.Code)), Details: cut(r.Text(e.Error.Details))}
	}
	if e.Metadata != nil {
		e.Metadata, _ = boundTexts(r.Value(e.Metadata)).(map[string]any)
	}
	return e
}
