package rules

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"

	"savant/internal/pattern"
)

// Set is the rules that hold together. It is immutable and safe for concurrent use.
type Set struct {
	files   []*File
	indexes map[string][]index // by tool, or pattern: what its calls are looked up by
	reads   []string           // tools whose calls rules look at, and patterns
	reach   int64              // how far rules reach back over sessions, in milliseconds
	guards  sync.Map           // tool → []*Rule, made when first asked for
}

// index is the members of an input by which calls are looked up; name joins the keys.
type index struct {
	name string
	keys []string
}

// New returns the rules of some files.
func New(files ...*File) *Set {
	s := &Set{files: slices.Clone(files), indexes: map[string][]index{}}
	slices.SortStableFunc(s.files, func(a, b *File) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), strings.Compare(a.Digest, b.Digest))
	})
	for _, file := range s.files {
		for _, e := range file.evidence {
			s.reaches(e.project, e.within)
			for _, tool := range e.tools() {
				s.index(tool, e.keys)
			}
			s.reads = slices.Concat(s.reads, e.tools(), e.since)
		}
		for _, rule := range file.Rules {
			if rule.limit != nil {
				s.reaches(rule.limit.project, rule.limit.within)
			}
			for _, each := range rule.pieces() {
				for _, read := range each.program.Lists() {
					s.index(read.Name, read.Keys)
					s.reads = append(s.reads, read.Name)
				}
			}
		}
	}
	slices.Sort(s.reads)
	s.reads = slices.Compact(s.reads)
	return s
}

func (s *Set) index(tool string, keys []string) {
	added := index{indexName(keys), keys}
	if len(keys) > 0 && !slices.ContainsFunc(s.indexes[tool], func(each index) bool { return each.name == added.name }) {
		s.indexes[tool] = append(s.indexes[tool], added)
	}
}

// indexesOf returns the indexes of a tool's calls, also those by a pattern of its name.
func (s *Set) indexesOf(tool string) []index {
	found := map[string]index{}
	for name, all := range s.indexes {
		if pattern.Matches(name, tool) {
			for _, each := range all {
				found[each.name] = each
			}
		}
	}
	return slices.Collect(maps.Values(found))
}

func indexName(keys []string) string { return strings.Join(keys, "\x00") }

// Files returns the files, by path.
func (s *Set) Files() []*File { return slices.Clone(s.files) }

// All returns the rules of all files, in their order.
func (s *Set) All() (all []*Rule) {
	for _, file := range s.files {
		all = append(all, file.Rules...)
	}
	return all
}

// Names returns the names of tools, and patterns, that rules guard or look at.
func (s *Set) Names() []string {
	return slices.DeleteFunc(s.Spelled(), func(name string) bool { return !s.Reads(name) })
}

// Spelled returns all names of tools that the rules say, and then all patterns.
func (s *Set) Spelled() []string {
	names := slices.Clone(s.reads)
	for _, file := range s.files {
		for _, rule := range file.Rules {
			names = slices.Concat(names, rule.Before, rule.Except)
		}
		for _, each := range file.success {
			names = append(names, each.tool)
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(strings.Count(a, "*"), strings.Count(b, "*")), strings.Compare(a, b))
	})
	return slices.Compact(names)
}

// Reach is how far rules reach back over the sessions of a project, in milliseconds; 0 where none
// does.
func (s *Set) Reach() int64 { return s.reach }

func (s *Set) reaches(project bool, within int64) {
	if project {
		s.reach = max(s.reach, cmp.Or(within, maxWithin))
	}
}

// Guards returns the rules about the calls of a tool, in the order of files and lines.
func (s *Set) Guards(tool string) []*Rule {
	if known, ok := s.guards.Load(tool); ok {
		return known.([]*Rule)
	}
	var found []*Rule
	for _, rule := range s.All() {
		if rule.Guards(tool) {
			found = append(found, rule)
		}
	}
	s.guards.Store(tool, found)
	return found
}

// Reads reports whether a rule looks at the calls of a tool, so that they have to be
// kept.
func (s *Set) Reads(tool string) bool { return matchesAny(s.reads, tool) || len(s.Guards(tool)) > 0 }
