package rules

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Operation is a tool as far as its annotations and arguments tell what to ask before a
// call of it.
type Operation struct {
	Tool string
	// Required are the arguments without which it cannot be called.
	Required                          []string
	ReadOnly, Destructive, Idempotent bool
}

// Skeleton writes rules that annotations suggest, for an author to go over; they warn. A
// tool that changes something needs a read with the same arguments; one that is not
// idempotent is not called twice alike; one that destroys something asks. It returns ""
// if nothing is suggested.
func Skeleton(name string, all []Operation) string {
	slices.SortFunc(all, func(a, b Operation) int { return strings.Compare(a.Tool, b.Tool) })
	s := skeleton{all: all, evidence: map[string]string{}, taken: map[string]bool{}}
	for _, each := range all {
		if !each.ReadOnly {
			s.rulesFor(each)
		}
	}
	if s.rules.Len() == 0 {
		return ""
	}
	text := "# Drawn from the annotations of the tools. Go over each rule, then remove its mode: warn to make it hold.\nname: " + name + "\nversion: \"1.0\"\n"
	if len(s.evidence) > 0 {
		text += "evidence:\n"
	}
	for _, line := range slices.Sorted(maps.Keys(s.evidence)) {
		text += "  " + line + s.evidence[line] + "\n"
	}
	return text + "rules:\n" + s.rules.String()
}

type skeleton struct {
	all      []Operation
	evidence map[string]string // by the beginning of its line
	taken    map[string]bool   // ids of rules
	rules    strings.Builder
}

func (s *skeleton) rulesFor(o Operation) {
	id := identifierOf(o.Tool)
	if reader, keys := s.reader(o); reader != "" {
		name, pairs := "seen_"+identifierOf(reader+"."+strings.Join(keys, ".")), make([]string, len(keys))
		for i, key := range keys {
			pairs[i] = fmt.Sprintf("%q: %s", key, readOf(key))
		}
		s.evidence[name+": "] = fmt.Sprintf("{last: %q, where: {%s}}", reader, strings.Join(pairs, ", "))
		s.add(id+"_seen", o.Tool, "require: {needs: "+name+"}")
	}
	if !o.Idempotent {
		s.add(id+"_once", o.Tool, `once: "toJSON(input)"`)
	}
	if o.Destructive {
		s.add(id+"_approve", o.Tool, fmt.Sprintf("approve: %q", "Call "+o.Tool+"?"))
	}
}

func (s *skeleton) add(id, tool, demand string) {
	id = id[max(0, len(id)-64):]
	for short, n := id, 2; s.taken[id]; n++ {
		id = fmt.Sprintf("%s_%d", short[max(0, len(short)-60):], n)
	}
	s.taken[id] = true
	fmt.Fprintf(&s.rules, "  - {id: %s, before: %q, %s, mode: warn}\n", id, tool, demand)
}

// reader returns the tool of the same engine that only reads and shares the most
// arguments, and needs no others, with what they share.
func (s *skeleton) reader(o Operation) (tool string, keys []string) {
	for _, each := range s.all {
		shared := slices.DeleteFunc(slices.Clone(each.Required), func(key string) bool { return !slices.Contains(o.Required, key) })
		if each.ReadOnly && engineOf(each.Tool) == engineOf(o.Tool) && len(shared) == len(each.Required) && len(shared) > len(keys) {
			tool, keys = each.Tool, shared
		}
	}
	return tool, keys
}

// identifierOf returns a name for expressions.
func identifierOf(text string) string {
	return strings.Map(func(r rune) rune {
		if identifier().MatchString("_" + string(r)) {
			return r
		}
		return '_'
	}, text)
}

// readOf reads an argument.
func readOf(key string) string {
	if identifier().MatchString(key) {
		return "input." + key
	}
	return fmt.Sprintf("'input[%q]'", key)
}
