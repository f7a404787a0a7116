package check

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/expr-lang/expr/ast"

	"savant/fault"
	"savant/internal/pattern"
	"savant/think/flow/expression"
)

// access follows a name, or a value, and its members.
func (i *inference) access(node ast.Node, soft bool) *Type {
	base, links := expression.Flatten(node)
	var found *Type
	var said string // the read as written, up to here
	var read *readChain
	if name, ok := base.(*ast.IdentifierNode); ok {
		before := links
		found, said, links = i.name(name.Value, links)
		read = i.reading(base, node, said, links)
		i.unguarded(read, name, before, soft)
	} else {
		found, said = i.node(base, false), ""
		if pointer, ok := base.(*ast.PointerNode); ok {
			said = "#" + pointer.Name
		}
		read = i.reading(base, node, said, links)
	}
	guarded := false
	for at, each := range links {
		if _, constant := each.Key.(*ast.StringNode); !constant {
			i.needsPresent(each.Key, i.node(each.Key, false), number|text, "an index or a key")
		}
		if slices.Contains(i.untyped, said) {
			found = anything
		}
		guarded = guarded || each.Optional
		found = i.present(found, read, at)
		found = i.member(found, each, said)
		said = spelled(said, each.Key)
	}
	i.advise(read)
	if slices.Contains(i.untyped, said) {
		found = anything
	}
	if guarded {
		return found.withNull()
	}
	return found
}

// spelled adds a member to a read, or returns "" where it is computed.
func spelled(said string, key ast.Node) string {
	if _, index := indexOf(key); said != "" && (constant(key) || index) {
		return said + memberText(key)
	}
	return ""
}

// indexOf returns the index that a source says.
func indexOf(key ast.Node) (int, bool) {
	switch k := key.(type) {
	case *ast.IntegerNode:
		return k.Value, true
	case *ast.UnaryNode:
		if count, ok := k.Node.(*ast.IntegerNode); ok && k.Operator == "-" {
			return -count.Value, true
		}
	}
	return 0, false
}

// memberText writes a member as it is read: .name, ["a-b"] or [0].
func memberText(key ast.Node) string {
	if name, ok := key.(*ast.StringNode); ok {
		return memberName(name.Value)
	}
	return "[" + key.String() + "]"
}

func memberName(name string) string {
	if identifier().MatchString(name) {
		return "." + name
	}
	return "[" + strconv.Quote(name) + "]"
}

var identifier = pattern.Lazy(`^[A-Za-z_][A-Za-z0-9_]*$`)

// readChain is a read under way: its base as it is written, its members, and the names
// before them by which guards are found.
type readChain struct {
	base  string
	links []expression.Link
	names []string // of the base and the members, as chain gives them
	list  string   // the list of the innermost predicate, where the read begins at its item
	// soft are the members that have to be read with ?.. advice is what is to be said once
	// they are all known.
	soft   map[int]bool
	advice []advice
}

// advice is a finding that tells how the read is to be written.
type advice struct {
	finding
	base  string // what the read begins with
	after string // what the message says after that
}

func (i *inference) reading(base, node ast.Node, said string, links []expression.Link) *readChain {
	names, _ := i.values.chain(node)
	read := &readChain{base: said, links: links, names: names, soft: map[int]bool{}}
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
func (r *readChain) head(at int) []string {
	if end := len(r.names) - len(r.links) + at; end > 0 && end <= len(r.names) {
		return r.names[:end]
	}
	return nil
}

// softened writes the read with every ?. that it needs.
func (r *readChain) softened(base string) string {
	text := base
	for k, each := range r.links {
		member := memberText(each.Key)
		switch soft := r.soft[k] || each.Optional; {
		case soft && member[0] == '.':
			text += "?"
		case soft:
			text += "?."
		}
		text += member
	}
	return text
}

// present reports a member that is read of what may be null, or that may be absent
// itself, and returns the type with both there.
func (i *inference) present(of *Type, read *readChain, at int) *Type {
	l := read.links[at]
	key, constant := l.Key.(*ast.StringNode)
	if from := of.gap; from != nil {
		of = of.withoutNull()
		if !l.Optional && !i.there(from, read.head(at)) {
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
	if path := read.head(at + 1); !may || path != nil && (assumption{of: missing, path: path}).excluded(i.facts) {
		return of.having(key.Value)
	}
	why := fmt.Sprintf("%q is optional and may be missing", key.Value)
	if optional.why != "" {
		why += " (" + optional.why + ")"
	}
	if !l.Optional {
		i.soften(read, at, optional.severity, why)
	}
	made := *of
	made.fields = map[string]*Type{key.Value: of.fields[key.Value].lacking(gap{why: why, severity: optional.severity})}
	return made.having(key.Value)
}

// there reports whether what holds here contradicts that a value is null for a reason.
func (i *inference) there(from *gap, path []string) bool {
	statuses := from.statuses
	if len(statuses) == 0 {
		statuses = []string{""}
	}
	return path != nil && !slices.ContainsFunc(statuses, func(status string) bool {
		return !assumption{of: nothing, path: path, step: from.step, status: status}.excluded(i.facts)
	})
}

// soften notes a member that has to be read with ?.. One finding speaks of the whole
// read: the first of the most severe.
func (i *inference) soften(read *readChain, at int, severity, why string) {
	read.soft[at] = true
	before := slices.IndexFunc(read.advice, func(each advice) bool { return each.missing })
	if before >= 0 && (read.advice[before].severity == "" || severity != "") {
		return
	}
	found := advice{base: read.base, finding: finding{code: fault.ExpressionError, severity: severity, offset: i.program.Offset(read.links[at].At), missing: true, message: why}}
	if read.list != "" && at == 0 && i.items[len(i.items)-1].gap != nil {
		found.after = fmt.Sprintf(", or read it of filter(%s, # != nil)", read.list)
	}
	if before >= 0 {
		read.advice[before] = found
		return
	}
	read.advice = append(read.advice, found)
}

// advise reports what was noted of a read.
func (i *inference) advise(read *readChain) {
	for _, each := range read.advice {
		each.message += ": write " + read.softened(each.base) + each.after
		i.add(each.finding)
	}
}

// narrowed returns the type of the items for which a predicate holds.
func narrowed(item *Type, predicate ast.Node, in locals) *Type {
	if inner, ok := predicate.(*ast.PredicateNode); ok {
		predicate = inner.Node
	}
	facts := learn(nil, predicate, true, in)
	if (assumption{of: nothing, path: []string{"#"}}).excluded(facts) {
		item = item.withoutNull()
	}
	for _, name := range slices.Sorted(maps.Keys(item.optional)) {
		if (assumption{of: missing, path: []string{"#", memberName(name)}}).excluded(facts) {
			item = item.having(name)
		}
	}
	return item
}

// listText is how a message names a list.
func listText(node ast.Node) string {
	return fault.Cut(strings.TrimSpace(node.String()), 60)
}
