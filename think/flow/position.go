package flow

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// before orders units as they were declared: by step, then item, then round,
// then the child's steps.
func before(a, b *unit) int {
	switch {
	case a.node == b.node:
		return cmp.Compare(a.item, b.item)
	case a.frame() == b.frame():
		return cmp.Compare(a.node.index, b.node.index)
	}
	return slices.Compare(a.position(), b.position())
}

// position is where the unit stands among all of the run.
func (u *unit) position() []int {
	above := []int(nil)
	if f := u.frame(); f.owner != nil {
		above = append(f.owner.position(), f.round)
	}
	if above = append(above, u.node.index); u.node.loop() {
		above = append(above, u.item)
	}
	return above
}

func insert(list []*unit, u *unit) []*unit {
	if len(list) == 0 || before(list[len(list)-1], u) < 0 {
		return append(list, u)
	}
	at, _ := slices.BinarySearchFunc(list, u, before)
	return slices.Insert(list, at, u)
}

func remove(list []*unit, u *unit) []*unit {
	at, found := slices.BinarySearchFunc(list, u, before)
	if !found {
		return list
	}
	if at == 0 {
		return list[1:]
	}
	return slices.Delete(list, at, at+1)
}

// find returns the node, and the unit if there is one, that an id names.
func (r *Run) find(id string) (*nodeState, *unit) { return r.root.find(id) }

func (f *frame) find(id string) (*nodeState, *unit) {
	head, rest, nested := strings.Cut(id, "/")
	if at, ok := f.graph.index[head]; ok {
		n := &f.nodes[at]
		if !nested {
			if len(n.units) == 1 && !n.loop() {
				return n, &n.units[0]
			}
			return n, nil
		}
		if n.step().Rounds == 0 && !n.loop() && len(n.units) == 1 && len(n.units[0].rounds()) == 1 {
			return n.units[0].rounds()[0].find(rest)
		}
		return nil, nil
	}
	base, number, _ := cutLast(head, "_")
	at, ok := f.graph.index[base]
	k, err := strconv.Atoi(number)
	if !ok || err != nil || k < 0 {
		return nil, nil
	}
	n := &f.nodes[at]
	if n.loop() && k < len(n.units) {
		if u := &n.units[k]; !nested {
			return n, u
		} else if len(u.rounds()) == 1 {
			return u.rounds()[0].find(rest)
		}
	}
	if nested && n.step().Rounds > 0 && len(n.units) == 1 && k < len(n.units[0].rounds()) {
		return n.units[0].rounds()[k].find(rest)
	}
	return nil, nil
}
