package otel

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// GuidedRun is a run of a workflow that has ended.
type GuidedRun struct {
	Workflow, RunID, Status string
	Begun, Ended            time.Time
	Steps                   []GuidedStep
}

// GuidedStep is a step that was issued and answered.
type GuidedStep struct {
	ID, Call, Status string
	// Code is why it failed.
	Code string
	// Person: it waited for a person.
	Person   bool
	Attempts int
	// Begun is when it was issued last, Ended when it was answered.
	Begun, Ended time.Time
}

// Run sends the spans of a run: its own, and below it one for each step, with the waits
// for persons. The run's is an invoke_workflow of the conventions (semconv-genai 0.1.0),
// which name the workflow in gen_ai.agent.name. Its parent is the span of ctx, if there is one.
func (t *Tracing) Run(ctx context.Context, run GuidedRun) {
	inside, own := t.tracer.Start(ctx, "invoke_workflow "+run.Workflow, trace.WithTimestamp(run.Begun), trace.WithAttributes(
		attribute.String("gen_ai.operation.name", "invoke_workflow"), attribute.String("gen_ai.agent.name", run.Workflow),
		attribute.String("gen_ai.conversation.id", run.RunID), attribute.String("savant.status", run.Status)))
	for _, each := range run.Steps {
		name := "step " + each.ID
		if each.Person {
			name = "wait_for_person " + each.ID
		}
		list := attributes{attribute.String("gen_ai.conversation.id", run.RunID), attribute.String("savant.workflow", run.Workflow),
			attribute.String("savant.step_id", each.ID), attribute.String("savant.call", each.Call), attribute.String("savant.status", each.Status)}
		list.number("savant.attempts", each.Attempts)
		_, span := t.tracer.Start(inside, name, trace.WithTimestamp(each.Begun), trace.WithAttributes(list...))
		t.endAt(span, each.Ended, each.Code)
	}
	code := ""
	if run.Status != "done" {
		code = run.Status
	}
	t.endAt(own, run.Ended, code)
}

func (t *Tracing) endAt(span trace.Span, at time.Time, code string) {
	if code != "" {
		span.SetAttributes(attribute.String("error.type", code))
		span.SetStatus(codes.Error, code)
	}
	if span.SpanContext().IsSampled() && span.IsRecording() {
		t.ended.Add(1)
	}
	span.End(trace.WithTimestamp(at))
}
