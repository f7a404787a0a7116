package cases

import (
	"cmp"
	"slices"
	"strconv"

	"savant/fault"
	"savant/think/flow"
)

// Update returns the text of a file with what its cases expect rewritten to what their runs
// come to. All else stays as it is written: comments, order, and what holds. Only the case of
// a name is rewritten if only is not empty. left has a diagnostic for each case that fails
// and cannot be rewritten.
func Update(f *File, graph *flow.Graph, only string) (text []byte, left []fault.Diagnostic) {
	text = f.src
	for i, c := range f.Cases {
		if only != "" && c.Name != only {
			continue
		}
		t := newTrial(f, c, graph)
		t.execute()
		if t.run == nil || len(t.result.Differences) > 0 && t.out.Final == nil && t.out.Blocked == nil {
			left = append(left, f.unwritten(c, "its parameters or answers do not fit"))
			continue
		}
		misfit := len(t.result.Differences) > 0 // an answer is not taken
		wanted := t.updated()
		if equal(wanted, c.Expect) {
			if misfit {
				left = append(left, f.unwritten(c, "its answers do not fit"))
			}
			continue
		}
		path := "cases[" + strconv.Itoa(i) + "].expect"
		if made, ok := rewritten(f, text, path, i, c.Expect, wanted); ok {
			text = made
		} else {
			left = append(left, f.unwritten(c, "it is written so that it cannot be rewritten: change it by hand"))
		}
	}
	return text, left
}

func (f *File) unwritten(c Case, why string) fault.Diagnostic {
	return fault.Diagnostic{File: f.Name, Line: f.Line(c), Column: 1, Path: c.path, Code: fault.ValidationFailed, Message: strconv.Quote(fault.Cut(c.Name, 100)) + " is not updated: " + why}
}

// edit gives the value of a path another text.
type edit struct {
	path, text string
	begin, end int
}

// rewritten returns a text in which the values under a path are replaced. It reads it again:
// ok says that it then says what is wanted, and the same of everything else.
func rewritten(f *File, src []byte, path string, number int, old, wanted map[string]any) (text []byte, ok bool) {
	_, layout, err := flow.ReadYAMLLayout(f.Name, src)
	if err != nil {
		return nil, false
	}
	edits := edits(path, old, wanted)
	for i := range edits {
		e := &edits[i]
		var deeper, known bool
		if e.begin, e.end, deeper, known = layout.Span(src, e.path); !known {
			return nil, false
		}
		if deeper {
			e.text = "  " + e.text
		}
	}
	slices.SortFunc(edits, func(a, b edit) int { return cmp.Compare(b.begin, a.begin) })
	text = slices.Clone(src)
	for _, e := range edits {
		text = slices.Replace(text, e.begin, e.end, []byte(e.text)...)
	}
	before, err := Parse(f.Name, src)
	after, failed := Parse(f.Name, text)
	if err != nil || failed != nil || len(after.Cases) != len(before.Cases) || after.Workflow != before.Workflow || !slices.Equal(after.Excuses, before.Excuses) {
		return nil, false
	}
	for i, c := range before.Cases {
		made := after.Cases[i]
		if i == number {
			c.Expect = wanted
		}
		if made.Name != c.Name || !equal(made.Params, c.Params) || !equal(made.Answers, c.Answers) || !equal(made.Expect, c.Expect) {
			return nil, false
		}
	}
	return text, true
}

// edits returns the smallest parts in which two values differ.
func edits(path string, old, wanted any) (all []edit) {
	if equal(old, wanted) {
		return nil
	}
	switch wanted := wanted.(type) {
	case map[string]any:
		before, is := old.(map[string]any)
		if !is || !slices.Equal(ids(before), ids(wanted)) {
			break
		}
		for _, name := range ids(wanted) {
			all = append(all, edits(path+"."+name, before[name], wanted[name])...)
		}
		return all
	case []any:
		before, is := old.([]any)
		if !is || len(before) != len(wanted) {
			break
		}
		for i := range wanted {
			all = append(all, edits(path+"["+strconv.Itoa(i)+"]", before[i], wanted[i])...)
		}
		return all
	}
	return []edit{{path: path, text: inline(wanted)}}
}

// updated returns what a case expects, with what does not hold replaced by what was seen.
func (t *trial) updated() map[string]any {
	expect := map[string]any{}
	for key, want := range t.test.Expect {
		expect[key] = want
		if !t.holds(func(m *matcher) { t.compareKey(m, key) }) {
			expect[key] = t.seenAs(key, want)
		}
	}
	return expect
}

// holds reports whether a comparison finds no difference; those found are forgotten.
func (t *trial) holds(compare func(*matcher)) bool {
	before := len(t.result.Differences)
	compare(&matcher{trial: t})
	held := len(t.result.Differences) == before
	t.result.Differences = t.result.Differences[:before]
	return held
}

// seenAs returns what was seen of a key, in the form in which the case has it.
func (t *trial) seenAs(key string, want any) any {
	byID, isMap := want.(map[string]any)
	switch key {
	case "outcome":
		return t.outcome()
	case "summary":
		return matcherFor(t.summary())
	case "ran":
		return listAs(want, t.ran(wantedIDs(want)))
	case "skipped":
		causes, names := t.causes()
		if !isMap {
			return listAs(want, names)
		}
		made := t.membersOf(byID, causes)
		for _, id := range names {
			if _, said := made[id]; !said {
				made[id] = causes[id]
			}
		}
		return made
	case "failed":
		codes, names := t.codes(want)
		made := t.membersOf(byID, codes)
		switch {
		case len(made) > 0:
			return made
		case !isMap || len(names) == 0:
			return listAs(want, names)
		}
		for _, id := range names { // another step failed
			made[id] = codes[id]
		}
		return made
	case "issued":
		return t.inputsAs(want, anyStep)
	case "asked":
		return t.inputsAs(want, (*flow.Step).Person)
	case "outputs":
		return t.outputsAs(byID)
	case "captures":
		return t.membersOf(byID, t.captures())
	case "rounds":
		return t.membersOf(byID, t.rounds())
	}
	return want
}

// membersOf returns the members that a case names: those that hold as they are written, the
// others as they were seen; what was not seen is left out.
func (t *trial) membersOf(want, seen map[string]any) map[string]any {
	made := map[string]any{}
	for name, value := range want {
		now, there := seen[name]
		switch {
		case there && t.holds(func(m *matcher) { m.value("", value, now) }):
			made[name] = value
		case there:
			made[name] = matcherFor(now)
		}
	}
	return made
}

// listAs returns ids in the form in which a case has them: one of them alone is a text.
func listAs(want any, seen []string) any {
	if _, single := want.(string); single && len(seen) == 1 {
		return seen[0]
	}
	return texts(slices.Sorted(slices.Values(seen)))
}

func (t *trial) inputsAs(want any, counts func(*flow.Step) bool) any {
	byID, is := want.(map[string]any)
	seen := t.issuedTo(counts)
	if !is {
		return listAs(want, seen)
	}
	made := map[string]any{}
	for id, fields := range byID {
		if !slices.Contains(seen, id) {
			continue
		}
		made[id] = matcherFor(t.inputs[id])
		named, some := fields.(map[string]any)
		if input, also := t.inputs[id].(map[string]any); some && also {
			made[id] = t.membersOf(named, input)
		}
	}
	return made
}

// outputsAs returns the outputs that a case names, all where it said that there are none, or
// none where there are none.
func (t *trial) outputsAs(named map[string]any) any {
	outputs := map[string]any{}
	if t.out.Final != nil {
		for name, value := range t.out.Final.Outputs {
			if value != nil {
				outputs[name] = value
			}
		}
	}
	switch {
	case len(outputs) == 0:
		return "none"
	case named == nil:
		named = map[string]any{}
		for name, value := range outputs {
			named[name] = matcherFor(value)
		}
	}
	return t.membersOf(named, t.out.Final.Outputs)
}
