package packages

import (
	"maps"
	"reflect"
	"slices"
	"strings"

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
	var found []Change
	for _, key := range slices.Sorted(maps.Keys(merged(a, b))) {
		if key == "steps" && strings.HasPrefix(name, workflowFolder+"/") {
			found = append(found, stepChanges(name, stepsOf(a[key]), stepsOf(b[key]))...)
		} else if !reflect.DeepEqual(a[key], b[key]) {
			found = append(found, Change{File: name, Key: key, From: shown(a, key), To: shown(b, key)})
		}
	}
	return found
}

// stepsOf returns the steps of a workflow by their ids.
func stepsOf(list any) map[string]map[string]any {
	steps, _ := list.([]any)
	made := map[string]map[string]any{}
	for _, each := range steps {
		step, _ := each.(map[string]any)
		if id, _ := step["id"].(string); id != "" {
			made[id] = step
		}
	}
	return made
}

func stepChanges(name string, before, after map[string]map[string]any) []Change {
	var found []Change
	for _, id := range slices.Sorted(maps.Keys(merged(before, after))) {
		old, had := before[id]
		now, has := after[id]
		switch {
		case !had:
			found = append(found, Change{File: name, Step: id, To: shown(now, "call")})
			continue
		case !has:
			found = append(found, Change{File: name, Step: id, From: shown(old, "call")})
			continue
		}
		for _, key := range slices.Sorted(maps.Keys(merged(old, now))) {
			if !reflect.DeepEqual(old[key], now[key]) {
				found = append(found, Change{File: name, Step: id, Key: key, From: shown(old, key), To: shown(now, key)})
			}
		}
	}
	return found
}

// shown writes a member as JSON, cut; "" where there is none.
func shown(object map[string]any, key string) string {
	value, has := object[key]
	if !has {
		return ""
	}
	encoded, err := jsonvalue.Encode(value)
	if err != nil {
		return ""
	}
	return fault.Cut(string(encoded), maxShown)
}
