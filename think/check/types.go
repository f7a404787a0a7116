// Package check finds what is wrong with a workflow before it runs: fields that no
// result has, arguments that a tool does not take, conditions that can never hold. It
// reports only what is certain or likely, and accepts what it cannot know.
package check

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"savant/internal/jsonvalue"
)

// kinds is a set of JSON types, in the words of jsonvalue.Kind.
type kinds uint8

const (
	null kinds = 1 << iota
	boolean
	integer
	fraction // a number that may have a fraction
	text
	list
	object

	number = integer | fraction
	every  = null | boolean | number | text | list | object
)

// names are the kinds as messages name them.
var names = []struct {
	of   kinds
	name string
}{{null, "null"}, {boolean, "a boolean"}, {number, "a number"}, {integer, "an integer"}, {fraction, "a number"}, {text, "a string"}, {list, "a list"}, {object, "an object"}}

func (k kinds) String() string {
	if k == every {
		return "any value"
	}
	var said []string
	for _, each := range names {
		if k&each.of == each.of {
			said = append(said, each.name)
			k &^= each.of
		}
	}
	return strings.Join(said, " or ")
}

// kindOf returns the kind of a decoded JSON value.
func kindOf(value any) kinds {
	kind := kindNamed[jsonvalue.Kind(value)]
	if kind == number { // a whole number is an "integer"
		return fraction
	}
	return cmp.Or(kind, every)
}

// openness says whether a type may have fields that it does not name.
type openness uint8

const (
	// open: there may be others.
	open openness = iota
	// unsealed: the workflow's own schema names fields, and allows others.
	unsealed
	// declared: a foreign tool names its fields, but may have more.
	declared
	// exact: a tool of Savant names all that it gives.
	exact
	// closed: there are no others.
	closed
)

func ofTool(o openness) bool { return o == declared || o == exact }

// Type is a set of possible values. Types are immutable.
type Type struct {
	kinds kinds
	// values are all that the value can be, nil where they are not known; written says
	// that they come from the text of the workflow alone, which may be meant so.
	values  []any
	written bool
	// now is what a value is that may change its text.
	now any
	// fields are the named fields of an object; rest is the type of all others, nil for any.
	fields   map[string]*Type
	openness openness
	rest     *Type
	// optional are the named fields that may be absent, and where that is said.
	optional map[string]gap
	// item is the type of a list's items, nil for any, but for the first ones if those have
	// types of their own.
	item   *Type
	prefix []*Type
	// gap says why the value may be null, nil where that is not known to happen.
	gap *gap
	// origin says where an object's fields come from, for messages.
	origin string
}

// gap is a reason for which a value may be null or absent, and how severe it is to read
// it as if it were there.
type gap struct {
	why, severity string
	step          string   // the value is null where this step
	statuses      []string // has one of these statuses
}

var (
	anything = &Type{kinds: every}
	none     = &Type{} // of no value: what an empty list has for items
	ofNull   = &Type{kinds: null, values: []any{nil}, written: true}
	ofBool   = &Type{kinds: boolean}
	ofInt    = &Type{kinds: integer}
	ofNumber = &Type{kinds: number}
	ofText   = &Type{kinds: text}
)

func listOf(item *Type) *Type { return &Type{kinds: list, item: item} }

// literal returns the type of a value that is known.
func literal(value any) *Type {
	made := &Type{kinds: kindOf(value), written: true}
	switch v := value.(type) {
	case map[string]any:
		made.fields, made.openness = make(map[string]*Type, len(v)), closed
		for name, each := range v {
			made.fields[name] = literal(each)
		}
	case []any:
		items := make([]*Type, len(v))
		for i, each := range v {
			items[i] = literal(each)
		}
		made.item = join(items...)
	default:
		made.values = []any{value}
	}
	return made
}

// maxValues bounds the values of a type.
const maxValues = 100

// join returns a type of all values that one of the types has.
func join(types ...*Type) *Type {
	joined := none
	for _, each := range types {
		joined = joinTwo(joined, each)
	}
	return joined
}

func joinTwo(a, b *Type) *Type {
	switch {
	case a == b, b.kinds == 0:
		return a
	case a.kinds == 0:
		return b
	case a.kinds == every && a.plain():
		return a
	case b.kinds == every && b.plain():
		return b
	}
	joined := &Type{kinds: a.kinds | b.kinds, gap: a.gap, written: a.written && b.written}
	if a.gap == nil {
		joined.gap = b.gap
	}
	if a.values != nil && b.values != nil && len(a.values)+len(b.values) <= maxValues {
		joined.values = slices.Clone(a.values)
		for _, value := range b.values {
			if !slices.ContainsFunc(joined.values, func(known any) bool { return equalJSON(known, value) }) {
				joined.values = append(joined.values, value)
			}
		}
	}
	switch {
	case a.kinds&list == 0:
		joined.item, joined.prefix = b.item, b.prefix
	case b.kinds&list == 0:
		joined.item, joined.prefix = a.item, a.prefix
	default:
		joined.items(a, b, joinTwo)
	}
	switch {
	case a.kinds&object == 0:
		joined.fieldsOf(b)
	case b.kinds&object == 0:
		joined.fieldsOf(a)
	default:
		joined.joinFields(a, b)
	}
	return joined
}

// plain reports whether only the kinds are known.
func (t *Type) plain() bool {
	return t.values == nil && t.fields == nil && t.gap == nil && t.openness == open && t.rest == nil && t.item == nil && t.prefix == nil
}

// items makes the types of a list's items of those of two lists.
func (t *Type) items(a, b *Type, of func(a, b *Type) *Type) {
	for k := range max(len(a.prefix), len(b.prefix)) {
		t.prefix = append(t.prefix, of(a.itemAt(k), b.itemAt(k)))
	}
	if t.item = of(a.others(), b.others()); t.item == anything {
		t.item = nil
	}
}

func (t *Type) fieldsOf(other *Type) {
	t.fields, t.openness, t.rest, t.origin, t.optional = other.fields, other.openness, other.rest, other.origin, other.optional
}

func (t *Type) joinFields(a, b *Type) {
	t.openness = min(a.openness, b.openness)
	t.fields = map[string]*Type{}
	t.origin = a.origin
	for name := range a.fields {
		t.fields[name] = a.fields[name]
		if other, _ := b.field(name); other != nil {
			t.fields[name] = joinTwo(a.fields[name], other)
		}
	}
	for name := range b.fields {
		if a.fields[name] == nil {
			t.fields[name] = b.fields[name]
			if other, _ := a.field(name); other != nil {
				t.fields[name] = joinTwo(b.fields[name], other)
			}
		}
	}
	switch {
	case a.openness == closed:
		t.rest = b.rest
	case b.openness == closed:
		t.rest = a.rest
	case a.rest != nil && b.rest != nil:
		t.rest = joinTwo(a.rest, b.rest)
	}
	t.optional = map[string]gap{}
	for _, pair := range [][2]*Type{{a, b}, {b, a}} {
		for name := range pair[0].fields {
			if found, known := pair[1].field(name); found == nil {
				t.optional[name] = pair[1].lacks(known)
			}
		}
		for name, why := range pair[0].optional {
			if !pair[1].certain(name) {
				t.optional[name] = why
			}
		}
	}
}

// lacks is the reason for which a field may be absent that an object does not name.
func (t *Type) lacks(known openness) gap {
	why := gap{}
	if t.origin != "" {
		why.why = "it is not in " + t.origin
	}
	if known == declared {
		why.severity = warning
	}
	return why
}

// certain reports whether an object has the named field in any case.
func (t *Type) certain(name string) bool {
	_, may := t.optional[name]
	return t.fields[name] != nil && !may
}

// field returns the type of an object's field, or nil and how certain its absence is.
func (t *Type) field(name string) (*Type, openness) {
	switch {
	case t.fields[name] != nil:
		return t.fields[name], t.openness
	case t.openness > unsealed:
		return nil, t.openness
	case t.rest != nil:
		return t.rest, open
	}
	return anything, t.openness
}

// intersect returns a type of the values that both types have.
func intersect(a, b *Type) *Type {
	switch {
	case a == anything, b.kinds == 0:
		return b
	case b == anything, a.kinds == 0:
		return a
	}
	both := &Type{kinds: a.kinds & b.kinds, gap: a.gap, written: a.written || b.written}
	if a.gap == nil {
		both.gap = b.gap
	}
	switch {
	case both.kinds == 0:
		return anything // the two contradict each other: nothing can be said
	case both.kinds&null == 0:
		both.gap = nil
	}
	switch {
	case a.values == nil:
		both.values = b.values
	case b.values == nil:
		both.values = a.values
	default:
		both.values = []any{}
		for _, value := range a.values {
			if slices.ContainsFunc(b.values, func(other any) bool { return equalJSON(value, other) }) {
				both.values = append(both.values, value)
			}
		}
	}
	both.items(a, b, intersect)
	both.meetFields(a, b)
	return both
}

func (t *Type) meetFields(a, b *Type) {
	t.openness, t.origin, t.fields = b.openness, b.origin, map[string]*Type{}
	if a.openness > b.openness || a.openness == b.openness && b.fields == nil {
		t.openness, t.origin = a.openness, a.origin
	}
	for _, pair := range [][2]*Type{{a, b}, {b, a}} {
		for name, own := range pair[0].fields {
			other, certain := pair[1].field(name)
			switch {
			case other != nil:
				t.fields[name] = intersect(own, other)
			case ofTool(certain) && !ofTool(pair[0].openness):
				t.fields[name] = own // the workflow's own schema names it
			}
		}
	}
	t.optional = map[string]gap{}
	for _, pair := range [][2]*Type{{a, b}, {b, a}} {
		for name, why := range pair[0].optional {
			if said, already := t.optional[name]; t.fields[name] != nil && !pair[1].certain(name) && (!already || said.severity == warning) {
				t.optional[name] = why
			}
		}
	}
	switch {
	case a.rest == nil:
		t.rest = b.rest
	case b.rest == nil:
		t.rest = a.rest
	default:
		t.rest = intersect(a.rest, b.rest)
	}
}

// withNull returns a type that may be null as well.
func (t *Type) withNull() *Type {
	if t.kinds&null != 0 {
		return t
	}
	return joinTwo(t, ofNull)
}

// lacking returns a type that may be null as well, for a reason.
func (t *Type) lacking(reason gap) *Type {
	made := *t.withNull()
	made.gap = &reason
	return &made
}

// having returns a type whose named field is there in any case.
func (t *Type) having(name string) *Type {
	if _, may := t.optional[name]; !may {
		return t
	}
	made := *t
	made.optional = maps.Clone(t.optional)
	delete(made.optional, name)
	return &made
}

// withoutNull returns a type that is not null.
func (t *Type) withoutNull() *Type {
	if t.kinds&null == 0 && t.gap == nil {
		return t
	}
	bare := *t
	bare.gap = nil
	bare.kinds &^= null
	if bare.values != nil {
		bare.values = slices.DeleteFunc(slices.Clone(bare.values), func(value any) bool { return value == nil })
	}
	return &bare
}

// restrictTo returns the part of a type that is of some kinds.
func (t *Type) restrictTo(of kinds) *Type {
	part := *t
	part.kinds &= of
	if part.values != nil {
		part.values = slices.DeleteFunc(slices.Clone(part.values), func(value any) bool { return kindOf(value)&of == 0 })
	}
	return &part
}

// itemType returns the type of a list's items.
func (t *Type) itemType() *Type {
	if t.item == nil && t.prefix != nil {
		return join(t.prefix...) // those that are there in any case
	}
	return join(append(slices.Clone(t.prefix), t.others())...)
}

// others returns the type of the items after the prefix.
func (t *Type) others() *Type {
	if t.item == nil {
		return anything
	}
	return t.item
}

// itemAt returns the type of the item at an index.
func (t *Type) itemAt(index int) *Type {
	if index < len(t.prefix) {
		return t.prefix[index]
	}
	return t.others()
}

// unlessNone returns a type of which there are values, for what is read of a value that
// has none: the evaluation fails before.
func (t *Type) unlessNone() *Type {
	if t.kinds == 0 {
		return anything
	}
	return t
}

// fieldType returns the type of the fields of an object, named or not.
func (t *Type) fieldType() *Type {
	all := none
	switch {
	case t.rest != nil:
		all = t.rest
	case t.openness < exact:
		return anything
	}
	for _, name := range slices.Sorted(maps.Keys(t.fields)) {
		all = joinTwo(all, t.fields[name])
	}
	return all
}

// canEqual reports whether values of two types may be equal.
func canEqual(a, b *Type) bool {
	if a.values == nil || b.values == nil {
		return loose(a.kinds)&loose(b.kinds) != 0 && (a.values == nil || anyOf(a.values, b)) && (b.values == nil || anyOf(b.values, a))
	}
	return slices.ContainsFunc(a.values, func(value any) bool {
		return slices.ContainsFunc(b.values, func(other any) bool { return equalJSON(value, other) })
	})
}

// loose takes integers and other numbers for one kind: 2 equals 2.0.
func loose(k kinds) kinds {
	if k&number != 0 {
		return k | number
	}
	return k
}

func anyOf(values []any, of *Type) bool {
	return slices.ContainsFunc(values, func(value any) bool { return loose(kindOf(value))&loose(of.kinds) != 0 })
}

func equalJSON(a, b any) bool {
	left, errLeft := jsonvalue.Encode(a)
	right, errRight := jsonvalue.Encode(b)
	return errLeft == nil && errRight == nil && string(left) == string(right)
}
