package schemas

import (
	"iter"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
)

// The validator follows every path through allOf, anyOf, oneOf and $ref and
// cannot be interrupted. Twenty definitions that each refer to the next one twice
// took 5.8 s and 1.1 GB (measured on jsonschema v5.3.1). So the paths are counted
// first: those of one value when a schema is compiled, and those of a whole value
// before it is checked, if there could be many.
const (
	// maxPaths is how many subschemas may apply to one value.
	maxPaths = 5000
	// maxVisits bounds the checks of a whole value, with visitsPerValue more for
	// each value inside it.
	maxVisits      = 50_000
	visitsPerValue = 50
)

// many is the upper bound of all counts.
const many = math.MaxInt32

// plus adds costs without overflow.
func plus(a, b int) int { return min(a+b, many) }

// counter counts paths from a node, each node once.
type counter struct {
	deep  bool // also into values inside the value
	known map[*node]int
	cycle *node // a node that leads to itself, if there is one
}

const counting = -1

func (c *counter) count(n *node) int {
	switch known, found := c.known[n]; {
	case found && known == counting:
		c.cycle = n
		return many
	case found:
		return known
	}
	c.known[n] = counting
	total := n.weight
	for _, next := range n.same {
		total = plus(total, c.count(next))
	}
	if c.deep {
		for _, e := range n.below {
			total = plus(total, c.count(e.to))
		}
	}
	c.known[n] = total
	return total
}

// pathsOf returns how many subschemas apply to one value at most; many if that
// depends on the value.
func pathsOf(root *node) int {
	c := counter{deep: true, known: map[*node]int{}}
	return c.count(root)
}

// checkPaths reports references that lead to themselves and subschemas that
// multiply, anywhere in the graph.
func (g *graph) checkPaths(at pointed, root *node) {
	c := counter{known: map[*node]int{}}
	most := c.count(root)
	for _, n := range g.nodes {
		most = max(most, c.count(n))
	}
	switch {
	case c.cycle != nil:
		g.wrong(at, "a $ref leads back to itself without going into the value")
	case most > maxPaths:
		g.wrong(at, "checking one value would take more than "+strconv.Itoa(maxPaths)+" subschemas")
	}
}

// visit is the check of one value against one subschema.
type visit struct {
	node *node
	at   uintptr // identity of an object or array; zero for others, which have nothing inside
	size int
}

// meter counts the checks of a whole value, each visit once. It gives up when
// there are too many.
type meter struct {
	known map[visit]int
	limit int
	over  bool
}

func (m *meter) cost(n *node, value any) int {
	key := identify(n, value)
	if known, found := m.known[key]; found {
		return known
	}
	total := n.weight
	for _, next := range n.same {
		total = m.add(total, m.cost(next, value))
	}
	for _, e := range n.below {
		if m.over {
			return many
		}
		total = m.add(total, m.inside(e, value))
	}
	m.known[key] = total
	return total
}

func (m *meter) add(a, b int) int {
	total := plus(a, b)
	m.over = m.over || total > m.limit || len(m.known) > m.limit
	return total
}

func identify(n *node, value any) visit {
	switch v := value.(type) {
	case map[string]any:
		return visit{node: n, at: reflect.ValueOf(v).Pointer(), size: len(v)}
	case []any:
		return visit{node: n, at: reflect.ValueOf(v).Pointer(), size: len(v)}
	default:
		return visit{node: n}
	}
}

// inside is the cost of the parts of a value that an edge applies to.
func (m *meter) inside(e edge, value any) int {
	if e.only {
		_, isArray := value.([]any)
		if part, has := step(value, e.name); has && isArray == e.items {
			return m.cost(e.to, part)
		}
		return 0
	}
	total := 0
	for part := range parts(value, e.items) {
		if m.over {
			return many
		}
		total = m.add(total, m.cost(e.to, part))
	}
	return total
}

// parts yields the items of an array, or the members of an object.
func parts(value any, items bool) iter.Seq[any] {
	if items {
		list, _ := value.([]any)
		return slices.Values(list)
	}
	return maps.Values(fields(value))
}
