// Package cases runs the tests of a workflow: each case gives the parameters and the
// answers of a run, and says what the run must come to. A case runs in the pure core
// alone: no tool is called, nobody is asked, and nothing is written.
// docs/testing.md describes the files.
package cases

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"savant/fault"
	"savant/internal/fields"
	"savant/think/check"
	"savant/think/flow"
)

// maxCases bounds the cases of one file.
const maxCases = 10_000

// File is one cases file. It is immutable.
type File struct {
	Name     string
	Workflow string
	Cases    []Case
	Excuses  []Excuse

	places fault.Places
	src    []byte
	rules  check.Rules // nil: none
}

// Ruled returns the file with cases whose calls are judged by the rules of the workflows.
func (f *File) Ruled(rules check.Rules) *File {
	ruled := *f
	ruled.rules = rules
	return &ruled
}

// Case is one test. Answers are by the id of a step; the members of Expect are those of
// docs/testing.md.
type Case struct {
	Name    string
	Params  map[string]any
	Answers map[string]any
	// Calls are those that are made while a step is answered, by its id.
	Calls  map[string][]Call
	Expect map[string]any

	path string // in the file: "cases[0]"
}

// Call is a call of a tool that is no step. Failed: it failed. Refused: rules refuse it.
type Call struct {
	Tool            string
	Input           map[string]any
	Result          any
	Failed, Refused bool

	path string
}

// Excuse takes a point out of the coverage, with the reason.
type Excuse struct{ Step, Kind, Why string }

// Line returns the line of a case.
func (f *File) Line(c Case) int { return f.line(c.path) }

// line returns the line of a path, or of the nearest value around it.
func (f *File) line(path string) int {
	return max(1, f.places.Around(path).Line)
}

// Parse reads a cases file. The error lists every mistake of its form with line and
// column; Check finds those that only the workflow shows.
func Parse(name string, src []byte) (*File, error) {
	value, places, err := flow.ReadYAMLPlaces(name, src)
	if err != nil {
		return nil, err
	}
	r := newReader(name, places)
	f := &File{Name: name, places: places, src: src}
	top := r.Object(value, "", fileKeys...)
	f.Workflow = r.text(top, "", "workflow")
	list, is := top["cases"].([]any)
	switch {
	case !is && top != nil:
		r.wrong("cases", "is missing or is not a list of cases", "")
	case len(list) > maxCases:
		r.wrong("cases", "has more than "+strconv.Itoa(maxCases)+" cases", "")
		list = nil
	}
	names := map[string]bool{}
	for i, each := range list {
		c := r.testCase(each, "cases["+strconv.Itoa(i)+"]")
		if names[c.Name] && c.Name != "" {
			r.wrong(c.path+".name", "another case has this name", "")
		}
		names[c.Name] = true
		f.Cases = append(f.Cases, c)
	}
	f.Excuses = r.excuses(top["coverage"])
	return f, r.Failure()
}

// The keys that the maps of a cases file may have.
var (
	fileKeys     = []string{"workflow", "cases", "coverage"}
	caseKeys     = []string{"name", "params", "answers", "calls", "expect"}
	callKeys     = []string{"tool", "input", "result", "ok", "refused"}
	expectations = []string{"asked", "captures", "failed", "issued", "outcome", "outputs", "ran", "rounds", "skipped", "summary"}
	coverageKeys = []string{"ignore"}
	excuseKeys   = []string{"step", "kind", "why"}
)

// Keys returns the keys that the parser knows, by the kind of map.
func Keys() map[string][]string {
	return map[string][]string{"file": fileKeys, "case": caseKeys, "call": callKeys, "expect": expectations, "coverage": coverageKeys, "excuse": excuseKeys}
}

// Kinds returns the kinds of points, as coverage.ignore names them.
func Kinds() []string { return slices.Clone(kinds) }

func (r *reader) testCase(value any, path string) Case {
	c := Case{path: path}
	object := r.Object(value, path, caseKeys...)
	c.Name = r.text(object, path, "name")
	c.Params = r.Members(object["params"], fields.Join(path, "params"))
	c.Answers = r.Members(object["answers"], fields.Join(path, "answers"))
	calls := r.Members(object["calls"], fields.Join(path, "calls"))
	for _, step := range slices.Sorted(maps.Keys(calls)) {
		if c.Calls == nil {
			c.Calls = map[string][]Call{}
		}
		c.Calls[step] = r.calls(calls[step], path+".calls."+step)
	}
	expect := r.Object(object["expect"], fields.Join(path, "expect"), expectations...)
	if value, is := object["expect"].(map[string]any); object != nil && (object["expect"] == nil || is && len(value) == 0) {
		r.wrong(path+".expect", "the case has no expect: say at least its outcome", "")
	}

	c.Expect = expect
	return c
}

func (r *reader) calls(value any, path string) (all []Call) {
	list, is := value.([]any)
	if !is {
		r.wrong(path, "is not a list of calls", "[{tool, input, result}]")
	}
	for i, each := range list {
		at := path + "[" + strconv.Itoa(i) + "]"
		object := r.Object(each, at, callKeys...)
		call := Call{Tool: r.text(object, at, "tool"), Result: object["result"], Failed: !r.flag(object, at, "ok", true), Refused: r.flag(object, at, "refused", false), path: at}
		call.Input = r.Members(object["input"], fields.Join(at, "input"))
		all = append(all, call)
	}
	return all
}

func (r *reader) flag(object map[string]any, path, key string, otherwise bool) bool {
	value, given := object[key]
	flag, is := value.(bool)
	if given && !is {
		r.wrong(path+"."+key, "is not true or false", "")
	}
	return given && flag || !given && otherwise
}

func (r *reader) excuses(value any) (all []Excuse) {
	if value == nil {
		return nil
	}
	ignore, given := r.Object(value, "coverage", coverageKeys...)["ignore"]
	list, is := ignore.([]any)
	if given && !is {
		r.wrong("coverage.ignore", "is not a list", "[{step, kind, why}]")
	}
	for i, each := range list {
		path := "coverage.ignore[" + strconv.Itoa(i) + "]"
		object := r.Object(each, path, excuseKeys...)
		all = append(all, Excuse{r.text(object, path, "step"), r.text(object, path, "kind"), r.text(object, path, "why")})
	}
	return all
}

// reader collects the mistakes of one file.
type reader struct{ fields.Reader }

func newReader(file string, places fault.Places) *reader {
	return &reader{fields.Reader{File: file, Code: fault.InvalidParams, Places: places}}
}

func (r *reader) wrong(path, message, expected string) {
	r.Fail(path, "%s", strings.TrimSpace(path+": "+message)).Expected = expected
}

func (r *reader) unknown(path, what, name string, names []string) {
	message := "no " + what + " is named " + strconv.Quote(fault.Cut(name, 100))
	r.wrong(path, message+fault.NearestHint(", did you mean %q?", name, names), "one of "+fault.Cut(strings.Join(names, ", "), 300))
}

// text is a member that is a text, and has to be there.
func (r *reader) text(object map[string]any, path, key string) string {
	text := r.Text(object, path, key)
	switch given, is := object[key]; {
	case text == "" && given == "":
		r.wrong(fields.Join(path, key), "is not a text", "")
	case !is && object != nil:
		r.wrong(path, key+" is missing", "")
	}
	return text
}

// Source returns the text of the file; do not change it.
func (f *File) Source() []byte { return f.src }

// Diagnostics returns all that is wrong with the text of a cases file, in its order, with
// line and column. Without a graph only its form is checked.
func Diagnostics(name string, src []byte, graph *flow.Graph) []fault.Diagnostic {
	file, err := Parse(name, src)
	if err == nil && graph != nil {
		err = Check(file, graph)
	}
	return fault.DiagnosticsOf(name, err)
}
