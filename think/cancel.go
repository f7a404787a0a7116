package think

import (
	"context"
	"errors"
	"strings"

	"savant/fault"
	"savant/internal/visible"
	"savant/think/flow"
	"savant/think/state"
)

// CancelInput names a run, who cancels it, and why.
type CancelInput struct {
	Workflow, RunID string
	flow.Cancellation
}

// cancelData is the data of the record that cancels a run.
type cancelData struct {
	flow.Cancellation
	Reply reply `json:"reply"`
}

// maxReason is how long the reason of a cancellation may be, in bytes.
const maxReason = 500

// Cancel ends a run early and irrevocably: it issues no more steps and accepts no more
// answers. A fork can continue from it. Cancel may be called while another process
// drives the run. INVALID_TRANSITION for a run that has ended, RUN_CANCELLED for one
// that was cancelled, UNKNOWN_RUN, STATE_NOT_SAVED.
//
// Only callers that act for a person may call it; no tool does.
func (e *Engine) Cancel(ctx context.Context, in CancelInput) (*Reply, error) {
	in.By, in.Reason = visible.Line(strings.TrimSpace(in.By)), visible.Line(strings.TrimSpace(in.Reason))
	switch {
	case in.By == "":
		return nil, fault.New(fault.InvalidParams, "the name of the person who cancels the run is missing")
	case len(in.By)+len(in.Reason) > maxReason:
		return nil, fault.New(fault.InvalidParams, "the reason is longer than %d bytes: shorten it", maxReason)
	}
	l, err := e.open(ctx, in.Workflow, in.RunID)
	if err != nil {
		return nil, err
	}
	defer l.mu.Unlock()
	for {
		replied, err := e.cancel(ctx, l, in.Cancellation)
		if err == nil {
			return replied, nil
		}
		l.forget() // the run in memory may be ahead of its journal
		if !errors.Is(err, fault.StateConflict) || ctx.Err() != nil {
			return nil, err
		}
		if err := e.refresh(ctx, l); err != nil { // another process was first
			return nil, err
		}
	}
}

func (e *Engine) cancel(ctx context.Context, l *live, by flow.Cancellation) (*Reply, error) {
	out, err := l.run.Cancel(by)
	if err != nil {
		return nil, err
	}
	replied := composeReply(out, changes, e.drifted(l.pins), nil)
	now := e.Now()
	record, err := e.write(ctx, l.key, KindCancelled, out, now, cancelData{by, replied})
	if err != nil {
		return nil, err
	}
	l.moved(out, record, now)
	e.project(ctx, l, true)
	return replied.Reply, nil
}

// cancelAgain applies the record of a cancellation to a run.
func cancelAgain(run *flow.Run, record state.Record) (flow.Outcome, error) {
	var data cancelData
	if err := decodeData(record, &data); err != nil {
		return flow.Outcome{}, err
	}
	run.SkipTo(record.Version - 1)
	return run.Cancel(data.Cancellation)
}
