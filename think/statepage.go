package think

import (
	"context"
	"encoding/json"
	"strconv"

	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/think/flow"
	"savant/think/state"
)

// A page of a run's state has its members in a fixed order: captures, lists of loops,
// steps, history. One budget of bytes bounds it; the first member that does not fit and
// all later ones are omitted.
type statePage struct {
	in    StateGetInput
	out   *StateGet
	left  int               // bytes of the budget
	full  bool              // a member did not fit
	found bool              // the member that the page comes after was met
	last  map[string]string // by section, the name of the member taken last
}

// maxVarWhole is how long a capture may be in a page of the state; a longer one
// is read by its name.
const maxVarWhole = 4000

// longList replaces the list of a loop that does not fit into a page.
type longList struct {
	Items int `json:"items"`
}

// fill adds what fits of a run's snapshot: INVALID_PARAMS for a name that the
// section does not have.
func (p *statePage) fill(run flow.View) error {
	if p.in.After != "" && p.in.Section == "" {
		return fault.New(fault.InvalidParams, "after needs section, the section to continue")
	}
	snapshot := p.out.Snapshot
	p.last, p.left = map[string]string{}, max(p.in.Limit-len(jsonvalue.Encoded(p.out)), p.in.Limit/4)
	p.found = p.in.After == "" || p.in.Section == "history"
	for name, value := range run.Vars(maxVarWhole) {
		if p.wants("vars") && p.take("vars", name, sizeOfVar(value)) {
			snapshot.Vars[name] = value
		}
	}
	for id, value := range run.Lists() {
		if items, _ := value.([]any); p.wants("lists") {
			size, whole := sizeOfList(items, p.left)
			if !whole {
				value = longList{len(items)}
			}
			if p.take("lists", id, size) {
				snapshot.Lists[id] = value
			}
		}
	}
	for step := range run.Steps() {
		if p.wants("steps") && p.take("steps", step.ID, len(`{"status":"","cause":"","witness":"gateway"}`+string(step.Status)+step.Cause+step.Code+step.Details)) {
			snapshot.Steps = append(snapshot.Steps, step)
		}
	}
	if !p.found {
		return fault.New(fault.InvalidParams, "after: the section %s has no %q", p.in.Section, fault.Cut(p.in.After, 120))
	}
	return nil
}

func (p *statePage) wants(section string) bool { return p.in.Section == "" || p.in.Section == section }

// take reports whether the next member of a section belongs to the page.
func (p *statePage) take(section, name string, size int) bool {
	switch {
	case !p.found:
		p.found = name == p.in.After
		return false
	case !p.fits(section, name, size):
		p.leave(section, 1)
		return false
	}
	return true
}

// fits takes a member that fits into the page. A page has one at least.
func (p *statePage) fits(section, name string, size int) bool {
	size += len(name) + len(`"":,`)
	if p.full = p.full || size > p.left && len(p.last) > 0; p.full {
		return false
	}
	p.left -= size
	p.last[section] = name
	return true
}

// leave notes members that were left out.
func (p *statePage) leave(section string, count int) {
	if at := len(p.out.More) - 1; at >= 0 && p.out.More[at].Section == section {
		p.out.More[at].Left += count
		return
	}
	p.out.More = append(p.out.More, More{section, count, p.last[section]})
}

// The sizes of members as JSON in bytes, about.

func sizeOfVar(value any) int {
	if whole, ok := value.(json.RawMessage); ok {
		return len(whole)
	}
	return 3 * maxPreview // it becomes a preview
}

// sizeOfList also reports whether the list fits most bytes; else it becomes a longList.
func sizeOfList(items []any, most int) (size int, whole bool) {
	for _, item := range items {
		if size += len(jsonvalue.Encoded(item)) + 1; size >= most {
			return len(`{"items":100000}`), false
		}
	}
	return size + 1, true
}

// history adds the events after the page before, read from the journal a few at
// a time.
func (p *statePage) history(ctx context.Context, l *live, store state.Storage) error {
	after := 0
	if p.in.After != "" {
		var err error
		if after, err = strconv.Atoi(p.in.After); err != nil || after < 0 {
			return fault.New(fault.InvalidParams, "after: expected a version of the history, got %q", fault.Cut(p.in.After, 60))
		}
	}
	const batch = 64
	for after < l.version && !p.full {
		records, err := store.Records(ctx, l.key, after, min(batch, l.version-after))
		if err != nil || len(records) == 0 {
			return err
		}
		for _, record := range records {
			event := EventOf(record)
			event.Claimed = event.claims(p.out.Imported)
			if !p.fits("history", strconv.Itoa(record.Version), len(jsonvalue.Encoded(event))) {
				break
			}
			p.out.History = append(p.out.History, event)
			after = record.Version
		}
	}
	if after < l.version {
		p.leave("history", l.version-after)
	}
	return nil
}
