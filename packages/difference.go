package packages

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"savant/fault"
	"savant/internal/jsonvalue"
)

// Change is one difference between two versions of a package.
type Change struct {
	File string `json:"file"`
	// Step is the step that differs; empty for what belongs to the whole file.
	Step string `json:"step,omitempty"`
	// Key is the key that differs; empty where a file or a step is new or gone.
	Key string `json:"key,omitempty"`
	// From and To are JSON, cut; empty where there is none.
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
}

// maxShown bounds each value of a change, in bytes.
const maxShown = 200

// Changes compares two versions by what their files mean: comments, order of keys and
// layout make no difference. decode reads a file as JSON values.
func Changes(before, after Content, decode func(name string, data []byte) (any, error)) []Change {
	names := slices.Sorted(maps.Keys(merged(before, after)))
	var found []Change
	for _, name := range names {
		old, had := before[name]
		now, has := after[name]
		switch {
		case !had:
			found = append(found, Change{File: name, To: "new"})
		case !has:
			found = append(found, Change{File: name, From: "removed"})
		case string(old) != string(now):
			found = append(found, changesOf(name, old, now, decode)...)
		}
	}
	return found
}

func merged[V any](a, b map[string]V) map[string]V {
	made := maps.Clone(a)
	if made == nil {
		made = map[string]V{}
	}
	maps.Copy(made, b)
	return made
}

// changesOf compares two versions of a file.
func changesOf(name string, old, now []byte, decode func(string, []byte) (any, error)) []Change {
	before, oldErr := decode(name, old)
	after, err := decode(name, now)
	a, isObject := before.(map[string]any)
	b, isToo := after.(map[string]any)
	if oldErr != nil || err != nil || !isObject || !isToo {
		return []Change{{File: name, Key: "content", From: "other bytes", To: "other bytes"}}
	}
	return memberChanges(Change{File: name}, a, b)
}

// memberChanges compares the members of two objects. at says where they stand.
func memberChanges(at Change, before, after map[string]any) (found []Change) {
	for _, key := range slices.Sorted(maps.Keys(merged(before, after))) {
		if reflect.DeepEqual(before[key], after[key]) {
			continue
		}
		old, listed := byID(before[key])
		now, listedToo := byID(after[key])
		change := at
		change.Key = strings.TrimSpace(at.Key + " " + key)
		if at.Step == "" && listed && listedToo {
			found = append(found, itemChanges(change, old, now)...)
			continue
		}
		change.From, change.To = differingTexts(before, after, key)
		found = append(found, change)
	}
	return found
}

// items are the members of a list that have ids, in their order.
type items struct {
	order []string
	byID  map[string]map[string]any
}

// byID reads a list as steps and rules are written; is reports whether each member has an id
// of its own.
func byID(value any) (made items, is bool) {
	list, _ := value.([]any)
	made.byID = map[string]map[string]any{}
	for _, each := range list {
		item, _ := each.(map[string]any)
		if id, _ := item["id"].(string); id != "" {
			made.byID[id], made.order = item, append(made.order, id)
		}
	}
	return made, len(made.byID) == len(list) && len(list) > 0
}

// itemChanges compares lists of steps or of rules: what is new, gone or different, and where
// those of both stand in another order.
func itemChanges(at Change, before, after items) (found []Change) {
	for _, id := range slices.Sorted(maps.Keys(merged(before.byID, after.byID))) {
		one := at
		if at.Key == "steps" {
			one.Step, one.Key = id, ""
		} else {
			one.Key += " " + id
		}
		old, had := before.byID[id]
		now, has := after.byID[id]
		if had && has {
			found = append(found, memberChanges(one, old, now)...)
			continue
		}
		key := "call"
		if at.Key != "steps" {
			key = "id"
		}
		one.From, one.To = differingTexts(old, now, key)
		found = append(found, one)
	}
	absent := func(from items) func(string) bool {
		return func(id string) bool { return from.byID[id] == nil }
	}
	from, to := slices.DeleteFunc(before.order, absent(after)), slices.DeleteFunc(after.order, absent(before))
	if !slices.Equal(from, to) {
		at.Key, at.From, at.To = "order of "+at.Key, fault.Cut(strings.Join(from, ", "), maxShown), fault.Cut(strings.Join(to, ", "), maxShown)
		found = append(found, at)
	}
	return found
}

// differingTexts writes the members of a key as JSON, cut so that they show where they differ. A missing
// member is "".
func differingTexts(before, after map[string]any, key string) (from, to string) {
	from, to = encoded(before, key), encoded(after, key)
	same := 0
	for same < min(len(from), len(to)) && from[same] == to[same] {
		same++
	}
	if begin := same - maxShown/4; same > maxShown/2 {
		for !utf8.RuneStart(from[begin]) {
			begin--
		}
		from, to = "…"+from[begin:], "…"+to[begin:]
	}
	return fault.Cut(from, maxShown), fault.Cut(to, maxShown)
}

func encoded(object map[string]any, key string) string {
	value, has := object[key]
	if !has {
		return ""
	}
	text, err := jsonvalue.Encode(value)
	if err != nil {
		return ""
	}
	return string(text)
}
