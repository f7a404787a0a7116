package engines

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"savant/fault"
	"savant/internal/jsonvalue"
)

// grace is how long a tool may take to return once the context of its call has
// ended, to stop what it started and to say how far it came. Who called waits
// no longer.
const grace = 2 * time.Second

// errTimeout is the cause of a context whose call took too long.
var errTimeout = errors.New("the time of the call is over")

// Call is Invoke for callers in this program that want the value as the tool
// returned it.
func (r *Registry) Call(ctx context.Context, name string, args json.RawMessage) (any, error) {
	result, err := r.Invoke(ctx, name, args)
	if err != nil {
		return nil, err
	}
	return result.Value, nil
}

// Invoke runs a tool by its name in either spelling. Arguments are checked
// here, once, for every caller: INVALID_PARAMS says the argument, what was
// expected and what came. Arguments the tool does not declare are dropped, with
// a note in the log: clients add their own.
//
// A name nobody has is UNKNOWN_TOOL with the nearest, or ENGINE_OFFLINE where
// its engine is not there to have it. ENGINE_BUSY means that the call was not
// begun. A call over its time is TOOL_TIMEOUT; a tool that does not end with
// its context, or that of the caller, keeps its place until it does, but not its
// caller. Whatever goes
// wrong, the error is a *fault.Error, a panic is INTERNAL, and only the receipt
// of the result is set.
func (r *Registry) Invoke(ctx context.Context, name string, args json.RawMessage) (Result, error) {
	event := Event{Tool: fault.Cut(name, maxName), Started: time.Now(), InputBytes: len(args)}
	if found, ok := r.find(ctx, name); ok {
		event.Tool, event.Engine = found.tool.Name, found.port.engine.Name
	}
	ctx, end := r.table.begin(ctx, event, args)
	result, err := r.invoke(ctx, name, args)
	event.Duration = time.Since(event.Started)
	event.OutputBytes, event.Receipt, event.Outcome = len(result.JSON), result.Receipt, outcomeOf(err)
	end(event)
	return result, err
}

// find is resolve for a call: a tool that is missing may be put there first.
func (r *Registry) find(ctx context.Context, name string) (*row, bool) {
	found, ok := r.resolve(name)
	if !ok && r.table.options.Missing != nil {
		r.table.options.Missing(ctx, name, r.Shows)
		found, ok = r.resolve(name)
	}
	return found, ok
}

// begin tells of a call, and returns what tells of its end.
func (t *table) begin(ctx context.Context, begun Event, args json.RawMessage) (context.Context, func(Event)) {
	inside, end := ctx, func(Event) {}
	if t.options.Begin != nil {
		inside, end = t.options.Begin(ctx, begun, args)
	}
	return inside, func(ended Event) {
		if t.options.Observe != nil {
			t.options.Observe(inside, ended)
		}
		end(ended)
	}
}

func (r *Registry) invoke(ctx context.Context, name string, args json.RawMessage) (Result, error) {
	found, ok := r.resolve(name)
	if !ok {
		if err := r.missing(ctx, name); err != nil {
			return Result{}, err
		}
		return Result{}, r.unknown(name)
	}
	accepted, err := r.accept(ctx, found, args)
	if err != nil {
		return Result{}, err
	}
	got, err := r.table.perform(ctx, found, accepted)
	if err == nil {
		return r.table.conclude(ctx, found, accepted, got)
	}
	coded := r.table.coded(ctx, found.tool.Name, err)
	found.port.remember(coded)
	return r.table.witnessFailure(ctx, found, accepted, coded), coded
}

// accept checks arguments and says which tool refused them.
func (r *Registry) accept(ctx context.Context, found *row, args json.RawMessage) (json.RawMessage, error) {
	accepted, dropped, err := found.inputs.accept(args)
	if len(dropped) > 0 {
		r.table.options.Logger.DebugContext(ctx, "arguments the tool does not declare were dropped", "tool", found.tool.Name, "arguments", dropped)
	}
	if err != nil {
		coded := fault.From(err)
		return nil, fault.New(coded.Code, "%s: %s", found.tool.Name, coded.Details).With(coded.Diagnostics...)
	}
	return accepted, nil
}

// unknown names the tool that was likely meant.
func (r *Registry) unknown(name string) error {
	names := r.Names()
	near := fault.Nearest(name, names)
	if near == "" { // an underscore spelling, misspelt
		near = fault.Nearest(strings.ReplaceAll(name, "_", "."), names)
	}
	if near == "" {
		return fault.New(fault.UnknownTool, "no tool is named %q", fault.Cut(name, 200))
	}
	return fault.New(fault.UnknownTool, "no tool is named %q; did you mean %q?", fault.Cut(name, 200), near)
}

// timeout is how long a call of the tool may take; 0: no bound.
func (f *row) timeout() time.Duration {
	if f.tool.Timeout > 0 {
		return f.tool.Timeout
	}
	return f.port.engine.Timeout
}

// returned is what a tool returned, and its one encoding.
type returned struct {
	value   any
	encoded json.RawMessage
}

// perform runs a tool in its place and within its time.
func (t *table) perform(ctx context.Context, found *row, args json.RawMessage) (returned, error) {
	limit := found.timeout()
	if limit > 0 {
		timed, cancel := context.WithTimeoutCause(ctx, limit, errTimeout)
		defer cancel()
		ctx = timed
	}
	if err := found.port.enter(ctx); err != nil {
		return returned{}, err
	}
	got, err := t.bounded(ctx, found, args)
	if err != nil && errors.Is(context.Cause(ctx), errTimeout) && !errors.Is(err, fault.ToolTimeout) { // a tool may know better
		return returned{}, fault.New(fault.ToolTimeout, "%s took longer than %v and was cancelled", found.tool.Name, limit)
	}
	return got, err
}

// bounded runs a tool on a goroutine of its own, which holds the place until
// the tool returns. It waits for the end of ctx and the grace, no longer; what
// is left behind then is counted until it ends.
func (t *table) bounded(ctx context.Context, found *row, args json.RawMessage) (returned, error) {
	if found.tool.Heeds {
		return t.inPlace(ctx, found, args)
	}
	type outcome struct {
		returned
		err error
	}
	done := make(chan outcome, 1)
	go func() {
		got, err := t.inPlace(ctx, found, args) // left before the caller hears of it
		done <- outcome{got, err}
	}()
	select {
	case got := <-done:
		return got.returned, got.err
	case <-ctx.Done():
	}
	patience := time.NewTimer(grace)
	defer patience.Stop()
	select {
	case got := <-done:
		return got.returned, got.err
	case <-patience.C:
		t.options.Logger.WarnContext(ctx, "a tool goes on after its call was over", "tool", found.tool.Name)
		found.port.left.Add(1)
		go func() {
			<-done
			found.port.left.Add(-1)
		}()
		return returned{}, ctx.Err()
	}
}

// inPlace runs a tool and gives its place back.
func (t *table) inPlace(ctx context.Context, found *row, args json.RawMessage) (returned, error) {
	defer found.port.leave()
	return t.run(ctx, found.tool, args)
}

// run calls the tool and encodes what it returns. Panics of both end here.
func (t *table) run(ctx context.Context, tool Tool, args json.RawMessage) (got returned, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			t.options.Logger.ErrorContext(ctx, "a tool panicked", "tool", tool.Name, "panic", fmt.Sprint(cause), "stack", string(debug.Stack()))
			got, err = returned{}, fault.New(fault.Internal, "%s failed inside; the log has the cause", tool.Name)
		}
	}()
	if got.value, err = tool.Call(ctx, args); err != nil {
		return returned{}, err
	}
	if known, ok := got.value.(Encoded); ok {
		got.encoded = known.EncodedJSON()
	}
	if got.encoded != nil {
		return got, nil
	}
	if got.encoded, err = jsonvalue.Encode(got.value); err != nil {
		return returned{}, fmt.Errorf("the result does not marshal: %w", err) // a cause for the log
	}
	return got, nil
}

// coded gives an error its code, and logs the cause of one that had none.
func (t *table) coded(ctx context.Context, tool string, err error) *fault.Error {
	var known *fault.Error
	switch {
	case errors.As(err, &known):
		if known.Code == fault.Internal {
			t.options.Logger.ErrorContext(ctx, "a tool failed inside", "tool", tool, "cause", errors.Join(known.Unwrap()...).Error())
		}
		if t.options.Advise != nil {
			return known.Advised(t.options.Advise(tool, known))
		}
		return known
	case errors.Is(err, context.Canceled):
		return fault.New(fault.ToolFailed, "%s was cancelled: %w", tool, context.Canceled)
	case errors.Is(err, context.DeadlineExceeded):
		return fault.New(fault.ToolTimeout, "%s took longer than its caller waits: %w", tool, context.DeadlineExceeded)
	}
	t.options.Logger.ErrorContext(ctx, "a tool failed", "tool", tool, "cause", err.Error())
	return fault.From(err)
}
