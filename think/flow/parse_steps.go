package flow

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"savant/fault"
	"savant/think/flow/expression"
)

// raw is one step before its expressions are parsed, because they may name any step.
type raw struct {
	step *Step
	keys entries
	node *yaml.Node
}

// expands reports whether the step has a key that makes several of it.
func (r raw) expands(key string) bool { return r.keys.value(key) != nil }

func (p *parser) steps(node, root *yaml.Node) {
	if node == nil {
		p.add(fault.YAMLSchemaViolation, "steps", root, "steps is missing")
		return
	}
	if node.Kind != yaml.SequenceNode || len(node.Content) == 0 {
		p.add(fault.YAMLSchemaViolation, "steps", node, "steps must be a list with at least one step")
		return
	}
	if len(node.Content) > p.w.Limits.Steps {
		p.add(fault.LimitExceeded, "steps", node, "%d steps; limits.steps is %d", len(node.Content), p.w.Limits.Steps)
		return
	}
	all := make([]raw, 0, len(node.Content))
	for i, item := range node.Content {
		at := "steps[" + strconv.Itoa(i) + "]"
		if keys, ok := p.mapping(item, at, stepKeys); ok {
			step := &Step{path: at, at: position{item.Line, item.Column}}
			all = append(all, raw{step, keys, item})
			p.names(step, keys, item)
		}
	}
	p.collisions(all)
	p.scope = p.staticScope(all)
	for _, r := range all {
		p.plain(r)
		before := len(p.diagnostics)
		p.expressions(r)
		r.step.Broken = len(p.diagnostics) > before
		p.w.Steps = append(p.w.Steps, r.step)
	}
}

// names reads the keys that other steps refer to.
func (p *parser) names(step *Step, keys entries, node *yaml.Node) {
	step.ID = p.required(keys, "id", step.path, node)
	if id := keys.value("id"); id != nil && step.ID != "" {
		step.at = position{id.Line, id.Column}
		if !stepName().MatchString(step.ID) {
			p.add(fault.YAMLSchemaViolation, step.path+".id", id, "id %q: use letters, digits, _ and -, starting with a letter, at most 64", fault.Cut(step.ID, 80))
		}
	}
	if keys.value("call") != nil || !p.saidOtherwise(keys, "call") {
		step.Call = p.required(keys, "call", step.path, node)
	}
	if call := keys.value("call"); call != nil && step.Call != "" {
		step.callAt = p.source(call, "", 0).positionAt(0)
		p.call(step, call)
	}
	step.CaptureAs = p.text(keys, "capture_as", step.path)
	if capture := keys.value("capture_as"); capture != nil {
		step.captureAt = p.source(capture, "", 0).positionAt(0)
		if !variableName().MatchString(step.CaptureAs) {
			p.add(fault.YAMLSchemaViolation, step.path+".capture_as", capture, "%q cannot name a capture: use letters, digits and _, starting with a letter", fault.Cut(step.CaptureAs, 80))
		}
	}
	if keys.value("foreach") != nil {
		step.As = "item"
		if as := keys.value("as"); as != nil {
			step.As = as.Value
			if !variableName().MatchString(as.Value) || (slices.Contains(rootNames, as.Value) && as.Value != "item") {
				p.add(fault.YAMLSchemaViolation, step.path+".as", as, "%q cannot name a loop variable", fault.Cut(as.Value, 80))
				step.As = "item"
			}
		}
	} else if as := keys.value("as"); as != nil {
		p.add(fault.YAMLSchemaViolation, step.path+".as", as, "as names the variable of a loop, and this step has no foreach")
	}
}

// saidOtherwise reports whether a key was given under another language's name, which is
// a separate finding.
func (p *parser) saidOtherwise(keys entries, key string) bool {
	return slices.ContainsFunc(otherKeys[key], func(other string) bool { return keys.value(other) != nil })
}

func (p *parser) call(step *Step, node *yaml.Node) {
	prefix, _, _ := strings.Cut(step.Call, ".")
	switch {
	case slices.Contains(reservedCalls, step.Call):
	case slices.Contains([]string{"llm", "human", "flow"}, prefix):
		p.add(fault.UnknownTool, step.path+".call", node, "unknown call %q%s", fault.Cut(step.Call, 80), suggestion(step.Call, reservedCalls, knownNames(reservedCalls)))
	case strings.Contains(step.Call, "{{"):
		p.add(fault.YAMLSchemaViolation, step.path+".call", node, "a call is a literal name, never a template")
	case !toolName().MatchString(step.Call) || len(step.Call) > 128:
		p.add(fault.YAMLSchemaViolation, step.path+".call", node, "call %q: a tool is written server.tool%s%s", fault.Cut(step.Call, 80), dotted(step.Call), suggestion(step.Call, reservedCalls, ", or one of "+strings.Join(reservedCalls, ", ")))
	}
}

// dotted suggests how a tool is written in a workflow that clients list as git_log.
func dotted(call string) string {
	if written := strings.Replace(call, "_", ".", 1); written != call && toolName().MatchString(written) {
		return ", as in " + written
	}
	return ""
}

// collisions finds two steps with one id, one capture twice, and ids that a
// loop or repeat will expand to.
func (p *parser) collisions(all []raw) {
	ids, captures := make(map[string]raw, len(all)), make(map[string]*Step, len(all))
	for _, r := range all {
		s := r.step
		if first, taken := ids[s.ID]; taken && s.ID != "" {
			p.addAt(fault.IDCollision, s.path+".id", s.at, "the id %q is taken by %s on line %d", s.ID, first.step.path, first.step.at.line)
		} else {
			ids[s.ID] = r
		}
		if s.CaptureAs == "" {
			continue
		}
		if first, taken := captures[s.CaptureAs]; taken {
			p.addAt(fault.DuplicateCapture, s.path+".capture_as", s.captureAt, "capture_as %q is taken by step %q on line %d", s.CaptureAs, first.ID, first.at.line)
		} else {
			captures[s.CaptureAs] = s
		}
	}
	for _, r := range all {
		base, number, found := cutLast(r.step.ID)
		if _, err := strconv.Atoi(number); !found || err != nil {
			continue
		}
		by, known := ids[base]
		if item, index, found := cutLast(base); !known && found { // a round of an item
			if _, err := strconv.Atoi(index); err == nil && ids[item].expands("foreach") && ids[item].expands("repeat") {
				by = ids[item]
			}
		}
		if by.expands("foreach") || by.expands("repeat") {
			p.addAt(fault.IDCollision, r.step.path+".id", r.step.at, "the id %q is one that %q expands to (%s_0, %s_1, …): rename one", r.step.ID, by.step.ID, base, base)
		}
	}
}

// cutLast cuts an id at its last "_", behind which the number of an item or a round stands.
func cutLast(id string) (before, after string, found bool) {
	at := strings.LastIndexByte(id, '_')
	if at < 0 {
		return id, "", false
	}
	return id[:at], id[at+1:], true
}

func (p *parser) staticScope(all []raw) expression.Scope {
	scope := expression.Scope{Params: expression.Names{}, Captures: expression.Names{}, Steps: expression.Names{}, Kept: map[string]string{}, AnyParam: p.w.OpenParams}
	for _, param := range p.w.Params {
		scope.Params[param.Name] = true
	}
	for _, r := range all {
		scope.Steps[r.step.ID] = true
		if r.step.CaptureAs != "" {
			scope.Captures[r.step.CaptureAs] = true
			scope.Kept[r.step.ID] = r.step.CaptureAs
		}
	}
	return scope
}

// plain reads the keys that hold no expression.
func (p *parser) plain(r raw) {
	s, keys := r.step, r.keys
	s.Rationale = p.text(keys, "rationale", s.path)
	s.Retry = p.w.Defaults.Retry
	p.retry(keys, s.path, &s.Retry)
	s.Timeout = p.duration(keys, "timeout", s.path)
	if s.OnFailure = p.w.Defaults.OnFailure; keys.value("on_failure") != nil || s.OnFailure == Continue && s.mayCheck() {
		s.OnFailure = p.onFailure(keys, s.path)
	}
	p.group(s, keys)
	s.Join = Join(p.choice(keys, "join", s.path, string(JoinAll), string(JoinSuccess), string(JoinAny), string(JoinDone)))
	s.JoinWritten = keys.value("join") != nil
	s.Effect = p.choice(keys, "effect", s.path, "read", "write")
	s.Witness = p.choice(keys, "witness", s.path, "any", "required")
	if node := keys.value("success_schema"); node != nil {
		s.Schema = p.schema(node, s.path+".success_schema")
		if s.Answering() == FillsIn && s.Schema != nil {
			s.asked = p.schemaSource(node, s.Schema)
		}
	}
	if node := keys.value("check"); node != nil {
		p.checks(s, node)
	}
	if node := keys.value("deps"); node != nil {
		p.deps(s, node)
	}
	if node := keys.value("allow"); node != nil {
		p.allow(s, node)
	}
	if node := keys.value("complex"); node != nil {
		if node.Decode(&s.Complex) != nil || node.Tag != "!!bool" {
			p.add(fault.YAMLSchemaViolation, s.path+".complex", node, "complex must be true or false%s", boolean(node.Value))
		}
	}
	if node := keys.value("barrier"); node != nil {
		p.barrier(s, node)
	}
	if node := keys.value("source"); node != nil {
		p.quote(s, node)
	}
	p.approval(s, keys)
}

// barrier reads whether a check holds the steps below it, as it does by default.
func (p *parser) barrier(s *Step, node *yaml.Node) {
	holds, ok := valueOf(node).(bool)
	s.NoBarrier = !holds
	switch {
	case !ok:
		p.add(fault.YAMLSchemaViolation, s.path+".barrier", node, "barrier must be true or false%s", boolean(node.Value))
	case !s.mayCheck():
		p.add(fault.YAMLSchemaViolation, s.path+".barrier", node, "barrier is for human.approve, flow.assert and flow.run, which hold the steps below them; order other steps with deps")
	}
}

// group reads the group of which only so many steps are outstanding at once.
func (p *parser) group(s *Step, keys entries) {
	node := keys.value("group")
	if node == nil {
		return
	}
	s.Group = p.text(keys, "group", s.path)
	_, known := p.w.Limits.Groups[s.Group]
	switch {
	case s.Call == CallSet || s.Call == CallAssert:
		p.add(fault.YAMLSchemaViolation, s.path+".group", node, "%s is settled at once and is in no group", s.Call)
	case !known:
		p.add(fault.YAMLSchemaViolation, s.path+".group", node, "limits.groups has no %q%s", fault.Cut(s.Group, 80), suggestion(s.Group, slices.Sorted(maps.Keys(p.w.Limits.Groups)), ": write limits: {groups: {"+fault.Cut(s.Group, 80)+": 1}}"))
	}
}

// maxAllowed bounds a step's `allow:`.
const maxAllowed = 64

// allow reads which tools the model may call while it answers a step.
func (p *parser) allow(s *Step, node *yaml.Node) {
	list := node.Content
	switch {
	case s.Call != CallGenerate:
		p.add(fault.YAMLSchemaViolation, s.path+".allow", node, "allow is for llm.generate: at any other step only the issued call passes")
		return
	case node.Kind == yaml.ScalarNode && node.Tag == "!!str":
		list = []*yaml.Node{node}
	case node.Kind != yaml.SequenceNode || len(list) > maxAllowed:
		p.add(fault.YAMLSchemaViolation, s.path+".allow", node, "allow must be a list of at most %d tools: names, patterns such as git.*, or read", maxAllowed)
		return
	}
	allowed := []string{}
	for i, item := range list {
		if item.Kind != yaml.ScalarNode || item.Tag != "!!str" || !toolPattern().MatchString(item.Value) {
			p.add(fault.YAMLSchemaViolation, s.path+".allow["+strconv.Itoa(i)+"]", item, "a tool is allowed by its name, by a pattern such as git.*, or by the word read")
			continue
		}
		allowed = append(allowed, item.Value)
	}
	s.Allow = &allowed
}

// checks reads the validators of a step: one for its result, or one for each of some
// fields.
func (p *parser) checks(s *Step, node *yaml.Node) {
	at := s.path + ".check"
	add := func(field, at string, named *yaml.Node) {
		if named.Kind != yaml.ScalarNode || named.Tag != "!!str" {
			p.add(fault.YAMLSchemaViolation, at, named, "a check is the name of one, or a map of fields to names")
			return
		}
		by, err := p.w.set.Validator(named.Value)
		if err != nil {
			p.schemaProblem(err, at, named)
			return
		}
		s.Checks = append(s.Checks, Check{field, by})
	}
	if node.Kind != yaml.MappingNode {
		add("", at, node)
		return
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		add(node.Content[i].Value, join(at, node.Content[i].Value), node.Content[i+1])
	}
}

func (p *parser) duration(keys entries, key, at string) string {
	node := keys.value(key)
	if node == nil {
		return ""
	}
	if node.Kind != yaml.ScalarNode || !durationText().MatchString(node.Value) {
		p.add(fault.YAMLSchemaViolation, join(at, key), node, "a duration is written like 500ms, 30s, 10m or 48h")
		return ""
	}
	return node.Value
}

// choice returns one of the known words; the first is the default.
func (p *parser) choice(keys entries, key, at string, known ...string) string {
	node := keys.value(key)
	if node == nil {
		return known[0]
	}
	if node.Kind != yaml.ScalarNode || !slices.Contains(known, node.Value) {
		p.add(fault.YAMLSchemaViolation, join(at, key), node, "%q is none of %s%s", fault.Cut(node.Value, 60), strings.Join(known, ", "), suggestion(node.Value, known, ""))
		return known[0]
	}
	return node.Value
}

func (p *parser) deps(s *Step, node *yaml.Node) {
	list := node.Content
	if node.Kind == yaml.ScalarNode && node.Tag == "!!str" {
		list = []*yaml.Node{node}
	} else if node.Kind != yaml.SequenceNode {
		p.add(fault.YAMLSchemaViolation, s.path+".deps", node, "deps must be a list of step ids")
		return
	}
	for i, item := range list {
		at := s.path + ".deps[" + strconv.Itoa(i) + "]"
		switch {
		case item.Kind != yaml.ScalarNode:
			p.add(fault.YAMLSchemaViolation, at, item, "a dependency is a step's id")
		case item.Value == s.ID:
			p.add(fault.CyclicDependency, at, item, "step %q depends on itself", s.ID)
		default:
			s.Deps = append(s.Deps, item.Value)
			s.depsAt = append(s.depsAt, position{item.Line, item.Column})
		}
	}
}

// expressions reads what a step computes.
func (p *parser) expressions(r raw) {
	s, keys := r.step, r.keys
	outer := p.scope
	outer.Outcome = s.Join == JoinDone
	inner := outer
	inner.Item = s.As
	if node := keys.value("foreach"); node != nil {
		if node.Kind == yaml.SequenceNode {
			s.Foreach, s.foreachAt = p.literalList(node, s.path+".foreach", outer)
		} else {
			s.Foreach, s.foreachAt = p.compile(node, s.path+".foreach", outer)
		}
	}
	if node := keys.value("parallel"); node != nil {
		p.parallel(s, node, outer)
	}
	if node := keys.value("when"); node != nil {
		s.When, s.whenAt = p.when(node, s.path+".when", inner)
	}
	if node := keys.value("extract"); node != nil {
		result := inner
		result.Result = true
		s.Extract, s.extractAt = p.compile(node, s.path+".extract", result)
		if s.Internal() || s.Person() {
			p.add(fault.YAMLSchemaViolation, s.path+".extract", node, "%s has no result to extract from", s.Call)
		}
	}
	if node := keys.value("input_template"); node != nil {
		s.input = p.template(node, &yamlPath{above: &yamlPath{key: s.path}, key: "input_template"}, inner)
		if s.input.form != objectForm {
			p.add(fault.YAMLSchemaViolation, s.path+".input_template", node, "input_template must be a map, not %s", kind(valueOf(node)))
		}
		p.reservedInput(s, node)
	}
	if node := keys.value("scope"); node != nil {
		p.scopeOf(s, node, outer)
	}
	if node := keys.value("repeat"); node != nil {
		p.repeat(s, node, inner)
	}
	p.inputOf(r)
}

// parallel reads how many items of a loop are under way at once.
func (p *parser) parallel(s *Step, node *yaml.Node, scope expression.Scope) {
	at := s.path + ".parallel"
	if s.As == "" {
		p.add(fault.YAMLSchemaViolation, at, node, "parallel says how many items of a loop are under way at once, and this step has no foreach")
		return
	}
	if node.Tag != "!!str" {
		if count, ok := valueOf(node).(int); !ok || count < 1 || count > MaxParallel {
			p.add(fault.YAMLSchemaViolation, at, node, "parallel must be an integer from 1 to %d, or an expression that gives one", MaxParallel)
			return
		}
	}
	s.Parallel, s.parallelAt = p.compile(node, at, scope)
}

// when also accepts a literal true or false.
func (p *parser) when(node *yaml.Node, at string, scope expression.Scope) (*expression.Program, *source) {
	if node.Tag == "!!bool" {
		literal := *node
		literal.Value = strconv.FormatBool(valueOf(node) == true)
		return p.compile(&literal, at, scope)
	}
	return p.compile(node, at, scope)
}

func (p *parser) repeat(s *Step, node *yaml.Node, scope expression.Scope) {
	at := s.path + ".repeat"
	keys, ok := p.mapping(node, at, repeatKeys)
	if !ok {
		return
	}
	if s.Call != CallRun {
		p.add(fault.YAMLSchemaViolation, at, node, "repeat belongs to flow.run only; to try a failed step again use retry")
		return
	}
	if keys.value("until") == nil || keys.value("max") == nil {
		p.add(fault.YAMLSchemaViolation, at, node, "repeat needs both until and max")
		return
	}
	p.integer(keys, "max", at, 1, 1000, &s.Rounds)
	scope.Result = true
	s.Until, s.untilAt = p.compile(keys.value("until"), at+".until", scope)
}

// inputs lists, for each of the language's own calls, the keys that its input_template
// needs and may have; nil allows any.
var inputs = map[string]struct {
	needed string
	known  []string
}{
	CallAssert:   {"that", []string{"that", "message"}},
	CallSet:      {"value", []string{"value"}},
	CallRun:      {"workflow", []string{"workflow", "params"}},
	CallGenerate: {needed: "task"},
	CallApprove:  {needed: "message"},
	CallAsk:      {needed: "message"},
}

func (p *parser) child(s *Step, node *yaml.Node) {
	named := s.input.field("workflow")
	name, ok := named.literal.(string)
	at := s.path + ".input_template.workflow"
	_, value := entry(node, "workflow")
	if !ok || named.form != literalForm {
		p.add(fault.YAMLSchemaViolation, at, value, "the workflow to run is a literal name or name@version, never a template")
		return
	}
	s.childAt = p.source(value, "", 0).positionAt(0)
	s.Child, s.ChildVersion, _ = strings.Cut(name, "@")
	if !childName().MatchString(s.Child) {
		p.add(fault.YAMLSchemaViolation, at, value, "%q is not a workflow's name", fault.Cut(name, 80))
	}
	if params := s.input.field("params"); params != nil && params.form != objectForm && params.form != textForm {
		_, value := entry(node, "params")
		p.add(fault.YAMLSchemaViolation, s.path+".input_template.params", value, "params must be a map")
	}
}

// entry returns the key and the value of a map's entry, or the map itself if it is
// absent.
func entry(node *yaml.Node, name string) (key, value *yaml.Node) {
	for i := 0; i+1 < len(node.Content); i += 2 {
		if node.Content[i].Value == name {
			return node.Content[i], node.Content[i+1]
		}
	}
	return node, node
}
