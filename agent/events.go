package agent

import (
	"time"

	"savant/agent/memory"
	"savant/fault"
	"savant/reasoning"
	"savant/telemetry"
)

// event hands over something of this run: a step does not wait for its trace,
// which is written when an answer is waited for, and at the end.
func (r *Run) event(e telemetry.Event) {
	e.Source, e.SessionID, e.RunID = telemetry.SourceAgent, r.ID(), r.ID()
	e.TraceParent = telemetry.TraceFrom(r.ctx).Parent
	if e.Step == 0 {
		e.Step = r.index
	}
	r.runtime.options.Recorder.RecordLater(e)
}

func failure(err error) *telemetry.Failure {
	coded := fault.From(err)
	return &telemetry.Failure{Code: string(coded.Code), Details: coded.Details}
}

// recordStep tells of a decision, once for each step.
func (r *Run) recordStep(intent reasoning.Intent) {
	if intent.Prompt != nil {
		r.event(shown(intent))
	}
	e := r.decided(intent)
	e.DurationMS = float64(r.asked) / float64(time.Millisecond)
	r.event(e)
}

// shown is the event of what a model was shown.
func shown(intent reasoning.Intent) telemetry.Event {
	return telemetry.Event{Type: telemetry.PromptSnapshot, Model: intent.Model, PromptTokens: intent.Prompt.Tokens,
		Metadata: map[string]any{"hash": intent.Prompt.Hash, "sections": intent.Prompt.Sections}}
}

// decided is the event of a decision.
func (r *Run) decided(intent reasoning.Intent) telemetry.Event {
	metadata := map[string]any{"amr_rules_triggered": ruleNames(r.rules), "decision_summary": summaryOf(intent)}
	if len(intent.Repairs) > 0 {
		metadata["repairs"] = intent.Repairs
	}
	name := intent.ToolName
	if calls := intent.AllCalls(); name == "" && len(calls) > 0 {
		name = calls[0].ToolName
	}
	return telemetry.Event{Type: telemetry.ReasoningStep, Action: string(intent.Action), ToolName: name, Model: intent.Model,
		PromptTokens: intent.PromptTokens, OutputTokens: intent.OutputTokens, Metadata: metadata}
}

// summaryOf says in a few words what was decided.
func summaryOf(intent reasoning.Intent) string {
	for _, text := range []string{intent.Reasoning, intent.Final, intent.Error, intent.ToolName} {
		if text != "" {
			return fault.Cut(text, 200)
		}
	}
	return string(intent.Action)
}

// recordCall tells what came of a call.
func (r *Run) recordCall(id string, made memory.Call) {
	for _, e := range concluded(id, made) {
		r.event(e)
	}
}

// begun is the event of the beginning of a call.
func begun(id string, asked reasoning.Call) telemetry.Event {
	return telemetry.Event{Type: telemetry.ToolCallStarted, ToolName: asked.ToolName, CallID: id, Args: asked.Args}
}

// concluded are the events of what came of a call.
func concluded(id string, made memory.Call) []telemetry.Event {
	if made.Rule == "" {
		return []telemetry.Event{completed(id, made)}
	}
	denied := telemetry.Event{Type: telemetry.PolicyDenied, ToolName: made.Tool, CallID: id, Metadata: map[string]any{"rule": made.Rule}}
	return []telemetry.Event{denied, completed(id, made)}
}

// completed is the event of the end of a call.
func completed(id string, made memory.Call) telemetry.Event {
	e := telemetry.Event{Type: telemetry.ToolCallCompleted, ToolName: made.Tool, CallID: id, Args: made.Args, Status: "ok",
		Output: fault.Cut(string(made.Output), 1000), DurationMS: made.DurationMS}
	switch {
	case made.Rule != "":
		e.Status = "denied"
	case made.Error != nil:
		e.Status = "failed"
	case made.Cached:
		e.Status = "cached"
	}
	if made.Error != nil {
		e.Error = failure(made.Error)
	}
	if made.Note != "" {
		e.Metadata = map[string]any{"note": made.Note}
	}
	return e
}

// recordEnd tells how the run ended.
func (r *Run) recordEnd(ended outcome) {
	report := r.Report()
	e := telemetry.Event{Type: telemetry.RunFinished, Status: string(ended.Status), Model: report.Model,
		PromptTokens: report.PromptTokens, OutputTokens: report.OutputTokens,
		DurationMS: float64(r.runtime.options.Now().Sub(r.began)) / float64(time.Millisecond),
		Metadata:   map[string]any{"final": ended.Final, "steps": report.Steps, "warning": ended.Warning}}
	if ended.Error != nil {
		e.Error = failure(ended.Error)
		r.event(telemetry.Event{Type: telemetry.Error, Error: e.Error, Metadata: map[string]any{"ends_run": true}})
	}
	r.event(e)
	e.RunID = r.ID()
	r.endSpan(e)
}
