package agent

import (
	"cmp"
	"encoding/json"
	"sync"
	"time"

	"savant/agent/memory"
	"savant/engines"
	"savant/fault"
	"savant/internal/redact"
	"savant/reasoning"
	"savant/telemetry"
)

// event records an event of this run. The recorder writes it in the background.
func (r *Run) event(step int, e telemetry.Event) {
	e.Source, e.Who, e.SessionID, e.RunID, e.Step = telemetry.SourceAgent, r.options.Who, r.ID(), r.ID(), step
	e.TraceParent = telemetry.TraceFrom(r.ctx).Parent
	r.runtime.options.Recorder.RecordLater(e)
}

func failure(err error) *telemetry.Failure {
	coded := fault.From(err)
	return &telemetry.Failure{Code: string(coded.Code), Details: coded.Message()}
}

// recordPrompt records the prompt of a decision.
func (r *Run) recordPrompt(t turn) {
	if t.intent.Prompt != nil {
		r.event(t.index, t.intent.Prompt.Event(t.intent.Model))
	}
}

// recordCalls records the model calls of a decision, with the digests of what was kept.
func (r *Run) recordCalls(step int, calls []reasoning.ModelCall, kept []string) {
	for i, each := range calls {
		e := each.Event()
		r.spentOn(each).AddTo(e.Metadata)
		if kept[i] != "" {
			e.Metadata[telemetry.MetaExchange] = kept[i]
		}
		r.event(step, e)
	}
}

// keepExchanges keeps what models were asked and wrote, and returns the digests.
func (r *Run) keepExchanges(calls []reasoning.ModelCall) []string {
	kept := make([]string, len(calls))
	for i, each := range calls {
		kept[i] = r.keepExchange(each)
	}
	return kept
}

// keepExchange keeps what a model was asked and wrote, without secrets, and returns its
// digest; "" if there is nothing to keep. A failure is only a warning.
func (r *Run) keepExchange(call reasoning.ModelCall) string {
	if len(call.Prompt) == 0 {
		return ""
	}
	digest, err := r.session.KeepExchange(ExchangeOf(call, r.runtime.redactor))
	r.warn("the prompt of a step was not kept", err)
	return digest
}

// ExchangeOf is what a model was asked in a call and wrote, without secrets.
func ExchangeOf(call reasoning.ModelCall, redactor *redact.Redactor) memory.Exchange {
	clean := func(text string) string {
		if json.Valid([]byte(text)) {
			return string(redactor.JSON(json.RawMessage(text)))
		}
		return redactor.Text(text)
	}
	asked := memory.Exchange{Reply: fault.Cut(clean(call.Reply), memory.MaxPart)}
	for _, each := range call.Prompt {
		asked.Parts = append(asked.Parts, memory.Part{Name: each.Name, Text: fault.Cut(clean(each.Text), memory.MaxPart)})
	}
	return asked
}

// recordDecision records a decision, once for each step.
func (r *Run) recordDecision(t turn, took time.Duration) {
	e := r.decisionEvent(t.intent)
	e.DurationMS = milliseconds(took)
	r.event(t.index, e)
}

// decisionEvent is the event of a decision.
func (r *Run) decisionEvent(intent reasoning.Intent) telemetry.Event {
	summary := cmp.Or(intent.Reasoning, intent.Final, intent.Error, intent.ToolName, string(intent.Action))
	metadata := map[string]any{"amr_rules_triggered": ruleNames(r.briefing.rules), "decision_summary": fault.Cut(summary, 200)}
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

// callStarted is the event of the beginning of a call.
func callStarted(a requestedCall) telemetry.Event {
	return telemetry.Event{Type: telemetry.ToolCallStarted, ToolName: a.ToolName, CallID: a.id(), Args: a.Args}
}

// callEnded are the events of the end of a call.
func callEnded(id string, call memory.Call) []telemetry.Event {
	e := telemetry.Event{Type: telemetry.ToolCallCompleted, ToolName: call.Tool, CallID: id, Args: call.Args, Status: "ok",
		Output: fault.Cut(string(call.Output), 1000), DurationMS: call.DurationMS}
	switch {
	case call.Rule != "":
		e.Status = "denied"
	case call.Error != nil:
		e.Status = "failed"
	case call.Cached:
		e.Status = "cached"
	}
	if call.Error != nil {
		e.Error = failure(call.Error)
	}
	e.Metadata = map[string]any{}
	if call.Note != "" {
		e.Metadata = map[string]any{"note": call.Note}
	}
	if call.Error != nil {
		if rules := engines.BrokenBy(call.Error); rules != "" {
			e.Metadata = map[string]any{telemetry.MetaRules: rules}
		}
	}
	if call.Rule == "" {
		return []telemetry.Event{e}
	}
	return []telemetry.Event{{Type: telemetry.PolicyDenied, ToolName: call.Tool, CallID: id, Metadata: map[string]any{"rule": call.Rule}}, e}
}

// toolCalls counts the calls that policy let through.
func toolCalls(steps []memory.Step) (count int) {
	for _, step := range steps {
		for _, each := range step.Calls {
			if each.Rule == "" {
				count++
			}
		}
	}
	return count
}

// finishes counts the steps that gave an answer.
func finishes(steps []memory.Step) (count int) {
	for _, step := range steps {
		if step.Action == string(reasoning.ActionFinish) {
			count++
		}
	}
	return count
}

// recordEnd records how the run ended, and returns the event.
func (r *Run) recordEnd(step int, ended outcome) telemetry.Event {
	report := r.Report()
	e := telemetry.Event{Type: telemetry.RunFinished, Status: string(ended.Status), Model: report.Model,
		PromptTokens: report.PromptTokens, OutputTokens: report.OutputTokens,
		DurationMS: milliseconds(r.runtime.options.Now().Sub(r.began)),
		Metadata: map[string]any{"final": ended.Final, "steps": report.Steps, "warning": ended.Warning, "tool_calls": toolCalls(report.Transcript),
			"finishes": finishes(report.Transcript)}}
	report.AddTo(e.Metadata)
	if ended.Error != nil {
		e.Error = failure(ended.Error)
		r.event(step, telemetry.Event{Type: telemetry.Error, Error: e.Error, Metadata: map[string]any{"ends_run": true}})
	}
	r.event(step, e)
	e.RunID = r.ID()
	return e
}

// wrote returns a callback for each part of a model's answer, and a flush for its end.
// Both do nothing if nothing is streamed.
func (r *Run) wrote(step int) (wrote func(string), flush func()) {
	display := r.runtime.options.Display
	if display == nil || !display.Streams() {
		return nil, func() {}
	}
	first := sync.OnceFunc(r.runtime.options.Recorder.Flush) // shows earlier events first
	s := redact.NewStream(r.runtime.redactor, func(text string) {
		first()
		display.Wrote(r.ID(), step, text)
	})
	return s.Add, s.Flush
}
