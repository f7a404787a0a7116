package engines

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"savant/fault"
	"savant/schemas"
)

// table is shared by all views of a registry. A change replaces its contents
// atomically, so that calls read them without a lock.
type table struct {
	options  Options
	contents atomic.Pointer[contents]

	mutex sync.Mutex // held while the contents change
}

// contents are an immutable snapshot of the table.
type contents struct {
	// version counts the changes so far.
	version uint64
	spelt   map[string]*registeredTool // in both spellings
	engines map[string]*port
	tools   []Tool // sorted by name
	// replaced is closed when newer contents are published.
	replaced chan struct{}
}

// registeredTool is one tool, ready to be called.
type registeredTool struct {
	tool   Tool
	inputs lazy[*inputs]
	// output is the published output schema, and result the compiled one, nil without a
	// schema.
	output lazy[OutputSchema]
	result lazy[*schemas.Schema]
	port   *port
}

// lazy is a value that is made on first use.
type lazy[T any] struct {
	once  sync.Once
	value T
	err   error
}

func (l *lazy[T]) get(make func() (T, error)) (T, error) {
	l.once.Do(func() { l.value, l.err = make() })
	return l.value, l.err
}

func newTable(options Options) *table {
	made := &table{options: options}
	made.publish(&contents{spelt: map[string]*registeredTool{}, engines: map[string]*port{}})
	return made
}

func (t *table) publish(next *contents) {
	next.replaced = make(chan struct{})
	for name, each := range next.spelt {
		if name == each.tool.Name {
			next.tools = append(next.tools, each.tool)
		}
	}
	slices.SortFunc(next.tools, func(a, b Tool) int { return cmp.Compare(a.Name, b.Name) })
	if old := t.contents.Swap(next); old != nil {
		close(old.replaced)
	}
}

func (t *table) now() *contents { return t.contents.Load() }

// change publishes the contents that edit produces, with additional tools, or nothing
// if a tool is invalid or edit fails.
func (t *table) change(tools []Tool, edit func(next *contents) error) error {
	var rows []*registeredTool
	for _, tool := range tools {
		row := &registeredTool{tool: tool}
		if err := row.examine(); err != nil {
			return err
		}
		rows = append(rows, row)
	}
	t.mutex.Lock()
	defer t.mutex.Unlock()
	old := t.now()
	next := &contents{version: old.version + 1, spelt: maps.Clone(old.spelt), engines: maps.Clone(old.engines)}
	if err := edit(next); err != nil {
		return err
	}
	for _, each := range rows {
		if err := next.put(each); err != nil {
			return err
		}
	}
	t.publish(next)
	return nil
}

// put adds a row to its engine, creating the engine if needed.
func (c *contents) put(tool *registeredTool) error {
	name := tool.tool.Name
	for _, spelling := range []string{name, Underscored(name)} {
		if other := c.spelt[spelling]; other != nil {
			return fault.New(fault.IDCollision, "tool %s: the name %s is taken by %s", name, spelling, other.tool.Name)
		}
		c.spelt[spelling] = tool
	}
	engine := EngineOf(name)
	if c.engines[engine] == nil {
		c.engines[engine] = newPort(Engine{Name: engine})
	}
	tool.port = c.engines[engine]
	return nil
}

// removeTools removes the tools of an engine. An unknown engine is INVALID_PARAMS.
func (c *contents) removeTools(engine string) error {
	if c.engines[engine] == nil {
		return fault.New(fault.InvalidParams, "no engine is named %q", fault.Cut(engine, maxName))
	}
	maps.DeleteFunc(c.spelt, func(_ string, each *registeredTool) bool { return EngineOf(each.tool.Name) == engine })
	return nil
}
