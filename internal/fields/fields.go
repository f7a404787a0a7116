// Package fields reads the maps of configuration files. It notes all that is wrong with them, at
// their lines.
package fields

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"savant/fault"
	"savant/internal/jsonvalue"
)

// Reader reads the values of a file, whose places it knows. The path of a value is one such
// as rules[2].before, "" for the whole.
type Reader struct {
	File   string
	Code   fault.Code
	Places fault.Places
	Wrong  []fault.Diagnostic
}

// Fail notes what is wrong with the value of a path, or with what is missing there.
func (r *Reader) Fail(path, format string, args ...any) *fault.Diagnostic {
	at := r.Places.Around(path)
	r.Wrong = append(r.Wrong, fault.Diagnostic{File: r.File, Path: path, Line: at.Line, Column: at.Column, Code: r.Code, Message: fmt.Sprintf(format, args...)})
	return &r.Wrong[len(r.Wrong)-1]
}

// Failure returns all that is wrong as one error, in the order of the file, or nil.
func (r *Reader) Failure() error {
	slices.SortStableFunc(r.Wrong, func(a, b fault.Diagnostic) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return fault.InFile(r.File, r.Wrong)
}

// Members returns the members of a map; null has no members.
func (r *Reader) Members(value any, path string) map[string]any {
	found, is := value.(map[string]any)
	if !is && value != nil {
		r.Fail(path, "%s is not a map, but %s", name(path), jsonvalue.Kind(value))
	}
	return found
}

// Object returns the members of a map that may have some keys only.
func (r *Reader) Object(value any, path string, keys ...string) map[string]any {
	found := r.Members(value, path)
	if found == nil && value != nil {
		r.Wrong[len(r.Wrong)-1].Expected = "a map with " + strings.Join(keys, ", ")
	}
	for _, key := range slices.Sorted(maps.Keys(found)) {
		if !slices.Contains(keys, key) {
			r.Fail(Join(path, key), "no key is named %q here%s", fault.Cut(key, 60), Nearest(key, keys))
		}
	}
	return found
}

// Text returns a member that is a text, "" for one that is not there.
func (r *Reader) Text(of map[string]any, path, key string) string {
	text, is := of[key].(string)
	if !is && of[key] != nil {
		r.Fail(Join(path, key), "%s is not a text, but %s: quote it", key, jsonvalue.Kind(of[key]))
	}
	return text
}

// Texts reads one text, or a list of them, none of which is empty.
func (r *Reader) Texts(value any, path string) (all []string) {
	list, is := value.([]any)
	if one, single := value.(string); single {
		list, is = []any{one}, true
	}
	if !is && value != nil {
		r.Fail(path, "%s is not a text or a list of texts, but %s", name(path), jsonvalue.Kind(value))
	}
	for i, each := range list {
		if text, is := each.(string); is && text != "" {
			all = append(all, text)
		} else {
			r.Fail(fmt.Sprintf("%s[%d]", path, i), "%s has something that is not a text", name(path))
		}
	}
	return all
}

// Join returns the path of a member.
func Join(path, key string) string { return strings.TrimPrefix(path+"."+key, ".") }

// name returns the last key of a path.
func name(path string) string {
	return fault.Cut(cmp.Or(path[strings.LastIndex(path, ".")+1:], "the file"), 60)
}

// Nearest ends a message about an unknown name: with the known one that is near, or with those
// that there are.
func Nearest(name string, known []string) string {
	if meant := fault.NearestHint(": did you mean %q?", name, known); meant != "" {
		return meant
	}
	if len(known) == 0 || len(known) > 20 {
		return ""
	}
	return ": there is " + strings.Join(slices.Sorted(slices.Values(known)), ", ")
}
