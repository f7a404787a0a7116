package check

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"savant/fault"
	"savant/think/flow"
)

// Choices knows which values arguments can have at present.
type Choices interface {
	// ToolChoices returns the values that arguments of a tool can have now, by the names
	// of the arguments.
	ToolChoices(tool string) map[string][]string
}

// CheckChoices finds arguments that are none of the values their tools take now. Other than
// Graph it is to be asked anew each time.
func CheckChoices(graph *flow.Graph, choices Choices) Report {
	known := map[string]map[string][]string{}
	return checkEach(graph, nil, func(c *checker) {
		for _, step := range c.w.Steps {
			if _, asked := known[step.Call]; !asked {
				known[step.Call] = choices.ToolChoices(step.Call)
			}
			for _, name := range slices.Sorted(maps.Keys(known[step.Call])) {
				if some := known[step.Call][name]; len(some) > 0 {
					c.checkChoices(step, name, some)
				}
			}
		}
	})
}

// checkChoices holds the values that an argument may have against those that there are. A
// value that is passed in any case has to be there, and so has one of several.
func (c *checker) checkChoices(step *flow.Step, name string, choices []string) {
	template := member(step.Template(), name)
	if template == nil {
		return
	}
	found := c.rendered(template, "", c.scopeOf(step), false)
	strangers := slices.DeleteFunc(slices.Clone(found.values), func(value any) bool {
		text, isText := value.(string)
		return !isText || slices.Contains(choices, text)
	})
	severity := warning
	if len(strangers) == len(found.values) || found.written && !ofItem(step.When) && readsItem(template, step.As) {
		severity = ""
	}
	for _, value := range strangers {
		text, _ := value.(string)
		fix := cmp.Or(fault.NearestHint(": did you mean \"%s\"?", text, choices), "; there is "+fault.Cut(strings.Join(choices, ", "), 300))
		c.atValue(fault.InvalidParams, severity, step.Path()+".input_template."+name, 0, "%s knows no %s %q%s", step.Call, name, fault.Cut(text, 60), fix)
	}
}

// readsItem reports whether a template is the loop's variable, or a member of it.
func readsItem(t *flow.Template, item string) bool {
	words, _, isText := t.Text()
	if !isText {
		return false
	}
	parts, whole := words.Parts()
	if !whole || len(parts) != 1 {
		return false
	}
	node, err := parts[0].Program.Parse()
	names, _ := locals(nil).chain(node)
	return err == nil && len(names) > 0 && names[0] == item
}

// reservedInputs are the inputs of the language's own calls that other inputs may be
// mistaken for.
var reservedInputs = map[string][]string{
	flow.CallGenerate: {"task"},
	flow.CallApprove:  {"message"},
	flow.CallAsk:      {"message", "schema"},
}

// reserved warns of inputs whose names miss the one that has an effect, and notes a
// generated answer that nothing checks.
func (c *checker) reserved(step *flow.Step) {
	known, ok := reservedInputs[step.Call]
	if !ok {
		return
	}
	generated := step.Call == flow.CallGenerate && step.Schema == nil
	missing := slices.DeleteFunc(slices.Clone(known), func(name string) bool { return member(step.Template(), name) != nil })
	members, _ := step.Template().Members()
	for _, each := range members {
		path := step.Path() + ".input_template." + each.Key
		if slices.Contains(known, each.Key) {
			continue
		}
		nearest := fault.Nearest(each.Key, missing)
		switch misplaced := fault.Nearest(each.Key, []string{"schema", "success_schema"}); {
		case nearest != "":
			c.at(fault.YAMLSchemaViolation, warning, path, "%s gives %q no meaning: did you mean %q?", step.Call, fault.Cut(each.Key, 60), nearest)
		case generated && (misplaced != "" || each.Key == "schema" || each.Key == "success_schema"):
			c.at(fault.YAMLSchemaViolation, warning, path, "%q in the input checks nothing: the schema of the answer is success_schema, a key of the step", fault.Cut(each.Key, 60))
		}
	}
	if generated && len(step.Checks) == 0 {
		c.at(fault.YAMLSchemaViolation, note, step.Path()+".call", "any answer is accepted: success_schema says what it must look like")
	}
}
