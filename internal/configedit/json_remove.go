package configedit

import (
	"maps"
	"slices"

	"github.com/tailscale/hujson"
)

// maxOwn is how many elements of a list are removed: several set-ups may have added one each.
const maxOwn = 100

func removeJSON(text []byte, entry Entry, was any) ([]byte, error) {
	if blank(text) {
		return text, nil
	}
	before, err := plainJSON(text)
	if err != nil {
		return nil, err
	}
	made, removed := text, true
	for n := 0; removed && n < maxOwn; n++ {
		if made, removed, err = removeItem(made, entry); err != nil || n == 0 && !removed {
			return text, err
		}
	}
	if made, err = prune(made, entry.Path, was); err != nil {
		return nil, err
	}
	after, err := plainJSON(made)
	if err != nil {
		return nil, err
	}
	return made, unchangedElsewhere(withoutEntry(after, entry), withoutEntry(before, entry))
}

func removeItem(text []byte, entry Entry) (made []byte, removed bool, err error) {
	path := entry.Path
	if entry.Own == nil {
		path = path[:len(path)-1]
	}
	root, err := parseJSON(text)
	if err != nil {
		return nil, false, err
	}
	at, missing, err := find(text, root, path)
	if err != nil || len(missing) > 0 {
		return text, false, err
	}
	list, ok := items(at)
	_, object := at.Value.(*hujson.Object)
	if !ok || object != (entry.Own == nil) {
		return text, false, nil
	}
	i := -1
	if object {
		if _, missing, err = find(text, at, entry.Path[len(path):]); err != nil || len(missing) > 0 {
			return text, false, err
		}
		i = slices.IndexFunc(list, func(it item) bool { return it.name == entry.Path[len(path)] })
	} else {
		own, err := ownItem(text, at, entry.Own)
		if err != nil || own == nil {
			return text, false, err
		}
		i = slices.IndexFunc(list, func(it item) bool { return it.start == own.start })
	}
	return cut(text, at, i), true, nil
}

// prune removes empty values on the path, from its end, except the root and what was there.
func prune(text []byte, path []string, was any) ([]byte, error) {
	for n := len(path); n > 0; n-- {
		if _, ok := valueAt(was, path[:n]); ok {
			return text, nil
		}
		root, err := parseJSON(text)
		if err != nil {
			return nil, err
		}
		at, missing, err := find(text, root, path[:n])
		if err != nil {
			return nil, err
		}
		if len(missing) > 0 {
			continue
		}
		if list, ok := items(at); !ok || len(list) > 0 || !onlySpace(text[at.StartOffset+1:at.EndOffset-1]) {
			return text, nil
		}
		parent, _, err := find(text, root, path[:n-1])
		if err != nil {
			return nil, err
		}
		list, _ := items(parent)
		text = cut(text, parent, slices.IndexFunc(list, func(it item) bool { return it.name == path[n-1] }))
	}
	return text, nil
}

// withoutEntry is the expected plain value of a text after removing the entry. Empty
// values on the path count as absent, because a comment may have preserved them.
func withoutEntry(at any, entry Entry) any {
	switch v := at.(type) {
	case []any:
		if entry.Own == nil || len(entry.Path) > 0 {
			return at
		}
		return slices.DeleteFunc(slices.Clone(v), entry.Own)
	case map[string]any:
		if len(entry.Path) == 0 {
			return at
		}
		name := entry.Path[0]
		below := entry
		below.Path = entry.Path[1:]
		v = maps.Clone(v)
		switch left, ok := v[name]; {
		case !ok:
		case len(below.Path) == 0 && entry.Own == nil:
			delete(v, name)
		default:
			if v[name] = withoutEntry(left, below); isEmpty(v[name]) {
				delete(v, name)
			}
		}
		return v
	}
	return at
}

func isEmpty(value any) bool {
	switch v := value.(type) {
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	}
	return false
}
