package cases

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/think/flow"
)

// Recorded is one answer of a run, in the order of the run.
type Recorded struct {
	Step   string
	Result any
	// Calls are those that rules of the run judged since the answer before.
	Calls []Call
}

// Record makes a case of a run for a file: its answers, its calls, and what they come to on a
// workflow.
// STATE_CONFLICT if the workflow has changed so that the answers do not fit it.
func Record(f *File, name string, params map[string]any, answers []Recorded, graph *flow.Graph) (Case, error) {
	c := Case{Name: name, Calls: map[string][]Call{}, Params: map[string]any{}, Answers: map[string]any{}, Expect: map[string]any{}}
	for key, value := range params {
		if value != nil {
			c.Params[key] = value
		}
	}
	attempts := map[string][]any{}
	var calls []Call
	for _, each := range answers {
		calls = append(calls, each.Calls...)
		if at, known := siteOf(graph, each.Step); known && describedStep(each.Step, at.written).By == byTool {
			calls = slices.DeleteFunc(calls, func(call Call) bool { return call.Tool == at.written.Call }) // its own
		}
		if len(calls) > 0 {
			c.Calls[each.Step], calls = append(c.Calls[each.Step], calls...), nil
		}
		attempts[each.Step] = append(attempts[each.Step], wrapResult(each.Result))
	}
	for step, all := range attempts {
		c.Answers[step] = all[0]
		if len(all) > 1 {
			c.Answers[step] = map[string]any{"attempts": all}
		}
	}
	t := newTrial(f, c, graph)
	t.execute()
	if len(t.result.Differences) > 0 {
		return c, fault.New(fault.StateConflict, "the answers of the run do not fit the workflow as it is now: %s: %s", t.result.Differences[0].Path, t.result.Differences[0].Message)
	}
	c.Expect = t.observed()
	return c, nil
}

// wrapResult wraps a result that would be read as something else.
func wrapResult(result any) any {
	_, list := result.([]any)
	_, attempts := attemptsOf(result)
	object, _ := result.(map[string]any)
	if _, value := object["value"]; list || attempts || value && len(object) == 1 {
		return map[string]any{"value": result}
	}
	return result
}

// observed is what a run came to, as a case expects it.
func (t *trial) observed() map[string]any {
	expect := map[string]any{"outcome": "", "ran": []any{}, "skipped": []any{}, "failed": map[string]any{}, "outputs": nil}
	for key, form := range expect {
		expect[key] = t.seenAs(key, form)
		if list, is := expect[key].([]any); is && len(list) == 0 && key != "ran" || key == "outputs" && t.out.Final == nil {
			delete(expect, key)
		}
	}
	return expect
}

func texts(list []string) []any {
	all := make([]any, len(list))
	for i, each := range list {
		all[i] = each
	}
	return all
}

// The size in bytes from which a recorded value is shortened to a matcher, and how much of
// a text the matcher has.
const (
	maxWhole = 300
	maxShown = 60
)

// matcherFor returns a value, or for one that is long, or would be read as a matcher, a
// matcher that it fits.
func matcherFor(value any) any {
	data, err := jsonvalue.Encode(value)
	long := err != nil || len(data) > maxWhole
	if !long && !matches(value) {
		return value
	}
	switch value := value.(type) {
	case string:
		if !long {
			return "/^" + regexp.QuoteMeta(value) + "$/"
		}
		line, _, _ := strings.Cut(fault.Cut(value, maxShown), "\n")
		return "/^" + regexp.QuoteMeta(strings.TrimSuffix(line, "…")) + "/"
	case []any:
		if long {
			return fmt.Sprintf("{{ len(value) == %d }}", len(value))
		}
		list := make([]any, len(value))
		for i, each := range value {
			list[i] = matcherFor(each)
		}
		return list
	case map[string]any:
		object := map[string]any{}
		for name, each := range value {
			object[name] = matcherFor(each)
		}
		return object
	}
	return value
}

// Append adds a case to the text of a cases file; of an empty text it begins one.
// INVALID_PARAMS if the file is not valid, tests another workflow, has a case of that name,
// or ends so that nothing can be added.
func Append(name string, src []byte, workflow string, c Case) ([]byte, error) {
	if len(bytes.TrimSpace(src)) == 0 {
		src = []byte("workflow: " + scalar(workflow) + "\ncases:\n")
	} else {
		file, err := Parse(name, src)
		switch {
		case err != nil:
			return nil, err
		case file.Workflow != workflow:
			return nil, fault.New(fault.InvalidParams, "%s tests the workflow %q, and this is a case of %q", name, file.Workflow, workflow)
		case len(file.Cases) == 0: // the list is []
			_, layout, _ := flow.ReadYAMLLayout(name, src) // Parse has read it
			if begin, end, _, known := layout.Span(src, "cases"); known {
				src = slices.Concat(src[:begin], src[end:])
			}
		case slices.ContainsFunc(file.Cases, func(other Case) bool { return other.Name == c.Name }):
			return nil, fault.New(fault.InvalidParams, "%s: there is a case named %q; choose another name", name, c.Name)
		}
	}
	lines := strings.SplitAfter(strings.TrimRight(string(src), "\n")+"\n", "\n")
	lines = lines[:len(lines)-1]
	at, indent := len(lines), "  "
	_, places, _ := flow.ReadYAMLPlaces(name, src) // Parse has read it
	for line := places["cases[0]"].Line; line > 0; line-- {
		if text := lines[line-1]; strings.HasPrefix(strings.TrimLeft(text, " "), "-") {
			indent = text[:strings.IndexByte(text, '-')]
			break
		}
	}
	for _, key := range []string{"coverage", "workflow"} {
		if line := places[key].Line; line > places["cases"].Line && line-1 < at {
			at = line - 1
		}
	}
	added := c.text(indent)
	if bytes.Contains(src, []byte("\r\n")) {
		added = strings.ReplaceAll(added, "\n", "\r\n")
	}
	lines = slices.Insert(lines, at, added)
	made := []byte(strings.Join(lines, ""))
	if _, err := Parse(name, made); err != nil {
		return nil, fault.New(fault.InvalidParams, "%s: a case cannot be added behind the last one: write the list of cases as lines that begin with -", name)
	}
	return made, nil
}

// text is a case as YAML.
func (c Case) text(indent string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s- name: %s\n", indent, scalar(c.Name))
	for _, part := range []struct {
		key   string
		value map[string]any
		lines bool
	}{{"params", c.Params, false}, {"answers", c.Answers, true}, {"calls", callRows(c.Calls), true}, {"expect", c.Expect, true}} {
		switch {
		case len(part.value) == 0 && part.key != "expect":
		case !part.lines:
			fmt.Fprintf(&b, "%s  %s: %s\n", indent, part.key, inline(part.value))
		default:
			fmt.Fprintf(&b, "%s  %s:\n", indent, part.key)
			for _, name := range ids(part.value) {
				fmt.Fprintf(&b, "%s    %s: %s\n", indent, scalar(name), inline(part.value[name]))
			}
		}
	}
	return b.String()
}

// callRows are the calls of a case as its file has them.
func callRows(calls map[string][]Call) map[string]any {
	all := map[string]any{}
	for step, list := range calls {
		rows := []any{}
		for _, each := range list {
			row := map[string]any{"tool": each.Tool, "input": each.Input}
			switch {
			case each.Refused:
				row["refused"] = true
			case each.Failed:
				row["ok"] = false
			default:
				row["result"] = each.Result
			}
			rows = append(rows, row)
		}
		all[step] = rows
	}
	return all
}

// inline is a value as YAML in one line.
func inline(value any) string {
	switch value := value.(type) {
	case string:
		return scalar(value)
	case map[string]any:
		var members []string
		for _, name := range ids(value) {
			members = append(members, scalar(name)+": "+inline(value[name]))
		}
		return "{" + strings.Join(members, ", ") + "}"
	case []any:
		var items []string
		for _, each := range value {
			items = append(items, inline(each))
		}
		return "[" + strings.Join(items, ", ") + "]"
	}
	encoded, err := jsonvalue.Encode(value)
	if err != nil {
		return "null"
	}
	return string(encoded)
}

// scalar is a text as YAML: bare where nothing else can be meant.
func scalar(text string) string {
	bare := text != "" && (text[0] >= 'a' && text[0] <= 'z' || text[0] >= 'A' && text[0] <= 'Z')
	for _, r := range text {
		bare = bare && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' || r == '/' || r == '.')
	}
	if bare && !slices.Contains([]string{"true", "false", "null", "yes", "no", "on", "off", "y", "n"}, strings.ToLower(text)) {
		return text
	}
	return strconv.Quote(text) // YAML reads each escape of it, and no character that it leaves out
}
