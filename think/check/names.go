package check

import (
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

// Chosen finds arguments that are none of the values their tools take now. Other than
// Graph it is to be asked anew each time.
func Chosen(graph *flow.Graph, choices Choices) (found []fault.Diagnostic) {
	workflows := graph.Workflows()
	for _, reference := range sortedKeys(workflows) {
		c := &checker{w: workflows[reference]}
		known := map[string]map[string][]string{}
		for _, step := range c.w.Steps {
			if _, asked := known[step.Call]; !asked {
				known[step.Call] = choices.ToolChoices(step.Call)
			}
			c.chosen(step, known[step.Call])
		}
		for _, d := range c.found {
			found = append(found, d.Quoting(string(c.w.Source)))
		}
	}
	return found
}

func (c *checker) chosen(step *flow.Step, choices map[string][]string) {
	for _, name := range sortedKeys(choices) {
		given, plain := plainValue(member(step.Template(), name))
		value, isText := given.(string)
		if !plain || !isText || len(choices[name]) == 0 || slices.Contains(choices[name], value) {
			continue
		}
		fix := "; there is " + fault.Cut(strings.Join(choices[name], ", "), 300)
		if nearest := fault.Nearest(value, choices[name]); nearest != "" {
			fix = ": did you mean \"" + nearest + "\"?"
		}
		c.atValue(fault.InvalidParams, "", step.Path()+".input_template."+name, 0, "%s knows no %s %q%s", step.Call, name, fault.Cut(value, 60), fix)
	}
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
