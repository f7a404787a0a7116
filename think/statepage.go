package think

import (
	"encoding/json"

	"savant/fault"
	"savant/think/flow"
)

// statePager fills one reply of StateGet.
type statePager struct {
	live *live
	in   StateGetInput
	out  *StateGet
	left int // bytes of the limit
}

func (p *statePager) asked(section string) bool { return p.in.Section == "" || p.in.Section == section }

func (p *statePager) more(section string, left int, after string) {
	if left > 0 && p.asked(section) {
		p.out.More = append(p.out.More, More{section, left, after})
	}
}

// snapshot adds the part of the snapshot that fits: INVALID_PARAMS for a name
// that its section does not have.
func (p *statePager) snapshot() error {
	params := p.params()
	p.left = max(p.in.Limit-len(encoded(params)), p.in.Limit/4)
	part, err := p.part()
	if err != nil {
		return err
	}
	snapshot, rests := p.live.run.Page(part)
	snapshot.Params = params
	p.out.Snapshot = &snapshot
	for _, each := range []struct {
		section string
		asked   flow.Range
		rest    flow.Rest
	}{{"vars", part.Vars, rests.Vars}, {"steps", part.Steps, rests.Steps}, {"lists", part.Lists, rests.Lists}} {
		if !each.rest.Found {
			return fault.New(fault.InvalidParams, "after: the section %s has no %q", each.section, fault.Cut(each.asked.After, 120))
		}
		p.left -= min(each.asked.Bytes, each.rest.Size)
		p.more(each.section, each.rest.Left, each.rest.Last)
	}
	return nil
}

// part says which part of the snapshot is asked for: one section, or of each as
// much as the limit allows.
func (p *statePager) part() (flow.Page, error) {
	page := flow.Page{Longest: maxVarWhole}
	asked := flow.Range{After: p.in.After, Bytes: p.left}
	switch p.in.Section {
	case "vars":
		page.Vars = asked
	case "steps":
		page.Steps = asked
	case "lists":
		page.Lists = asked
	case "":
		if p.in.After != "" {
			return page, fault.New(fault.InvalidParams, "after is for one section: name it, too")
		}
		snapshot, all := p.live.run.Page(page) // measures
		shares := share(p.left, snapshot.Version*eventSize, all.Vars.Size, all.Steps.Size, all.Lists.Size)
		page.Vars.Bytes, page.Steps.Bytes, page.Lists.Bytes = shares[0], shares[1], shares[2]
	}
	return page, nil
}

// eventSize is about how long an event of the history is, in bytes.
const eventSize = 260

// share divides bytes among sections by what each needs. Where they need more
// than there is, each of them and what is reserved has a right to a quarter.
func share(bytes, reserved int, needs ...int) []int {
	shares := make([]int, len(needs))
	rest, quarter := bytes, bytes/4
	total := reserved
	for _, need := range needs {
		total += need
	}
	if total > bytes {
		rest -= min(reserved, quarter)
	}
	for i, need := range needs {
		shares[i] = need
		if total > bytes {
			shares[i] = min(need, quarter)
		}
		rest -= shares[i]
	}
	for i, need := range needs {
		extra := min(need-shares[i], max(0, rest))
		shares[i] += extra
		rest -= extra
	}
	return shares
}

// params returns the run's parameters. Where they are long, those that are too
// long for a page are shortened.
func (p *statePager) params() map[string]any {
	params := p.live.run.Params()
	if len(encoded(params)) <= p.in.Limit/4 {
		return params
	}
	short := map[string]any{}
	for name, value := range params {
		short[name] = shortParam(p.live, name, encoded(value))
	}
	return short
}

func shortParam(l *live, name string, value json.RawMessage) any {
	if len(value) <= maxVarWhole {
		return value
	}
	return preview{Preview: fault.Cut(string(value), maxPreview), Size: len(value), SHA256: hexSum(value), Ref: varURI(l.key.Workflow, l.key.Run, "params."+name)}
}
