package check

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"savant/fault"
	"savant/schemas"
	"savant/think/flow"
	"savant/think/flow/expression"
)

// Tool has the JSON Schemas of a tool's arguments and result; an unknown one is empty.
type Tool struct {
	Input, Output json.RawMessage
	// Own reports that it is a tool of Savant, whose schemas name every field.
	Own bool
}

// Tools returns the schemas of a tool by its name.
type Tools func(name string) (Tool, bool)

// Report holds the findings. An error is certain, a warning is likely, and a note
// reports something without effect.
type Report struct{ Errors, Warnings, Notes []fault.Diagnostic }

// Rules knows the rules of workflows.
type Rules interface {
	// Reads names what those of a workflow read: "params.limit", "state.plan".
	Reads(*flow.Workflow) []string
	// Judge begins to judge the calls of one run of a graph.
	Judge(*flow.Graph) Judge
}

// Judge judges the calls of a run that is only thought of, one after another.
type Judge interface {
	// Permit says whether a call may be made while the run follows some workflows:
	// RULE_REFUSED if not. Where a person would be asked, they agree.
	Permit(follows []flow.Ruling, tool string, input any) error
	// Ended notes how the call that was permitted ended.
	Ended(ok bool, result any)
}

// Graph checks a workflow and its children. Diagnostics are in the order of each file,
// that of the root first. Without rules, which may be nil, what only they read counts as
// unread.
func Graph(graph *flow.Graph, tools Tools, rules Rules) Report {
	return checkEach(graph, tools, func(c *checker) {
		if c.w.Ruled && rules != nil {
			for _, name := range rules.Reads(c.w) {
				c.reads[name] = true
			}
		}
		c.workflow()
		c.found = append(c.found, c.w.Warnings()...)
	})
}

// checkEach reports what a check finds in a workflow and its children.
func checkEach(graph *flow.Graph, tools Tools, find func(*checker)) (found Report) {
	seen := map[*flow.Graph]bool{}
	var visit func(*flow.Graph)
	visit = func(g *flow.Graph) {
		if seen[g] {
			return
		}
		seen[g] = true
		c := newChecker(g, tools)
		find(c)
		found.Add(c.found, string(c.w.Source))
		for _, step := range g.Workflow.Steps {
			if child := g.Child(step.ID); child != nil {
				visit(child)
			}
		}
	}
	visit(graph)
	return found
}

// Add adds the findings of one file.
func (r *Report) Add(found []fault.Diagnostic, source string) {
	slices.SortStableFunc(found, func(a, b fault.Diagnostic) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Message, b.Message))
	})
	lines := fault.Lines(source)
	for _, d := range slices.Compact(found) {
		d = d.Quoting(lines)
		switch d.Severity {
		case warning:
			r.Warnings = append(r.Warnings, d)
		case note:
			r.Notes = append(r.Notes, d)
		default:
			r.Errors = append(r.Errors, d)
		}
	}
}

// Fault returns the errors as one, or nil.
func (r Report) Fault() error {
	if len(r.Errors) == 0 {
		return nil
	}
	return fault.InFile(cmp.Or(r.Errors[0].File, "workflow"), r.Errors)
}

// checker checks one workflow.
type checker struct {
	graph    *flow.Graph
	w        *flow.Workflow
	tools    Tools
	params   map[string]*Type
	captures map[string]*Type
	by       map[string]*flow.Step // by capture
	reads    map[string]bool       // "state.a", "params.x": what is read anywhere
	skips    map[string]skip       // by capture
	told     map[string]bool       // captures that a finding of the step is about
	found    []fault.Diagnostic
	places   *flow.Layout
	ordered  int // dependencies that order has looked at
}

func newChecker(graph *flow.Graph, tools Tools) *checker {
	w := graph.Workflow
	c := &checker{graph: graph, w: w, tools: tools, params: map[string]*Type{}, captures: map[string]*Type{},
		by: map[string]*flow.Step{}, reads: map[string]bool{}}
	for _, param := range w.Params {
		c.params[param.Name] = c.paramType(param)
	}
	for _, step := range w.Steps {
		if step.CaptureAs != "" {
			c.by[step.CaptureAs] = step
		}
	}
	c.skips = skipsOf(graph)
	return c
}

// schemaType reads a schema of the workflow.
func (c *checker) schemaType(schema any, origin string, unnamed openness) *Type {
	r := &reader{set: c.w.SchemaSet(), origin: origin, unnamed: unnamed}
	return r.typeOf(schema, schema, 0)
}

func (c *checker) paramType(param flow.Param) *Type {
	found := c.schemaType(param.Schema, "the parameter "+param.Name, unsealed)
	if !param.Required && param.Default == nil {
		if len(found.fields) == 0 {
			return found.withNull() // no shape is declared that would be read further
		}
		return found.lacking(gap{why: "the parameter " + param.Name + " is null where it is not given"})
	}
	return found
}

// layout is read when there is something to say that has no place yet.
func (c *checker) layout() *flow.Layout {
	if c.places == nil {
		c.places = c.w.Layout()
	}
	return c.places
}

// at reports at the key of a path.
func (c *checker) at(code fault.Code, severity, path, format string, args ...any) {
	d := c.layout().Key(code, path, fmt.Sprintf(format, args...))
	d.Severity = severity
	c.found = append(c.found, d)
}

// atValue reports at a byte of the text of a path.
func (c *checker) atValue(code fault.Code, severity, path string, offset int, format string, args ...any) {
	site := c.layout().Value(path)
	if site == nil {
		c.at(code, severity, path, format, args...)
		return
	}
	c.atSite(site, finding{code: code, severity: severity, offset: offset, message: fmt.Sprintf(format, args...)})
}

func (c *checker) atSite(site *flow.Site, f finding) {
	d := site.Diagnostic(f.code, f.offset, f.message)
	d.Severity = f.severity
	c.found = append(c.found, d)
}

// scopeOf returns the scope of a step's expressions; for nil, that of the outputs.
func (c *checker) scopeOf(step *flow.Step) scope {
	s := scope{params: c.params, captures: c.captures}
	if step != nil && step.Foreach != nil {
		s.item, s.of = step.As, c.silently(step.Foreach, scope{params: c.params, captures: c.captures}).element()
		if step.Rounds > 0 {
			s.own = step.CaptureAs
		}
	}
	return s
}

// ready makes the types of the captures that an expression reads, and records the
// reads.
func (c *checker) ready(program *expression.Program) {
	for _, reference := range program.References() {
		switch reference.Root {
		case "state":
			c.capture(reference.Name)
		case "params":
			c.reads["params."+reference.Name] = true
		}
	}
}

// silently returns the type of an expression without reporting its errors, which are
// reported elsewhere.
func (c *checker) silently(program *expression.Program, in scope) *Type {
	c.ready(program)
	found, _ := infer(program, in)
	return found
}

// expression checks an expression that stands at a site, and returns its type.
func (c *checker) expression(program *expression.Program, site *flow.Site, in scope) *Type {
	c.ready(program)
	c.read(program)
	found, wrong := infer(program, in)
	for _, each := range wrong {
		c.tell(site, each)
	}
	return found
}

// tell reports a finding, of those about one capture the first in a step.
func (c *checker) tell(site *flow.Site, f finding) {
	if f.about != "" {
		if c.told[f.about] {
			return
		}
		c.told[f.about] = true
	}
	c.atSite(site, f)
}

// read notes what is read.
func (c *checker) read(program *expression.Program) {
	for _, reference := range program.References() {
		c.reads[reference.Root+"."+reference.Name] = true
	}
}

// value checks a template and returns the type of what it gives.
func (c *checker) value(t *flow.Template, path string, in scope) *Type {
	return c.rendered(t, path, in, true)
}

func (c *checker) rendered(t *flow.Template, path string, in scope, aloud bool) *Type {
	if t == nil {
		return &Type{kinds: object, openness: closed}
	}
	if written, ok := t.Literal(); ok {
		if aloud {
			c.leftAsText(written, nil, path, in)
		}
		return literal(written)
	}
	if words, site, ok := t.Text(); ok {
		return c.text(t, words, site, path, in, aloud)
	}
	members, isList := t.Members()
	if isList {
		all := make([]*Type, len(members))
		for i, each := range members {
			all[i] = c.rendered(each.Value, fmt.Sprintf("%s[%d]", path, i), in, aloud)
		}
		return listOf(join(all...))
	}
	made := &Type{kinds: object, openness: closed, fields: map[string]*Type{}, origin: "the map"}
	for _, each := range members {
		made.fields[each.Key] = c.rendered(each.Value, path+"."+each.Key, in, aloud)
	}
	return made
}

func (c *checker) text(t *flow.Template, words *expression.Text, site *flow.Site, path string, in scope, aloud bool) *Type {
	parts, whole := words.Parts()
	switch path {
	case in.assertion + ".message":
		in.skips = nil
	case in.assertion + ".that":
		if whole {
			in.wanted, in.what = boolean, "that"
		}
	}
	found := ofText
	for _, part := range parts {
		c.ready(part.Program)
		inferred, wrong := infer(part.Program, in)
		if whole {
			found = inferred
		}
		if !aloud {
			continue
		}
		c.read(part.Program)
		for _, each := range wrong {
			each.offset += part.Offset
			if each.missing && path != in.assertion+".that" {
				each.code = fault.TemplateRenderError
			}
			c.tell(site, each)
		}
	}
	if aloud {
		written, _ := t.Literal()
		c.leftAsText(written, parts, path, in)
	}
	return found
}

// capture returns the type of a capture. While that type is being computed (a repeat
// reads its own capture), it is unknown.
func (c *checker) capture(name string) *Type {
	if known := c.captures[name]; known != nil {
		return known
	}
	c.captures[name] = anything
	step := c.by[name]
	if step == nil || step.Broken {
		return anything
	}
	result := c.resultOf(step)
	if step.Extract != nil {
		in := c.scopeOf(step)
		in.result = result
		result = c.silently(step.Extract, in)
	}
	if step.Schema != nil {
		result = intersect(result, c.schemaType(step.Schema.JSON(), "the success_schema of step "+step.ID, unsealed))
	}
	switch {
	case step.OnFailure == flow.Continue && step.Foreach != nil:
		result = result.lacking(gap{why: "an item of step " + step.ID + " is null where it failed (on_failure: continue)"})
	case step.OnFailure == flow.Continue:
		result = result.lacking(gap{why: "the capture of step " + step.ID + " is null where it failed (on_failure: continue)", step: step.ID, statuses: []string{"failed"}})
	case ofItem(step.When):
		result = result.lacking(gap{why: "an item of step " + step.ID + " is null where its when is false"})
	}
	if step.Foreach != nil {
		result = listOf(result)
	}
	c.captures[name] = result
	return result
}

// resultOf returns the type of a step's result, before extract.
func (c *checker) resultOf(step *flow.Step) *Type {
	switch step.Call {
	case flow.CallSet:
		return c.rendered(member(step.Template(), "value"), "", c.scopeOf(step), false)
	case flow.CallRun:
		return c.outputsOf(step)
	case flow.CallApprove:
		return &Type{kinds: object, openness: closed, origin: "an approval", fields: map[string]*Type{"approved": ofBool, "comment": {kinds: text | null}}}
	case flow.CallAsk:
		if schema, ok := plainValue(member(step.Template(), "schema")); ok {
			return c.schemaType(schema, "the schema that step "+step.ID+" asks for", unsealed)
		}
		return anything
	}
	tool, known := c.tool(step.Call)
	if !known || len(tool.Output) == 0 {
		return anything
	}
	return outputType(step.Call, tool)
}

func (c *checker) tool(name string) (Tool, bool) {
	if c.tools == nil {
		return Tool{}, false
	}
	return c.tools(name)
}

func outputType(name string, tool Tool) *Type {
	var schema any
	if json.Unmarshal(tool.Output, &schema) != nil {
		return anything
	}
	r := &reader{origin: "the output of " + name, unnamed: declared, absent: warning}
	if tool.Own {
		r.unnamed = exact
	}
	return r.typeOf(schema, schema, 0)
}

// outputsOf returns the type of the outputs of the workflow that a step runs. An output
// that reads a skipped step is null.
func (c *checker) outputsOf(step *flow.Step) *Type {
	child := c.graph.Child(step.ID)
	if child == nil {
		return anything
	}
	inner := newChecker(child, c.tools)
	made := &Type{kinds: object, openness: closed, fields: map[string]*Type{}, origin: "the outputs of " + child.Workflow.Name}
	for _, output := range child.Workflow.Outputs {
		made.fields[output.Name] = inner.rendered(output.Template(), "", inner.scopeOf(nil), false)
		if step := inner.unread(output.Template()); step != "" {
			made.fields[output.Name] = made.fields[output.Name].lacking(gap{
				why: fmt.Sprintf("the output %s of %s is null where its step %s was skipped", output.Name, child.Workflow.Name, step)})
		}
	}
	return made
}

// member returns one value of a map.
func member(t *flow.Template, key string) *flow.Template {
	if t == nil {
		return nil
	}
	members, _ := t.Members()
	for _, each := range members {
		if each.Key == key {
			return each.Value
		}
	}
	return nil
}

// plainValue returns a value that holds no expression.
func plainValue(t *flow.Template) (any, bool) {
	if t == nil {
		return nil, false
	}
	if written, ok := t.Literal(); ok {
		return written, true
	}
	if _, _, isText := t.Text(); isText {
		return nil, false
	}
	members, isList := t.Members()
	values, object := make([]any, len(members)), make(map[string]any, len(members))
	for i, each := range members {
		value, ok := plainValue(each.Value)
		if !ok {
			return nil, false
		}
		values[i], object[each.Key] = value, value
	}
	if isList {
		return values, true
	}
	return object, true
}

// compiled returns a part of a schema with the definitions of the whole.
func (c *checker) compiled(part, root any) *schemas.Schema {
	schema, ok := part.(map[string]any)
	if !ok {
		return nil
	}
	whole, _ := root.(map[string]any)
	own := maps.Clone(schema)
	for _, key := range []string{"$schema", "$defs", "definitions"} {
		if _, has := own[key]; !has && whole[key] != nil {
			own[key] = whole[key]
		}
	}
	made, err := c.w.SchemaSet().Inline(own)
	if err != nil {
		return nil
	}
	return made
}

func firstProblem(err error) string {
	problem := fault.From(err)
	if len(problem.Diagnostics) == 0 {
		return problem.Message()
	}
	first := problem.Diagnostics[0]
	return strings.TrimPrefix(first.Pointer+": ", ": ") + first.Message
}
