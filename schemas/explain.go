package schemas

import (
	"cmp"
	"net/url"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"savant/fault"
	"savant/internal/jsonvalue"
)

// explainer converts the validator's tree of errors to diagnostics. It keeps only
// the leaves, in a stable order.
type explainer struct {
	documents map[string]any
	value     any
}

// finding is a diagnostic with the keyword that made it.
type finding struct {
	fault.Diagnostic
	keyword string
}

func (e explainer) explain(err *jsonschema.ValidationError) []fault.Diagnostic {
	var diagnostics []fault.Diagnostic
	for _, f := range e.findings(err) {
		diagnostics = append(diagnostics, f.Diagnostic)
	}
	return diagnostics
}

func (e explainer) findings(err *jsonschema.ValidationError) []finding {
	keyword := lastToken(err.AbsoluteKeywordLocation)
	if len(err.Causes) == 0 || keyword == "minContains" {
		return e.leaf(err)
	}
	if keyword == "anyOf" || keyword == "oneOf" {
		return e.alternatives(err)
	}
	var found []finding
	for _, cause := range err.Causes {
		found = append(found, e.findings(cause)...)
	}
	return found
}

// alternatives keeps the errors of the branches that the author likely meant. It drops
// branches that reject the value's type, then those that reject a const or enum, which
// distinguish kinds of objects; a filter that would drop all branches is skipped.
func (e explainer) alternatives(err *jsonschema.ValidationError) []finding {
	here := pointerOf(err.InstanceLocation)
	branches := make([][]finding, len(err.Causes))
	for i, cause := range err.Causes {
		branches[i] = e.findings(cause)
	}
	branches = unless(branches, func(f finding) bool { return f.keyword == "type" && f.Pointer == here })
	branches = unless(branches, func(f finding) bool {
		return (f.keyword == "const" || f.keyword == "enum") && strings.Count(f.Pointer, "/") <= strings.Count(here, "/")+1
	})
	if either, ok := merge(branches, here); ok {
		return []finding{either}
	}
	return slices.Concat(branches...)
}

// unless drops the branches with a finding that satisfies off, unless all branches have
// one.
func unless(branches [][]finding, off func(finding) bool) [][]finding {
	kept := slices.DeleteFunc(slices.Clone(branches), func(branch []finding) bool {
		return slices.ContainsFunc(branch, off)
	})
	if len(kept) == 0 {
		return branches
	}
	return kept
}

// merge returns "a or b" if each branch has one finding, about the same value.
func merge(branches [][]finding, here string) (finding, bool) {
	var expected []string
	for _, branch := range branches {
		if len(branch) != 1 || branch[0].Pointer != here {
			return finding{}, false
		}
		if !slices.Contains(expected, branch[0].Expected) {
			expected = append(expected, branch[0].Expected)
		}
	}
	either := branches[0][0]
	if len(expected) > 1 {
		either.Expected = strings.Join(expected, " or ")
		either.Message = "expected " + either.Expected + ", got " + either.Actual
	}
	return either, true
}

// leaf describes one error by the keyword that was violated.
func (e explainer) leaf(err *jsonschema.ValidationError) []finding {
	m := mismatch{
		pointer:  pointerOf(err.InstanceLocation),
		keyword:  lastToken(err.AbsoluteKeywordLocation),
		fallback: err.Message,
	}
	m.schema, m.subschema = e.keywordAt(err.AbsoluteKeywordLocation)
	value, found := e.value, true
	for token := range jsonvalue.Tokens(m.pointer) {
		if value, found = step(value, token); !found {
			break
		}
	}
	if strings.Contains(err.KeywordLocation, "/propertyNames") {
		value, found = jsonvalue.LastToken(m.pointer), true
	}
	m.value, m.known = value, found && e.documents != nil
	return m.describe()
}

// keywordAt returns the schema around a keyword, and the keyword's value.
func (e explainer) keywordAt(location string) (schema map[string]any, at any) {
	address, pointer, _ := strings.Cut(location, "#")
	value := e.documents[address]
	for token := range jsonvalue.Tokens(pointerOf(pointer)) {
		if object, ok := value.(map[string]any); ok {
			schema = object
		}
		value, _ = step(value, token)
	}
	return schema, value
}

// pointerOf returns the JSON pointer of a location, which the validator escapes as
// in a URL.
func pointerOf(location string) string {
	pointer, err := url.PathUnescape(location)
	if err != nil {
		return location
	}
	return pointer
}

func lastToken(location string) string {
	return jsonvalue.LastToken(pointerOf(location[strings.IndexByte(location, '#')+1:]))
}

// sortUnique sorts diagnostics by file, pointer and message, and drops duplicates.
func sortUnique(diagnostics []fault.Diagnostic) []fault.Diagnostic {
	slices.SortStableFunc(diagnostics, func(a, b fault.Diagnostic) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Pointer, b.Pointer), cmp.Compare(a.Message, b.Message))
	})
	return slices.Compact(diagnostics)
}
