package expression

import "slices"

// The roots of the language: what a Reference starts from.
const (
	rootParams = "params"
	rootState  = "state"
	rootSteps  = "steps"
	rootItem   = "item"
	rootLoop   = "loop"
	rootRun    = "run"
	rootResult = "result"
)

// Scope is what the names in a source may mean. It is known when the workflow
// is parsed, before any value is.
type Scope struct {
	Params   []string // names under params
	Captures []string // names under state
	Steps    []string // ids under steps; each has .status
	// Item is the name of the loop variable, "" outside loops. With it, loop
	// is known.
	Item string
	// Result tells that result is known, as in extract.
	Result bool

	index *index
}

// index answers for a scope with thousands of names what a search through
// them would.
type index struct{ params, captures, steps map[string]bool }

// Indexed returns the scope with its names hashed. Use it where many sources
// are compiled in one large scope; Item and Result may be changed afterwards,
// the lists may not.
func (s Scope) Indexed() Scope {
	s.index = &index{set(s.Params), set(s.Captures), set(s.Steps)}
	return s
}

func set(names []string) map[string]bool {
	hashed := make(map[string]bool, len(names))
	for _, name := range names {
		hashed[name] = true
	}
	return hashed
}

// The names under run and under loop.
var (
	runNames  = []string{"id", "workflow", "version"}
	loopNames = []string{"index", "first", "last", "length"}
)

// under returns the names that may follow a root, nil where any may.
func (s Scope) under(root string) []string {
	switch root {
	case rootParams:
		return s.Params
	case rootState:
		return s.Captures
	case rootSteps:
		return s.Steps
	case rootRun:
		return runNames
	case rootLoop:
		return loopNames
	default:
		return nil
	}
}

// has tells whether a name stands under a root.
func (s Scope) has(root, name string) bool {
	if s.index != nil {
		switch root {
		case rootParams:
			return s.index.params[name]
		case rootState:
			return s.index.captures[name]
		case rootSteps:
			return s.index.steps[name]
		}
	}
	return slices.Contains(s.under(root), name)
}

// isRoot tells whether a name is a root in this scope. The loop variable is
// not one: it is a bare name, and may be ambiguous.
func (s Scope) isRoot(name string) bool {
	switch name {
	case rootParams, rootState, rootSteps, rootRun:
		return true
	case rootLoop:
		return s.Item != ""
	case rootResult:
		return s.Result
	default:
		return false
	}
}

// meanings returns the roots a bare name can stand for, in the order of
// precedence.
func (s Scope) meanings(name string) []string {
	var roots []string
	if s.Item != "" && name == s.Item {
		roots = append(roots, rootItem)
	}
	for _, root := range []string{rootState, rootParams} {
		if s.has(root, name) {
			roots = append(roots, root)
		}
	}
	return roots
}

// bareNames returns everything a bare name could have been, sorted.
func (s Scope) bareNames() []string {
	names := []string{rootParams, rootState, rootSteps, rootRun}
	if s.Item != "" {
		names = append(names, s.Item, rootLoop)
	}
	if s.Result {
		names = append(names, rootResult)
	}
	names = slices.Concat(names, s.Captures, s.Params)
	slices.Sort(names)
	return names
}

// Reference is one read of the surroundings, found in the parsed expression.
type Reference struct {
	// Root is params, state, steps, item, loop, run or result. Name is what
	// is read under it; "" for item and result, and where params, loop or run
	// is read as a whole. A bare name is resolved: the capture a is {state a}.
	Root, Name string
	// Soft tells that a null is expected: the read is directly followed by ?.
	// or is itself the left side of ??.
	Soft bool
	// Offset is the byte in the source where the read begins.
	Offset int
}

// Env holds the values of the names of a Scope for one evaluation. Values are
// those of package jsonvalue and are never changed; a result may share parts
// with them.
type Env struct {
	Params map[string]any
	// State gives nil for the capture of a step that was skipped; Steps gives
	// the status of a step, a string.
	State, Steps func(name string) any
	Item         any
	Loop, Run    map[string]any
	Result       any
}
