package engines

import (
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"slices"

	"savant/fault"
)

// Options configure a Registry. All fields are optional.
type Options struct {
	// Logger gets what clients must not see, such as the stack of a panic and the cause
	// of INTERNAL. Nil discards it.
	Logger *slog.Logger
	// Observer sees the beginning and the end of every call; nil: nobody does.
	Observer Observer
	// Receipts stores receipts; without it calls leave none.
	Receipts ReceiptStore
	// Rules decides about calls; nil allows all.
	Rules Rules
	// Advisor says what to do about errors without a hint; nil: nobody does.
	Advisor Advisor
	// Artifacts stores a result over ResultLimit. Without it such a result is
	// LIMIT_EXCEEDED.
	Artifacts ArtifactStore
	// Seeker looks for unknown tools; nil: there are no others.
	Seeker Seeker
	// ResultLimit is the size of the largest result that is returned whole, in bytes of
	// JSON; 0 means 1 MB.
	ResultLimit int
}

// Observer sees calls.
type Observer interface {
	// Begin is called at the start of every call, before the lookup and validation,
	// with the tool, the arguments as received and the time. It returns the context of
	// the call and a function that is called when the call has ended or was refused.
	// The arguments must not be modified.
	Begin(ctx context.Context, call Call, begun Event, args json.RawMessage) (context.Context, func(Event))
}

// ReceiptStore stores receipts; a store of runs is one.
type ReceiptStore interface {
	// PutReceipt returns ID_COLLISION for an id in use, and is then called with another.
	PutReceipt(ctx context.Context, receipt Receipt) error
}

// ArtifactStore stores large results; a store of runs is one.
type ArtifactStore interface {
	PutArtifact(ctx context.Context, data []byte) (ref string, err error)
}

// Advisor knows what to do about an error.
type Advisor interface {
	// Hint returns the advice. tool is the canonical name, or for UNKNOWN_TOOL the name
	// as given. The zero Hint means that there is none.
	Hint(tool string, err *fault.Error) fault.Hint
}

// Seeker finds tools that the table does not have yet.
type Seeker interface {
	// SeekTool is called with an unknown tool's name before the call is refused, and may
	// add the tool. shown reports whether the caller may reach an engine.
	SeekTool(ctx context.Context, name string, shown func(engine string) bool)
}

// Registry is the table of all tools; every call goes through it. It is safe for
// concurrent use.
type Registry struct {
	table *table
	// only are the engines that this view shows; nil: all.
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

// Only returns a view of the same table with only these engines. Tools of others cannot
// be called through it. Limits, receipts and changes are shared.
func (r *Registry) Only(engines ...string) *Registry {
	shown := []string{}
	for _, engine := range engines {
		if r.Shows(engine) {
			shown = append(shown, engine)
		}
	}
	return &Registry{table: r.table, only: shown}
}

// Shows reports whether this view includes an engine, even one that does not exist.
func (r *Registry) Shows(engine string) bool {
	return r.only == nil || slices.Contains(r.only, engine)
}

// Add adds all tools or none, creating new engines with defaults. A name in use in
// either spelling is ID_COLLISION; for other errors see Tool.Check.
func (r *Registry) Add(tools ...Tool) error {
	return r.table.change(tools, func(*contents) error { return nil })
}

// AddEngine adds an engine with its tools, or nothing. An existing engine is
// ID_COLLISION; an invalid name or a tool of another engine is INVALID_PARAMS; for
// other errors see Add.
func (r *Registry) AddEngine(engine Engine, tools ...Tool) error {
	if err := engine.check(tools); err != nil {
		return err
	}
	return r.table.change(tools, func(next *contents) error {
		if next.engines[engine.Name] != nil {
			return fault.New(fault.IDCollision, "engine %s already exists", engine.Name)
		}
		next.engines[engine.Name] = newPort(engine)
		return nil
	})
}

// ReplaceTools replaces all tools of an engine, or changes nothing. Running calls keep
// the tool they started with. An unknown engine is INVALID_PARAMS; for other errors see
// AddEngine.
func (r *Registry) ReplaceTools(engine string, tools ...Tool) error {
	if err := (Engine{Name: engine}).check(tools); err != nil {
		return err
	}
	return r.table.change(tools, func(next *contents) error { return next.removeTools(engine) })
}

// RemoveEngine removes an engine and its tools. Running calls continue. An unknown
// engine is INVALID_PARAMS.
func (r *Registry) RemoveEngine(engine string) error {
	return r.table.change(nil, func(next *contents) error {
		err := next.removeTools(engine)
		delete(next.engines, engine)
		return err
	})
}

// Watch calls changed after the table has changed since the given version; several
// changes may be reported by one call. It returns nil when ctx ends.
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

// Version counts the changes of the table: an equal version means equal lists.
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

// Engines returns the names of all engines, sorted, including those without tools.
func (r *Registry) Engines() []string {
	engines := slices.Sorted(maps.Keys(r.table.now().engines))
	return slices.DeleteFunc(engines, func(name string) bool { return !r.Shows(name) })
}

// About returns an engine's description, or "".
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

// Resolve returns the tool with a name, in either spelling.
func (r *Registry) Resolve(name string) (Tool, bool) {
	found, ok := r.find(name)
	if !ok {
		return Tool{}, false
	}
	return found.tool, true
}

func (r *Registry) find(name string) (*registeredTool, bool) {
	found, ok := r.table.now().spelt[name]
	if !ok || !r.Shows(found.port.engine.Name) {
		return nil, false
	}
	return found, true
}
