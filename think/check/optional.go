package check

import (
	"fmt"
	"strings"

	"github.com/expr-lang/expr/ast"

	"savant/fault"
	"savant/think/flow/expression"
)

// reading is a read under way: its base as it is written, its members, and the names
// before them by which guards are found.
type reading struct {
	base  string
	links []expression.Link
	names []string // of the base and the members, as chain gives them
	list  string   // the list of the innermost predicate, where the read begins at its item
}

func (i *inference) reading(base, node ast.Node, said string, links []expression.Link) reading {
	names, _ := chain(node)
	read := reading{base: said, links: links, names: names}
	if said == "" {
		read.base = "(…)"
	}
	if _, item := base.(*ast.PointerNode); item && len(i.lists) > 0 {
		read.list = i.lists[len(i.lists)-1]
	}
	return read
}

// head returns the names before the member at an index, nil where a guard cannot name
// them.
func (r reading) head(at int) []string {
	if end := len(r.names) - len(r.links) + at; end > 0 && end <= len(r.names) {
		return r.names[:end]
	}
	return nil
}

// present reports a member that is read of what may be null, or that may be absent
// itself, and returns the type with both there.
func (i *inference) present(of *Type, read reading, at int) *Type {
	l := read.links[at]
	key, constant := l.Key.(*ast.StringNode)
	if from := of.gap; from != nil {
		of = of.withoutNull()
		if !l.Optional && !i.known(assumption{of: nothing, path: read.head(at), step: from.step, status: from.status}) {
			i.soften(read, at, from.severity, from.why)
			if constant {
				return of.having(key.Value) // one finding for a member
			}
		}
	}
	if !constant {
		return of
	}
	optional, may := of.optional[key.Value]
	if !may || i.known(assumption{of: missing, path: read.head(at + 1)}) {
		return of.having(key.Value)
	}
	why := fmt.Sprintf("%q is optional and may be missing", key.Value)
	if optional.why != "" {
		why += " (" + optional.why + ")"
	}
	if !l.Optional {
		i.soften(read, at, optional.severity, why)
		return of.having(key.Value)
	}
	made := *of
	made.fields = map[string]*Type{key.Value: of.fields[key.Value].lacking(gap{why: why, severity: optional.severity})}
	return made.having(key.Value)
}

// known reports whether what holds here contradicts an assumption.
func (i *inference) known(a assumption) bool { return len(a.path) > 0 && a.excluded(i.facts) }

// soften reports a member that has to be read with ?.
func (i *inference) soften(read reading, at int, severity, why string) {
	fix := softened(read.base, read.links, at)
	if read.list != "" && at == 0 && len(i.items) > 0 && i.items[len(i.items)-1].gap != nil {
		fix += fmt.Sprintf(", or read it of filter(%s, # != nil)", read.list)
	}
	i.add(finding{code: fault.ExpressionError, severity: severity, offset: i.program.Offset(read.links[at].At), missing: true,
		message: fmt.Sprintf("%s: write %s", why, fix)})
}

// narrowed returns the type of the items for which a predicate holds.
func narrowed(item *Type, predicate ast.Node) *Type {
	if inner, ok := predicate.(*ast.PredicateNode); ok {
		predicate = inner.Node
	}
	facts := learn(nil, predicate, true)
	if (assumption{of: nothing, path: []string{"#"}}).excluded(facts) {
		item = item.withoutNull()
	}
	for _, name := range sortedKeys(item.optional) {
		if (assumption{of: missing, path: []string{"#", "." + name}}).excluded(facts) {
			item = item.having(name)
		}
	}
	return item
}

// listText is how a message names a list.
func listText(node ast.Node) string {
	return fault.Cut(strings.TrimSpace(node.String()), 60)
}
