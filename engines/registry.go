package engines

import (
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"slices"

	"savant/fault"
)

// Options is what a Registry works with. Everything may be left out.
type Options struct {
	// Logger gets what a client must not see, such as the stack of a panic and
	// the cause of INTERNAL. Nil discards it.
	Logger *slog.Logger
	// Begin is told of every call before it is examined: the tool, the
	// arguments as they came and the time. It returns the context of the call,
	// and a function that is told when the call is over, also one that was
	// refused. The arguments must not be changed.
	Begin func(ctx context.Context, begun Event, args json.RawMessage) (context.Context, func(Event))
	// Receipts keeps a receipt; without it calls leave none. It returns
	// ID_COLLISION for an id that is taken, and is called again with another.
	Receipts func(context.Context, Receipt) error
	// Hint says what to do about an error of a tool, by its canonical name, that
	// has no hint, or about UNKNOWN_TOOL of a name as it came; the zero Hint where
	// there is nothing to say.
	Hint func(tool string, err *fault.Error) fault.Hint
	// Artifacts keeps a result over ResultLimit and returns its reference.
	// Without it such a result is LIMIT_EXCEEDED.
	Artifacts func(context.Context, json.RawMessage) (ref string, err error)
	// Missing is called with a name that no tool has before the call is refused,
	// and may add the tool. shown says which engines the caller may reach.
	Missing func(ctx context.Context, name string, shown func(engine string) bool)
	// ResultLimit is the largest result returned whole, in bytes of its JSON; 0 is
	// 1 MB.
	ResultLimit int
}

// Registry is the table of tools, and the one way to call them. It may be used
// by several goroutines at once.
type Registry struct {
	table *table
	// only are the engines that this view of the table shows; nil: all.
	only []string
}

// NewRegistry returns an empty table.
func NewRegistry(options Options) *Registry {
	if options.Logger == nil {
		options.Logger = slog.New(slog.DiscardHandler)
	}
	if options.ResultLimit == 0 {
		options.ResultLimit = defaultResultLimit
	}
	return &Registry{table: newTable(options)}
}

// Only returns a view of the same table that shows only these engines. Tools of
// others cannot be called through it. Limits, receipts and changes are shared.
func (r *Registry) Only(engines ...string) *Registry {
	shown := []string{}
	for _, engine := range engines {
		if r.Shows(engine) {
			shown = append(shown, engine)
		}
	}
	return &Registry{table: r.table, only: shown}
}

// Shows says whether this view shows an engine, whether it is there or not.
func (r *Registry) Shows(engine string) bool {
	return r.only == nil || slices.Contains(r.only, engine)
}

// Add adds tools, all of them or none, and makes their engines with defaults if
// they are new. A name that is taken in either spelling is ID_COLLISION; for other
// errors see Tool.Check.
func (r *Registry) Add(tools ...Tool) error {
	return r.table.change(tools, func(*contents) error { return nil })
}

// AddEngine adds an engine and its tools, or nothing. An engine that is there
// already is ID_COLLISION; a wrong name or a tool of another engine is
// INVALID_PARAMS; for other errors see Add.
func (r *Registry) AddEngine(engine Engine, tools ...Tool) error {
	if err := engine.check(tools); err != nil {
		return err
	}
	return r.table.change(tools, func(next *contents) error {
		if next.engines[engine.Name] != nil {
			return fault.New(fault.IDCollision, "there is an engine %s already", engine.Name)
		}
		next.engines[engine.Name] = newPort(engine)
		return nil
	})
}

// ReplaceTools replaces all tools of an engine, or changes nothing. Running calls
// go on with the tool they began with. An unknown engine is INVALID_PARAMS; for
// other errors see AddEngine.
func (r *Registry) ReplaceTools(engine string, tools ...Tool) error {
	if err := (Engine{Name: engine}).check(tools); err != nil {
		return err
	}
	return r.table.change(tools, func(next *contents) error { return next.removeTools(engine) })
}

// RemoveEngine removes an engine and its tools. Running calls go on. An unknown
// engine is INVALID_PARAMS.
func (r *Registry) RemoveEngine(engine string) error {
	return r.table.change(nil, func(next *contents) error {
		err := next.removeTools(engine)
		delete(next.engines, engine)
		return err
	})
}

// Watch calls changed after each change since a version, once for several changes
// in a row, and returns nil when ctx ends.
func (r *Registry) Watch(ctx context.Context, since uint64, changed func()) error {
	for {
		now := r.table.now()
		if now.version != since {
			since = now.version
			changed()
		}
		select {
		case <-now.replaced:
		case <-ctx.Done():
			return nil
		}
	}
}

// Version counts the changes of the table. While it is the same, so are the lists.
func (r *Registry) Version() uint64 { return r.table.now().version }

// Tools returns the tools, sorted by name.
func (r *Registry) Tools() []Tool {
	tools := slices.Clone(r.table.now().tools)
	if r.only == nil {
		return tools
	}
	return slices.DeleteFunc(tools, func(t Tool) bool { return !r.Shows(EngineOf(t.Name)) })
}

// Names returns the canonical names, sorted.
func (r *Registry) Names() []string {
	var names []string
	for _, tool := range r.Tools() {
		names = append(names, tool.Name)
	}
	return names
}

// Engines returns the names of the engines, sorted, with those that have no tools.
func (r *Registry) Engines() []string {
	engines := slices.Sorted(maps.Keys(r.table.now().engines))
	return slices.DeleteFunc(engines, func(name string) bool { return !r.Shows(name) })
}

// About returns the description of an engine, or "".
func (r *Registry) About(engine string) string {
	if port := r.table.now().engines[engine]; port != nil && r.Shows(engine) {
		return port.engine.Description
	}
	return ""
}

// Engine returns the tools of one engine, sorted by name.
func (r *Registry) Engine(name string) []Tool {
	return slices.DeleteFunc(r.Tools(), func(t Tool) bool { return EngineOf(t.Name) != name })
}

// Resolve returns the tool of a name in either spelling.
func (r *Registry) Resolve(name string) (Tool, bool) {
	found, ok := r.find(name)
	if !ok {
		return Tool{}, false
	}
	return found.tool, true
}

func (r *Registry) find(name string) (*row, bool) {
	found, ok := r.table.now().spelt[name]
	if !ok || !r.Shows(found.port.engine.Name) {
		return nil, false
	}
	return found, true
}
