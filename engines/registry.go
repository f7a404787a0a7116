package engines

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	"savant/fault"
)

// Registry is the table of tools, and the one way to call them. It may be used
// by several goroutines at once.
type Registry struct {
	logger *slog.Logger
	mutex  sync.RWMutex
	rows   map[string]*row // by canonical name
	spelt  map[string]*row // by either spelling
}

type row struct {
	tool   Tool
	inputs *inputs
}

// NewRegistry returns an empty table. What a client must not see (the stack of
// a panic, the cause of INTERNAL) goes to the logger; nil discards it.
func NewRegistry(logger *slog.Logger) *Registry {
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	return &Registry{logger: logger, rows: map[string]*row{}, spelt: map[string]*row{}}
}

// Add puts tools into the table, all of them or none. A name taken twice, in
// either spelling, is ID_COLLISION; what else keeps a tool out says Tool.Check.
func (r *Registry) Add(tools ...Tool) error {
	rows := make([]*row, len(tools))
	for i, tool := range tools {
		in, err := tool.examine()
		if err != nil {
			return err
		}
		rows[i] = &row{tool: tool, inputs: in}
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	spelt := maps.Clone(r.spelt)
	for _, each := range rows {
		name := each.tool.Name
		for _, spelling := range []string{name, Underscored(name)} {
			if other := spelt[spelling]; other != nil {
				return fault.New(fault.IDCollision, "tool %s: the name %s is taken by %s", name, spelling, other.tool.Name)
			}
			spelt[spelling] = each
		}
	}
	r.spelt = spelt
	for _, each := range rows {
		r.rows[each.tool.Name] = each
	}
	return nil
}

// Tools returns the tools, sorted by name.
func (r *Registry) Tools() []Tool {
	r.mutex.RLock()
	defer r.mutex.RUnlock()
	tools := make([]Tool, 0, len(r.rows))
	for _, each := range r.rows {
		tools = append(tools, each.tool)
	}
	slices.SortFunc(tools, func(a, b Tool) int { return cmp.Compare(a.Name, b.Name) })
	return tools
}

// Names returns the canonical names, sorted.
func (r *Registry) Names() []string {
	r.mutex.RLock()
	defer r.mutex.RUnlock()
	return slices.Sorted(maps.Keys(r.rows))
}

// Engines returns the names of the engines, sorted: what stands before the
// first dot of a tool's name.
func (r *Registry) Engines() []string {
	var engines []string
	for _, name := range r.Names() {
		engines = append(engines, EngineOf(name))
	}
	slices.Sort(engines)
	return slices.Compact(engines)
}

// EngineOf returns what stands before the first dot of a tool's name.
func EngineOf(name string) string {
	engine, _, _ := strings.Cut(name, ".")
	return engine
}

// Engine returns the tools of one engine, sorted by name.
func (r *Registry) Engine(name string) []Tool {
	return slices.DeleteFunc(r.Tools(), func(t Tool) bool { return EngineOf(t.Name) != name })
}

// Resolve returns the tool of a name in either spelling.
func (r *Registry) Resolve(name string) (Tool, bool) {
	found, ok := r.resolve(name)
	if !ok {
		return Tool{}, false
	}
	return found.tool, true
}

func (r *Registry) resolve(name string) (*row, bool) {
	r.mutex.RLock()
	defer r.mutex.RUnlock()
	found, ok := r.spelt[name]
	return found, ok
}

// Call runs a tool by its name in either spelling. Arguments are checked here,
// once, for every caller: INVALID_PARAMS says the argument, what was expected
// and what came. Arguments the tool does not declare are dropped, with a note
// in the log: clients add their own. A name nobody has is UNKNOWN_TOOL with
// the nearest. Whatever goes wrong, the error is a *fault.Error; a panic is
// INTERNAL.
func (r *Registry) Call(ctx context.Context, name string, args json.RawMessage) (any, error) {
	found, ok := r.resolve(name)
	if !ok {
		return nil, r.unknown(name)
	}
	accepted, dropped, err := found.inputs.accept(args)
	if len(dropped) > 0 {
		r.logger.DebugContext(ctx, "arguments the tool does not declare were dropped", "tool", found.tool.Name, "arguments", dropped)
	}
	if err != nil {
		return nil, prefixed(found.tool.Name, err)
	}
	result, err := r.run(ctx, found.tool, accepted)
	if err != nil {
		return nil, r.coded(ctx, found.tool.Name, err)
	}
	return result, nil
}

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

// prefixed says which tool refused its arguments.
func prefixed(tool string, err error) error {
	coded := fault.From(err)
	return fault.New(coded.Code, "%s: %s", tool, coded.Details).With(coded.Diagnostics...)
}

// run calls the tool and contains its panics.
func (r *Registry) run(ctx context.Context, tool Tool, args json.RawMessage) (result any, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			r.logger.ErrorContext(ctx, "a tool panicked", "tool", tool.Name, "panic", fmt.Sprint(cause), "stack", string(debug.Stack()))
			result, err = nil, fault.New(fault.Internal, "%s failed inside; the log has the cause", tool.Name)
		}
	}()
	return tool.Call(ctx, args)
}

// coded gives an error its code, and logs the cause of one that had none.
func (r *Registry) coded(ctx context.Context, tool string, err error) error {
	var known *fault.Error
	switch {
	case errors.As(err, &known):
		if known.Code == fault.Internal {
			r.logger.ErrorContext(ctx, "a tool failed inside", "tool", tool, "cause", errors.Join(known.Unwrap()...).Error())
		}
		return known
	case errors.Is(err, context.Canceled):
		return fault.New(fault.ToolFailed, "%s was cancelled: %w", tool, context.Canceled)
	case errors.Is(err, context.DeadlineExceeded):
		return fault.New(fault.ToolFailed, "%s took too long: %w", tool, context.DeadlineExceeded)
	}
	r.logger.ErrorContext(ctx, "a tool failed", "tool", tool, "cause", err.Error())
	return fault.From(err)
}
