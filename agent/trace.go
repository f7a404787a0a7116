package agent

import (
	"context"

	"savant/reasoning"
	"savant/telemetry"
)

// traced opens the span of the run, within the trace that its order names.
func (r *Run) traced() {
	ctx := telemetry.WithTrace(r.ctx, telemetry.Trace{Parent: r.order.TraceParent, State: r.order.TraceState})
	r.ctx, r.endSpan = r.span(ctx, telemetry.Event{Type: telemetry.RunStarted})
}

func (r *Run) span(ctx context.Context, begun telemetry.Event) (context.Context, func(telemetry.Event)) {
	begun.RunID, begun.Step = r.ID(), r.index
	return r.runtime.options.Recorder.Span(ctx, begun)
}

// question asks what to do next. Who decides is told the trace.
func (r *Run) question() (reasoning.Intent, error) {
	ctx, end := r.span(r.ctx, telemetry.Event{Type: telemetry.ReasoningStep})
	within := telemetry.TraceFrom(ctx)
	intent, err := r.runtime.options.Client.Decide(reasoning.WithTrace(ctx, within.Parent, within.State), r.request())
	ended := telemetry.Event{RunID: r.ID(), Step: r.index, Action: string(intent.Action), Model: intent.Model,
		PromptTokens: intent.PromptTokens, OutputTokens: intent.OutputTokens}
	if err != nil {
		ended.Error = failure(err)
	}
	end(ended)
	return intent, err
}
