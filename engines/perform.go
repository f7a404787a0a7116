package engines

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"savant/fault"
	"savant/internal/jsonvalue"
)

// grace is how long the caller waits for a tool after its context has ended, so that
// the tool can stop what it started and report its progress.
const grace = 2 * time.Second

// errTimeout is the cause of the context of a call that exceeded its timeout.
var errTimeout = errors.New("the call timed out")

// returned is what a tool returned: its value with its JSON encoding, or an error.
type returned struct {
	value   any
	encoded json.RawMessage
	err     error
}

// perform runs a tool within its engine's limit and its timeout. The tool runs on its
// own goroutine, which holds the place until the tool returns. The caller waits until
// ctx ends plus the grace period; a tool that still runs then is counted until it
// returns.
func (t *table) perform(ctx context.Context, call Call, row *registeredTool, args json.RawMessage) returned {
	limit := cmp.Or(max(row.tool.Timeout, 0), row.port.engine.Timeout) // 0: no limit
	if limit > 0 {
		timed, cancel := context.WithTimeoutCause(ctx, limit, errTimeout)
		defer cancel()
		ctx = timed
	}
	place, err := row.port.enter(ctx)
	if err != nil {
		return returned{err: err}
	}
	done := make(chan returned, 1)
	go func() {
		var got returned
		defer func() {
			if cause := recover(); cause != nil {
				got = returned{err: t.panicked(ctx, row.tool.Name, cause)}
			}
			place.leave() // before the caller gets the result
			done <- got
		}()
		if got.value, got.err = row.tool.Call(ctx, place.releaseWhileAsking(call), args); got.err != nil {
			return
		}
		if got.encoded, got.err = jsonvalue.Encode(got.value); got.err != nil {
			got.err = fmt.Errorf("the result does not marshal: %w", got.err) // this cause is logged
		}
	}()
	got := t.wait(ctx, row, done)
	if got.err != nil && errors.Is(context.Cause(ctx), errTimeout) && !errors.Is(got.err, fault.ToolTimeout) { // keep the error of a tool that reported it itself
		got.err = fault.New(fault.ToolTimeout, "%s took longer than %v and was cancelled", row.tool.Name, limit).OutcomeUnknown()
	}
	return got
}

// panicked logs a panic of a tool, or of the encoding of its result, and returns the
// error to report.
func (t *table) panicked(ctx context.Context, tool string, cause any) error {
	t.options.Logger.ErrorContext(ctx, "a tool panicked", "tool", tool, "panic", fmt.Sprint(cause), "stack", string(debug.Stack()))
	return fault.New(fault.Internal, "%s failed with an internal error; the log has the cause", tool)
}

// wait waits for a tool until the grace period after the end of ctx.
func (t *table) wait(ctx context.Context, row *registeredTool, done <-chan returned) returned {
	select {
	case got := <-done:
		return got
	case <-ctx.Done():
	}
	patience := time.NewTimer(grace)
	defer patience.Stop()
	select {
	case got := <-done:
		return got
	case <-patience.C:
		t.options.Logger.WarnContext(ctx, "a tool still runs although its call has ended", "tool", row.tool.Name)
		row.port.left.Add(1)
		go func() {
			<-done
			row.port.left.Add(-1)
		}()
		return returned{err: ctx.Err()}
	}
}
