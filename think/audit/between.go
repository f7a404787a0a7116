package audit

import (
	"context"
	"encoding/json"
	"iter"
	"slices"

	"github.com/wI2L/jsondiff"

	"savant/fault"
	"savant/think"
	"savant/think/flow"
	"savant/think/state"
)

// At is a run at a version; 0 is the latest.
type At struct {
	state.Key
	Version int
}

// Changes are the differences between two states, of one run or of two.
type Changes struct {
	From, To Side
	Steps    []StepChange
	Captures []ValueChange
}

// Side is one of the states that are compared.
type Side struct {
	At
	Digest, Hash string // of the workflow, and of the state
	Params       map[string]any
}

// StepChange is a step of two states; a side is nil if that state does not have the
// step. Same reports that its status is equal.
type StepChange struct {
	ID            string
	Before, After *flow.StepStatus
	Same          bool
}

// ValueChange is a capture that differs, with the places that differ. Whole counts all
// places; the list may omit some.
type ValueChange struct {
	Name       string
	Places     []PlaceChange
	Whole      int
	SizeBefore int // in bytes; 0 for an absent value
	SizeAfter  int
}

// PlaceChange is one place of a value, as an RFC 6901 pointer. A side is nil if it has
// no value there.
type PlaceChange struct {
	Path          string
	Before, After json.RawMessage
}

// maxPlaces bounds the places of a ValueChange; maxCompared bounds, in bytes, the
// values that are searched for places.
const (
	maxPlaces   = 50
	maxCompared = 1 << 20
)

// Between compares two states: UNKNOWN_RUN, CHECKPOINT_NOT_FOUND, STATE_CORRUPT.
func (a *Auditor) Between(ctx context.Context, from, to At) (*Changes, error) {
	before, err := a.stateAt(ctx, from)
	if err != nil {
		return nil, err
	}
	after, err := a.stateAt(ctx, to)
	if err != nil {
		return nil, err
	}
	out := &Changes{From: before.Side, To: after.Side, Steps: stepsBetween(before.steps, after.steps)}
	for _, name := range slices.Concat(after.names, before.names) {
		change, err := a.valueBetween(ctx, before, after, name)
		if err != nil {
			return nil, err
		}
		known := slices.ContainsFunc(out.Captures, func(each ValueChange) bool { return each.Name == name })
		if change != nil && !known {
			out.Captures = append(out.Captures, *change)
		}
	}
	return out, nil
}

// compared is a state that is compared. Its captures are read when they are needed.
type compared struct {
	Side
	steps    []flow.StepStatus
	names    []string
	captures map[string]any // json.RawMessage, or flow.Long for a long one
}

func (a *Auditor) stateAt(ctx context.Context, at At) (*compared, error) {
	out := &compared{Side: Side{At: at}, captures: map[string]any{}}
	err := a.engine.View(ctx, at.Key, at.Version, func(v *think.View) error {
		now := v.Now()
		out.Version, out.Hash, out.Params = now.Version, now.Hash, v.Params()
		out.Digest = now.Workflow.Digest
		out.steps = slices.Collect(v.Steps())
		out.names, out.captures = collected(v.Vars(maxCapture))
		return nil
	})
	return out, err
}

func collected(values iter.Seq2[string, any]) (names []string, found map[string]any) {
	found = map[string]any{}
	for name, value := range values {
		if raw, short := value.(json.RawMessage); short {
			value = slices.Clone(raw)
		}
		names, found[name] = append(names, name), value
	}
	return names, found
}

// stepsBetween pairs the steps of two states. A step only in the first state follows
// its predecessor there.
func stepsBetween(before, after []flow.StepStatus) []StepChange {
	left := map[string]bool{}
	for _, each := range after {
		left[each.ID] = true
	}
	was, gone, previous := map[string]*flow.StepStatus{}, map[string][]StepChange{}, ""
	for i := range before {
		id := before[i].ID
		if was[id] = &before[i]; left[id] {
			previous = id
			continue
		}
		gone[previous] = append(gone[previous], StepChange{ID: id, Before: &before[i]})
	}
	out := slices.Clone(gone[""])
	for i := range after {
		change := StepChange{ID: after[i].ID, Before: was[after[i].ID], After: &after[i]}
		change.Same = change.Before != nil && *change.Before == *change.After
		out = append(append(out, change), gone[change.ID]...)
	}
	return out
}

// valueBetween compares a capture of two states. It returns nil if both are equal.
func (a *Auditor) valueBetween(ctx context.Context, before, after *compared, name string) (*ValueChange, error) {
	one, other := before.captures[name], after.captures[name]
	if long, is := one.(flow.Long); is && long.SHA256 != "" && one == other {
		return nil, nil //nolint:nilnil // it is the same
	}
	sides := [2]json.RawMessage{}
	for i, each := range []*compared{before, after} {
		var err error
		if sides[i], err = a.captureOf(ctx, each, name); err != nil {
			return nil, err
		}
	}
	if string(sides[0]) == string(sides[1]) {
		return nil, nil //nolint:nilnil // it is the same
	}
	return placesBetween(name, sides[0], sides[1])
}

func (a *Auditor) captureOf(ctx context.Context, side *compared, name string) (raw json.RawMessage, err error) {
	switch value := side.captures[name].(type) {
	case json.RawMessage:
		return value, nil
	case flow.Long:
		err = a.engine.View(ctx, side.Key, side.Version, func(v *think.View) error {
			found, err := v.Capture(ctx, name)
			raw = slices.Clone(found)
			return err
		})
	}
	return raw, err
}

// placesBetween finds the places where two values differ. If one side has no value, or
// a value is too long to compare, the only place is the whole value.
func placesBetween(name string, before, after json.RawMessage) (*ValueChange, error) {
	out := &ValueChange{Name: name, SizeBefore: len(before), SizeAfter: len(after), Whole: 1}
	if before == nil || after == nil || max(len(before), len(after)) > maxCompared {
		out.Places = []PlaceChange{{Before: before, After: after}}
		return out, nil
	}
	patch, err := jsondiff.CompareJSON(before, after, jsondiff.Invertible())
	if err != nil {
		return nil, fault.New(fault.Internal, "comparing two captures: %w", err)
	}
	out.Whole = 0
	var was json.RawMessage // a test before a change says what was there
	for _, each := range patch {
		value, err := json.Marshal(each.Value)
		if err != nil {
			return nil, fault.New(fault.Internal, "comparing two captures: %w", err)
		}
		if each.Type == jsondiff.OperationTest {
			was = value
			continue
		}
		if out.Whole++; len(out.Places) < maxPlaces {
			place := PlaceChange{Path: each.Path, Before: was}
			if each.Type != jsondiff.OperationRemove {
				place.After = value
			}
			out.Places = append(out.Places, place)
		}
		was = nil
	}
	if out.Whole == 0 { // numbers that only differ beyond a float's digits
		out.Whole, out.Places = 1, []PlaceChange{{Before: before, After: after}}
	}
	return out, nil
}
