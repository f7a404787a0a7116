package engines

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"

	"savant/fault"
	"savant/internal/jsonvalue"
)

// Target is the result of looking up a tool's name, so that a call looks it up only
// once.
type Target struct {
	registry *Registry
	name     string
	row      *registeredTool // nil: unknown tool
}

// Target looks up a name in either spelling. It never fails: Invoke refuses an unknown
// name.
func (r *Registry) Target(name string) Target {
	found, _ := r.find(name)
	return Target{registry: r, name: name, row: found}
}

// Name returns the canonical name; for an unknown tool the name as given, truncated.
func (t Target) Name() string {
	if t.row == nil {
		return fault.Cut(t.name, maxEcho)
	}
	return t.row.tool.Name
}

// Exists reports whether there is such a tool.
func (t Target) Exists() bool { return t.row != nil }

// Idempotent reports whether the call may be repeated with the same arguments.
func (t Target) Idempotent() bool { return t.row != nil && t.row.tool.Idempotent }

// TasksOnly reports whether only clients that take tasks can call the tool.
func (t Target) TasksOnly() bool { return t.row != nil && t.row.tool.TasksOnly }

// Output returns the published output schema of the tool, see OutputSchema.
func (t Target) Output() OutputSchema {
	if t.row == nil {
		return OutputSchema{Receipts: true, Faults: true}
	}
	published, _ := t.row.output.get(func() (OutputSchema, error) { return t.row.tool.PublishedOutput(), nil })
	return published
}

// OrderKey returns the argument that orders the calls of the tool's engine
// (Engine.OrderBy); "" if they are not ordered.
func (t Target) OrderKey(args json.RawMessage) string {
	if t.row == nil || t.row.port.engine.OrderBy == "" {
		return ""
	}
	return jsonvalue.TextMember(args, t.row.port.engine.OrderBy)
}

// Call is Invoke for the program itself where it needs the Go value.
func (r *Registry) Call(ctx context.Context, name string, args json.RawMessage) (any, error) {
	result, err := r.Invoke(ctx, Call{}, name, args)
	if err != nil {
		return nil, err
	}
	return result.Value, nil
}

// Invoke calls a tool by its name in either spelling, see Target.Invoke.
func (r *Registry) Invoke(ctx context.Context, call Call, name string, args json.RawMessage) (Result, error) {
	return r.Target(name).Invoke(ctx, call, args)
}

// Invoke calls the tool. It validates the arguments, for all callers: INVALID_PARAMS
// names the argument, what was expected and what came. Undeclared arguments are dropped,
// which Result.Warning says, since clients add their own. Then the guards of the call
// decide, see Call.Guarded, and the rules, see Options.Rules.
//
// An unknown tool is UNKNOWN_TOOL with the nearest name, or ENGINE_OFFLINE if its
// engine is not available. ENGINE_BUSY means that the call was not started. A call that
// exceeds its timeout is TOOL_TIMEOUT; a tool that ignores the end of its context keeps
// its place until it returns. A panic is INTERNAL. Every error is a *fault.Error, and
// the result of a failed call has only Receipt set.
func (t Target) Invoke(ctx context.Context, call Call, args json.RawMessage) (result Result, err error) {
	table := t.registry.table
	event := Event{Tool: fault.Cut(t.name, maxEcho), Started: time.Now(), InputBytes: len(args)}
	if t.row == nil {
		t.row = t.registry.findMissing(ctx, t.name)
	}
	if t.row != nil {
		event.Tool, event.Engine = t.row.tool.Name, t.row.port.engine.Name
	}
	if table.options.Observer != nil {
		begun, end := table.options.Observer.Begin(ctx, call, event, args)
		ctx = begun
		defer func() {
			event.Duration = time.Since(event.Started)
			event.OutputBytes, event.Receipt, event.Outcome, event.Rules = len(result.JSON), result.Receipt, OutcomeOK, BrokenBy(err)
			if err != nil {
				event.Outcome = string(fault.From(err).Code)
			}
			end(event)
		}()
	}
	if t.row == nil {
		return Result{}, t.registry.unknown(ctx, t.name)
	}
	accepted, dropped, err := t.row.accept(ctx, args, table.options.Logger)
	if err != nil {
		return Result{}, t.row.advised(ctx, call, args, err)
	}
	within, err := call.permitted(ctx, t.row.tool, accepted)
	if err != nil {
		return Result{}, table.coded(ctx, t.row.tool.Name, err)
	}
	var reserved Reservation
	if rules := table.options.Rules; rules != nil {
		if reserved, err = rules.Reserve(ctx, call, t.row.tool, accepted); err != nil {
			return Result{}, table.coded(ctx, t.row.tool.Name, err)
		}
	}
	got := table.perform(ctx, within, t.row, accepted)
	result, err = table.conclude(ctx, call, t.row, accepted, got)
	if reserved != nil {
		reserved.Settle(context.WithoutCancel(ctx), Ended{got.value, got.encoded, result.Receipt, got.err, ctx.Err() != nil})
	}
	result.Warning = droppedArguments(dropped)
	return result, err
}

// Seek returns the tool of a name in either spelling. An unknown tool is searched for
// as by a call. The errors are UNKNOWN_TOOL and ENGINE_OFFLINE.
func (r *Registry) Seek(ctx context.Context, name string) (Tool, error) {
	found, ok := r.find(name)
	if !ok {
		found = r.findMissing(ctx, name)
	}
	if found == nil {
		return Tool{}, r.unknown(ctx, name)
	}
	return found.tool, nil
}

// findMissing lets Options.Missing add the tool to the table.
func (r *Registry) findMissing(ctx context.Context, name string) *registeredTool {
	if r.table.options.Seeker == nil {
		return nil
	}
	r.table.options.Seeker.SeekTool(ctx, name, r.Shows)
	found, _ := r.find(name)
	return found
}

// maxEcho bounds how much of an unknown name an error repeats, in bytes.
const maxEcho = 200

// unknown returns that the engine is not available, or names the tool that was probably
// meant.
func (r *Registry) unknown(ctx context.Context, name string) error {
	if err := r.Missing(ctx, name); err != nil {
		return err
	}
	name = fault.Cut(name, maxEcho)
	if advisor := r.table.options.Advisor; advisor != nil {
		unknown := fault.New(fault.UnknownTool, "no tool is named %q", name)
		if hint := advisor.Hint(name, unknown); hint != (fault.Hint{}) {
			return unknown.Hinted(hint)
		}
	}
	names := r.Names()
	near := fault.Nearest(name, names)
	if near == "" { // a misspelt underscored name
		near = fault.Nearest(strings.ReplaceAll(name, "_", "."), names)
	}
	if near == "" {
		near = endingAlike(name, names)
	}
	if hidden, there := r.table.now().spelt[name]; there {
		engine := EngineOf(hidden.tool.Name)
		return fault.New(fault.UnknownTool, "%s is a tool of the engine %s, which this server does not publish", name, engine).
			Hinted(fault.Hint{Text: "add " + engine + " to MCP_SERVICE"})
	}
	unknown := fault.New(fault.UnknownTool, "no tool is named %q", name)
	if near == "" {
		return unknown
	}
	return unknown.Hinted(fault.DidYouMean(strconv.Quote(near)))
}

// endingAlike returns the tool whose name is a suffix of the given one, since clients
// add prefixes (mcp__savant__think_next), or else the only tool whose name ends with
// the given one; "" if there is no such tool.
func endingAlike(name string, names []string) string {
	plain := strings.NewReplacer(".", "_", "-", "_", "/", "_", ":", "_")
	said, longest := "_"+plain.Replace(name), ""
	var ending []string
	for _, each := range names {
		tool := "_" + plain.Replace(each)
		if strings.HasSuffix(said, tool) && len(each) > len(longest) {
			longest = each
		}
		if strings.HasSuffix(tool, said) {
			ending = append(ending, each)
		}
	}
	if longest == "" && len(ending) == 1 {
		return ending[0]
	}
	return longest
}

// coded returns an error with a code, and logs the cause of one that had no code.
func (t *table) coded(ctx context.Context, tool string, err error) *fault.Error {
	var failure *fault.Error
	switch {
	case errors.As(err, &failure):
		if failure.Code == fault.Internal {
			t.options.Logger.ErrorContext(ctx, "a tool failed with an internal error", "tool", tool, "cause", errors.Join(failure.Unwrap()...).Error())
		}
		if t.options.Advisor != nil {
			return failure.Hinted(t.options.Advisor.Hint(tool, failure))
		}
		return failure
	case errors.Is(err, context.Canceled):
		return fault.New(fault.ToolFailed, "%s was cancelled: %w", tool, context.Canceled)
	case errors.Is(err, context.DeadlineExceeded):
		return fault.New(fault.ToolTimeout, "%s took longer than its caller waited: %w", tool, context.DeadlineExceeded)
	}
	t.options.Logger.ErrorContext(ctx, "a tool failed", "tool", tool, "cause", err.Error())
	return fault.From(err)
}
