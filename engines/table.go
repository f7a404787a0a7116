package engines

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"savant/fault"
)

// table is what all views of a registry share. A change replaces its contents as
// a whole, so that calls read them without a lock.
type table struct {
	options  Options
	contents atomic.Pointer[contents]

	mutex sync.Mutex // held while the contents change
}

// contents are the rows at one moment. They do not change once published.
type contents struct {
	// version counts the changes that led here.
	version uint64
	spelt   map[string]*row // by either spelling
	engines map[string]*port
	// sorted returns the tools by name. They are sorted once, when first needed.
	sorted func() []Tool
	// replaced is closed when other contents are published.
	replaced chan struct{}
}

// row is one tool, ready to be called.
type row struct {
	tool   Tool
	inputs *inputs
	// output returns the published output schema, made at the first call.
	output func() OutputSchema
	port   *port
}

func newTable(options Options) *table {
	made := &table{options: options}
	made.publish(&contents{spelt: map[string]*row{}, engines: map[string]*port{}})
	return made
}

func (t *table) publish(next *contents) {
	next.sorted = sync.OnceValue(func() []Tool {
		tools := make([]Tool, 0, len(next.spelt))
		for name, each := range next.spelt {
			if name == each.tool.Name {
				tools = append(tools, each.tool)
			}
		}
		slices.SortFunc(tools, func(a, b Tool) int { return cmp.Compare(a.Name, b.Name) })
		return tools
	})
	next.replaced = make(chan struct{})
	if old := t.contents.Swap(next); old != nil {
		close(old.replaced)
	}
}

func (t *table) now() *contents { return t.contents.Load() }

// change publishes the contents that edit made, unless it fails.
func (t *table) change(edit func(next *contents) error) error {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	old := t.now()
	next := &contents{version: old.version + 1, spelt: maps.Clone(old.spelt), engines: maps.Clone(old.engines)}
	if err := edit(next); err != nil {
		return err
	}
	t.publish(next)
	return nil
}

// examined checks tools and returns their rows.
func examined(tools []Tool) ([]*row, error) {
	rows := make([]*row, len(tools))
	for i, tool := range tools {
		in, err := tool.examine()
		if err != nil {
			return nil, err
		}
		rows[i] = &row{tool: tool, inputs: in, output: sync.OnceValue(func() OutputSchema { return PublishedOutput(tool.Output) })}
	}
	return rows, nil
}

func (c *contents) putAll(rows []*row) error {
	for _, each := range rows {
		if err := c.put(each); err != nil {
			return err
		}
	}
	return nil
}

// put adds a row to its engine, which is made if it is not there.
func (c *contents) put(added *row) error {
	name := added.tool.Name
	for _, spelling := range []string{name, Underscored(name)} {
		if other := c.spelt[spelling]; other != nil {
			return fault.New(fault.IDCollision, "tool %s: the name %s is taken by %s", name, spelling, other.tool.Name)
		}
		c.spelt[spelling] = added
	}
	engine := EngineOf(name)
	if c.engines[engine] == nil {
		c.engines[engine] = newPort(Engine{Name: engine})
	}
	added.port = c.engines[engine]
	return nil
}

func (c *contents) removeTools(engine string) {
	maps.DeleteFunc(c.spelt, func(_ string, each *row) bool { return EngineOf(each.tool.Name) == engine })
}
