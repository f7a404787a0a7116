package rules

import (
	"slices"
	"strings"

	"savant/internal/pattern"
)

// Trace is what the records of some calls contain: the name of their tool, and a member of their
// input, as they are encoded. An empty one says nothing.
type Trace struct{ Tool, Member string }

// Traces say which earlier calls can change what is decided about a call: those whose records
// have one of them. Who judges one call only can leave out the others, see Skip.
func (s *Set) Traces(call Call) []Trace {
	all := []Trace{traceOf(call.Tool, "")}
	if len(call.Input) > 0 { // asked about, refused, or made before
		all[0].Member = member(rootInput, call.Input)
	}
	for _, rule := range s.Guards(call.Tool) {
		of := call
		if rule.limit != nil {
			inputs := plainInput(rule.limit.per)
			for _, tool := range rule.Before {
				all = append(all, traceOf(tool, call.member(inputs, inputs)))
			}
			of.Input = nil // what an earlier call used up depends on calls with its own input
		}
		for _, each := range rule.pieces() {
			for _, read := range each.program.Lists() {
				all = append(all, traceOf(read.Name, of.member(read.Keys, read.Inputs)))
			}
		}
		for _, e := range rule.evidence() {
			var inputs []string
			for _, each := range e.values {
				inputs = append(inputs, plainInput(each.piece)...)
			}
			for _, tool := range e.tools() {
				all = append(all, traceOf(tool, of.member(e.keys, inputs)))
			}
			for _, tool := range e.since {
				all = append(all, traceOf(tool, ""))
			}
		}
	}
	return all
}

func traceOf(tool, member string) Trace {
	if isPattern(tool) {
		return Trace{"", member}
	}
	return Trace{`"tool":` + encoded(tool), member}
}

func member(key string, value any) string { return encoded(key) + ":" + encoded(value) }

// plainInput returns the k of input.k, none for another expression.
func plainInput(of piece) []string {
	if of.program == nil {
		return nil
	}
	if name, is := strings.CutPrefix(strings.Replace(of.program.Source(), "?.", ".", 1), rootInput+"."); is && identifier().MatchString(name) {
		return []string{name}
	}
	return nil
}

// zero finds a zero: older records may have it with a sign.
var zero = pattern.Lazy(`[:,[]0([]},]|$)`)

// member returns a member of the input of calls that have the call's values: each key has that of
// one of the call's inputs. "": it cannot be told, or one of the values is missing.
func (c Call) member(keys, inputs []string) (longest string) {
	for i, name := range inputs {
		if c.Input[name] == nil || len(keys) != len(inputs) {
			return ""
		}
		if text := member(keys[i], c.Input[name]); len(text) > len(longest) && !zero().MatchString(text) {
			longest = text
		}
	}
	return longest
}

// evidence returns the evidence that a rule reads.
func (r *Rule) evidence() []*evidence {
	var names []string
	for _, each := range r.require {
		names = append(names, each.needs...)
	}
	for _, each := range r.pieces() {
		for _, of := range each.program.References() {
			names = append(names, of.Root)
		}
	}
	var all []*evidence
	for _, name := range names {
		if e := r.file.evidence[name]; e != nil && !slices.Contains(all, e) {
			all = append(all, e)
		}
	}
	return all
}

// Skip counts calls of a session that are left out.
func (h *History) Skip(session string, calls int) {
	own := h.session(session)
	h.sessions[session] = own
	own.count += calls
}
