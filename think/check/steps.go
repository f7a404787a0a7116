package check

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"savant/fault"
	"savant/schemas"
	"savant/think/flow"
	"savant/think/flow/expression"
)

func (c *checker) workflow() {
	for _, step := range c.w.Steps {
		if !step.Broken {
			c.step(step)
		}
	}
	end := c.scopeOf(nil)
	for _, output := range c.w.Outputs {
		c.value(output.Template(), "outputs."+output.Name, end)
	}
	for _, artifact := range c.w.Artifacts {
		if program, site := artifact.From(); program != nil {
			c.expression(program, site, end)
		}
	}
	if summary := c.w.Summary(); summary != nil {
		c.value(summary, "summary", end)
	}
	c.keywordsOfWorkflow()
	c.unused()
}

// choices finds answers that a human.ask lists where nobody looks for them.
func (c *checker) choices(step *flow.Step) {
	if step.Answering() != flow.FillsIn || member(step.Template(), "schema") != nil || step.Schema != nil {
		return
	}
	for _, key := range []string{"choices", "options", "enum", "values"} {
		if member(step.Template(), key) != nil {
			c.at(fault.YAMLSchemaViolation, warning, step.Path()+".input_template."+key, "%s offers a person nothing to choose from: write schema: {enum: […]}", key)
		}
	}
}

// reminders finds times after which nobody is reminded.
func (c *checker) reminders(step *flow.Step) {
	for _, key := range step.Approval.Never {
		c.at(fault.YAMLSchemaViolation, "", step.Path()+"."+key, "%s is a time such as 30m; leave it out for no reminder", key)
	}
}

func (c *checker) step(step *flow.Step) {
	in, sites := c.scopeOf(step), step.Sites()
	in.reader, in.skips, c.told = step.ID, c.skips, map[string]bool{}
	if step.Join == flow.JoinSuccess {
		in.skips, in.facts = nil, c.allDone() // it is skipped with what it reads
	}
	before := in.facts
	if step.When != nil {
		c.condition("when", step.When, sites.When, in)
		in.facts = append(in.facts, factsOf(step.When)...)
	}
	if step.Foreach != nil {
		outer := scope{params: c.params, captures: c.captures, reader: step.ID, skips: in.skips, wanted: list, what: "foreach"}
		if outer.facts = in.facts; ofItem(step.When) {
			outer.facts = before
		}
		found := c.expression(step.Foreach, sites.Foreach, outer)
		if found.kinds&list == 0 {
			c.atSite(sites.Foreach, finding{code: fault.ForeachNotArray, message: fmt.Sprintf("foreach needs a list, not %s%s", found.kinds, listHint(found))})
		}
		if step.Parallel != nil {
			outer.wanted, outer.what = number, "parallel"
			c.parallel(c.expression(step.Parallel, sites.Parallel, outer), sites.Parallel)
		}
	}
	if step.Extract != nil {
		inner := in
		inner.result = c.resultOf(step)
		c.expression(step.Extract, sites.Extract, inner)
	}
	if step.Until != nil {
		inner := in
		inner.result = c.outputsOf(step)
		c.condition("until", step.Until, sites.Until, inner)
	}
	if step.Approval != nil {
		c.reminders(step)
	}
	if step.Approval != nil && step.Approval.Scope != nil && step.Approval.Scope.Where != nil {
		c.checkScope(step.Approval.Scope, in)
	}
	path := step.Path() + ".input_template"
	if step.Call == flow.CallAssert {
		in.assertion = path
	}
	input := c.value(step.Template(), path, in)
	switch step.Call {
	case flow.CallAssert:
		c.assertion(step, input.fields["that"], path+".that")
	case flow.CallRun:
		c.childParams(step, in)
	}
	c.callOf(step)
	c.choices(step)
	c.reserved(step)
	if tool, known := c.tool(step.Call); known && step.Tool() != "" {
		c.arguments(step, tool, in)
	}
	c.leftInRationale(step)
	c.order(step)
}

// checkScope checks which calls an approval covers: input has the arguments of the tool.
func (c *checker) checkScope(of *flow.Scope, in scope) {
	in.item, in.of = "input", Any()
	if tool, known := c.tool(of.Call); known {
		in.of = Call(of.Call, tool).Field("input")
	}
	c.condition("where", of.Where, of.Site(), in)
}

// parallel checks what says how many items of a loop are under way at once.
func (c *checker) parallel(found *Type, site *flow.Site) {
	if found.kinds&(integer|number) == 0 {
		c.atSite(site, finding{code: fault.ExpressionError, message: fmt.Sprintf("parallel must give an integer, not %s", found.kinds)})
	}
}

// listHint suggests which part of a value may be the list.
func listHint(of *Type) string {
	var lists []string
	for _, name := range slices.Sorted(maps.Keys(of.fields)) {
		if of.fields[name].kinds == list {
			lists = append(lists, name)
		}
	}
	switch {
	case len(lists) > 0 && len(lists) < 4:
		return ": its list is ." + strings.Join(lists, " or .")
	case of.kinds&^null == object:
		return ": values(…) and keys(…) make lists of one"
	case of.kinds&^null == number || of.kinds&^null == integer:
		return ": 1..n counts"
	case of.kinds&^null == text:
		return ": split(…, \"\\n\") makes one of its lines"
	}
	return ""
}

// condition checks what decides whether something happens.
func (c *checker) condition(key string, program *expression.Program, site *flow.Site, in scope) {
	in.wanted, in.what = boolean, key
	if found := c.expression(program, site, in); found.kinds&boolean == 0 {
		c.atSite(site, finding{code: fault.ExpressionError, message: fmt.Sprintf("%s must give true or false, not %s%s", key, found.kinds, truthHint(found))})
	}
}

func (c *checker) assertion(step *flow.Step, that *Type, path string) {
	if that == nil || that.kinds&boolean != 0 {
		return
	}
	fix := truthHint(that)
	if t := member(step.Template(), "that"); that.kinds == text && t != nil {
		if written, ok := t.Literal(); ok {
			fix = fmt.Sprintf(": a text without {{ }} is not evaluated; write \"{{ %s }}\"", fault.Cut(fmt.Sprint(written), 60))
		} else {
			fix = ": the whole text must be one {{ }}"
		}
	}
	c.atValue(fault.ExpressionError, "", path, 0, "that must give true or false, not %s%s", that.kinds, fix)
}

// callOf checks whether the step's call can be answered.
func (c *checker) callOf(step *flow.Step) {
	prefix, _, _ := strings.Cut(step.Call, ".")
	path := step.Path()
	switch {
	case step.Witness == "required" && step.Tool() == "":
		c.at(fault.YAMLSchemaViolation, "", path+".witness", "%s is not a tool and leaves no receipt, so no answer can satisfy witness: required; remove it", step.Call)
	case prefix == "think":
		c.at(fault.YAMLSchemaViolation, "", path+".call", "%s controls runs and does not belong in a step: to run another workflow call flow.run", step.Call)
	case prefix == "agent":
		c.at(fault.YAMLSchemaViolation, "", path+".call", "%s starts a separate run of the agent: call the tools themselves, or llm.generate", step.Call)
	}
}

// childParams holds what a step gives against the parameters of its workflow.
func (c *checker) childParams(step *flow.Step, in scope) {
	child := c.graph.Child(step.ID)
	template := member(step.Template(), "params")
	if child == nil || template == nil {
		return
	}
	if _, site, isText := template.Text(); isText {
		if found := c.rendered(template, "", in, false); found.kinds&object == 0 {
			c.atSite(site, finding{code: fault.InvalidParams, message: fmt.Sprintf("params must give a map, not %s", found.kinds)})
		}
		return
	}
	for _, param := range child.Workflow.Params {
		value := member(template, param.Name)
		if value == nil {
			continue
		}
		at := step.Path() + ".input_template.params." + param.Name
		what := "the parameter " + param.Name + " of " + child.Workflow.Name
		if plain, ok := plainValue(value); ok {
			if err := param.Check(plain); err != nil && (plain != nil || param.Required) {
				c.atValue(fault.InvalidParams, "", at, 0, "%s does not fit: %s", what, firstProblem(err))
			}
			continue
		}
		r := &reader{set: child.Workflow.SchemaSet()}
		wanted := r.typeOf(param.Schema, param.Schema, 0)
		if !param.Required {
			wanted = wanted.withNull()
		}
		c.fits(value, wanted, at, what, in)
	}
}

// fits reports a template that can give nothing that is wanted.
func (c *checker) fits(value *flow.Template, wanted *Type, path, what string, in scope) {
	found := c.rendered(value, "", in, false)
	var message string
	switch {
	case found.kinds == 0 || wanted.kinds == 0:
		return
	case loose(found.kinds)&loose(wanted.kinds) == 0:
		message = fmt.Sprintf("%s must be %s, not %s", what, wanted.kinds, found.kinds)
	case found.values != nil && wanted.values != nil && !canEqual(found, wanted):
		message = fmt.Sprintf("%s must be one of %s, not %s", what, valueList(wanted.values), valueList(found.values))
	default:
		return
	}
	if _, site, ok := value.Text(); ok {
		c.atSite(site, finding{code: fault.InvalidParams, message: message})
		return
	}
	c.at(fault.InvalidParams, "", path, "%s", message)
}

// arguments holds the input of a step against the tool that it calls.
func (c *checker) arguments(step *flow.Step, tool Tool, in scope) {
	var root map[string]any
	if len(tool.Input) == 0 || json.Unmarshal(tool.Input, &root) != nil {
		return
	}
	properties, named := root["properties"].(map[string]any)
	additional, said := root["additionalProperties"]
	_, patterns := root["patternProperties"]
	open := patterns || said && additional != false || !named
	path := step.Path() + ".input_template"
	given := map[string]bool{}
	var unknown []string
	if input := step.Template(); input != nil {
		members, _ := input.Members()
		for _, each := range members {
			given[each.Key] = true
			declared, known := properties[each.Key]
			switch {
			case known:
				c.argument(step.Call, each, declared, root, path+"."+each.Key, in)
			case !open:
				unknown = append(unknown, each.Key)
			}
		}
	}
	var missing []string
	for _, each := range items(root["required"]) {
		if name, _ := each.(string); !given[name] {
			missing = append(missing, name)
		}
	}
	for _, name := range unknown {
		candidates := slices.DeleteFunc(slices.Sorted(maps.Keys(properties)), func(known string) bool { return given[known] })
		nearest := fault.Nearest(name, candidates)
		if nearest == "" && len(missing) == 1 && len(unknown) == 1 {
			nearest = missing[0]
		}
		fix := "; it takes " + strings.Join(slices.Sorted(maps.Keys(properties)), ", ")
		if nearest != "" {
			fix = ": did you mean " + strconv.Quote(nearest) + "?"
			missing = slices.DeleteFunc(missing, func(each string) bool { return each == nearest })
		}
		c.at(fault.InvalidParams, "", path+"."+name, "%s has no argument %q%s", step.Call, fault.Cut(name, 60), fault.Cut(fix, 300))
	}
	if len(missing) > 0 {
		c.at(fault.InvalidParams, "", path, "%s needs the argument %s", step.Call, strings.Join(missing, ", "))
	}
}

// argument checks one argument like the registry: null means an omitted argument, and a
// list or map may be JSON text.
func (c *checker) argument(call string, given flow.Member, declared any, root map[string]any, path string, in scope) {
	required := slices.Contains(items(root["required"]), any(given.Key))
	what := "the argument " + given.Key + " of " + call
	r := &reader{}
	wanted := r.typeOf(declared, root, 0)
	if plain, ok := plainValue(given.Value); ok {
		if words, isText := plain.(string); isText && wanted.kinds&text == 0 && wanted.kinds&(list|object) != 0 {
			plain = schemas.Normalise(words)
		}
		if schema := c.compiled(declared, root); schema != nil && (plain != nil || required) {
			if err := schema.Check(plain); err != nil {
				c.atValue(fault.InvalidParams, "", path, 0, "%s does not fit: %s", what, firstProblem(err))
			}
		}
		return
	}
	if !required {
		wanted = wanted.withNull()
	}
	if wanted.kinds&(list|object) != 0 {
		wanted = joinTwo(wanted, ofText)
	}
	c.fits(given.Value, wanted, path, what, in)
	c.inside(given.Value, wanted, path, what)
}

// inside reports the members of a map that is written out which cannot be there.
func (c *checker) inside(value *flow.Template, wanted *Type, path, what string) {
	if _, _, isText := value.Text(); isText {
		return
	}
	members, isList := value.Members()
	for i, each := range members {
		if isList {
			c.inside(each.Value, wanted.itemType(), fmt.Sprintf("%s[%d]", path, i), what)
			continue
		}
		field, certain := wanted.field(each.Key)
		if field == nil && certain == closed {
			c.at(fault.InvalidParams, "", path+"."+each.Key, "%s has no field %q%s", what, fault.Cut(each.Key, 60), nearestField(each.Key, wanted))
		} else if field != nil {
			c.inside(each.Value, field, path+"."+each.Key, what)
		}
	}
}
