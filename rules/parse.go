package rules

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"savant/fault"
	"savant/internal/fields"
	"savant/internal/jsonvalue"
	"savant/internal/pattern"
	"savant/think/flow"
	"savant/think/flow/expression"
)

// maxRules bounds the rules, and the evidence, of one file.
const maxRules = 1000

// maxWithin is how long calls are kept, in milliseconds.
const maxWithin = 90 * 86_400_000

// The keys that the maps of a file of rules may have.
var (
	sectionKeys     = []string{"facts", "success", "evidence", "rules"}
	fileKeys        = append([]string{"name", "version", "description"}, sectionKeys...)
	evidenceKeys    = []string{"last", "where", "if", "implied_by", "since", "within", "scope"}
	requirementKeys = []string{"needs", "that", "message"}
	ruleKeys        = []string{"id", "description", "before", "except", "when", "require", "deny", "message", "at_most", "once", "per", "within", "scope", "approve", "for", "mode"}
)

// Keys returns the keys that the parser knows, by the kind of map.
func Keys() map[string][]string {
	return map[string][]string{"file": fileKeys, "evidence": evidenceKeys, "requirement": requirementKeys, "rule": ruleKeys}
}

// Parse reads a file of rules. The error has a diagnostic with line and column for each
// problem.
func Parse(file string, src []byte) (*File, error) {
	value, layout, err := flow.ReadYAMLLayout(file, src)
	if err != nil {
		return nil, err
	}
	if isForeign(value) {
		return &File{Path: file, Foreign: true, layout: layout}, nil
	}
	return parse(file, "", value, layout)
}

// isForeign reports whether a value is that of another program's file, such as the alerts
// of a monitor: it has no section of a file of rules, no key that may be one misspelt, and
// no rule.
func isForeign(value any) bool {
	switch value := value.(type) {
	case []any:
		return !slices.ContainsFunc(value, func(item any) bool {
			rule, _ := item.(map[string]any)
			return rule["before"] != nil
		})
	case map[string]any:
		for key := range value {
			near := fault.Nearest(strings.ToLower(key), sectionKeys)
			if near != "" && strings.EqualFold(near[:1], key[:1]) {
				return false
			}
		}
		return true
	}
	return false
}

// parse reads the rules that stand at a path of a document.
func parse(file, at string, value any, layout *flow.Layout) (*File, error) {
	p := newParser(file, at, layout)
	p.document(value, at)
	return p.file, p.Failure()
}

func newParser(file, at string, layout *flow.Layout) *parser {
	return &parser{Reader: fields.Reader{File: file, Code: fault.YAMLSchemaViolation, Places: layout.Places()}, layout: layout, conditions: map[string]*condition{}, file: &File{Path: file, at: at, layout: layout, evidence: map[string]*evidence{}, facts: map[string]any{}, secret: expression.Names{}}}
}

// inWorkflow is the key of a workflow's file that has its rules.
const inWorkflow = "rules"

// ParseWorkflow reads the rules in a workflow's file: a list of rules, or a map of facts,
// success, evidence and rules. They may read the params of the run, and its state: the
// captures so far. nil: the file has none.
func ParseWorkflow(file string, src []byte) (*File, error) {
	value, layout, err := flow.ReadYAMLLayout(file, src)
	if err != nil {
		return nil, err
	}
	workflow, _ := value.(map[string]any)
	given, has := workflow[inWorkflow]
	if !has {
		return nil, nil
	}
	p := newParser(file, inWorkflow, layout)
	p.file.Digest = jsonvalue.HexSum(src)
	if params, declared := workflow["params"].(map[string]any); declared {
		p.params = expression.NamesOf(slices.Collect(maps.Keys(params))...)
	}
	p.captures = expression.Names{}
	steps, _ := workflow["steps"].([]any)
	for _, each := range steps {
		step, _ := each.(map[string]any)
		if name, is := step["capture_as"].(string); is {
			p.captures[name] = true
		}
	}
	if _, isMap := given.(map[string]any); isMap {
		p.sections(p.Object(given, inWorkflow, sectionKeys...), inWorkflow)
	} else {
		p.rules(given, inWorkflow)
	}
	return p.file, p.Failure()
}

var (
	ruleID   = pattern.Lazy(`^[A-Za-z0-9_-]{1,64}$`)
	toolName = pattern.Lazy(`^[A-Za-z0-9_.:/@*-]{1,200}$`)
	// identifier is a name in expressions.
	identifier = pattern.Lazy(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

// parser reads the values of a file and notes what is wrong with them.
type parser struct {
	fields.Reader
	file *File
	// params and captures are the names of a workflow's; nil params: any.
	params, captures expression.Names
	conditions       map[string]*condition // by source
	layout           *flow.Layout
}

func (p *parser) document(value any, at string) {
	top := p.Object(value, at, fileKeys...)
	f := p.file
	f.Name = p.Text(top, at, "name")
	p.Text(top, at, "version") // for people: no rule reads it

	if base := strings.TrimSuffix(path.Base(f.Path), path.Ext(f.Path)); at == "" && f.Name != "" && !strings.HasSuffix("."+base, "."+f.Name) { // of a package: PACKAGE.NAME
		p.Fail("name", "the name is %q, and the file is %s: they must be equal", f.Name, path.Base(f.Path))
	}
	p.sections(top, at)
}

// sections reads facts, success, evidence and rules.
func (p *parser) sections(top map[string]any, at string) {
	f := p.file
	p.facts(top["facts"], fields.Join(at, "facts"))
	shapes := p.Members(top["evidence"], fields.Join(at, "evidence"))
	for _, name := range slices.Sorted(maps.Keys(shapes)) {
		f.evidence[name] = &evidence{name: name, nth: len(f.evidence)}
	}
	for _, name := range slices.Sorted(maps.Keys(shapes)) {
		p.evidence(f.evidence[name], shapes[name], fields.Join(at, "evidence."+name))
	}
	for tool, source := range p.Members(top["success"], fields.Join(at, "success")) {
		place := fields.Join(at, "success."+tool)
		if that := p.ofCall(source, place, rootResult, rootInput, rootFacts); that != nil {
			f.success = append(f.success, success{tool, that})
		}
	}
	slices.SortFunc(f.success, func(a, b success) int { return strings.Compare(a.tool, b.tool) })
	p.rules(top["rules"], fields.Join(at, "rules"))
}

func (p *parser) facts(value any, at string) {
	for name, fact := range p.Members(value, at) {
		if shape, is := fact.(map[string]any); is && len(shape) == 2 && shape["secret"] != nil {
			if secret, _ := shape["secret"].(bool); secret {
				p.file.secret[name] = true
			}
			fact = shape["value"]
		}
		p.file.facts[name] = fact
	}
}

func (p *parser) evidence(e *evidence, value any, at string) {
	if !identifier().MatchString(e.name) || reserved[e.name] {
		p.Fail(at, "the name %s cannot be used in an expression: use letters, digits and _, and none of %s", strconv.Quote(fault.Cut(e.name, 60)), strings.Join(slices.Sorted(maps.Keys(reserved)), ", "))
	}
	shape := p.Object(value, at, evidenceKeys...)
	e.path, e.last = at, p.tools(shape["last"], at+".last")
	if len(e.last) == 0 {
		p.Fail(at, "evidence needs last: the name of the tool whose call it is")
	}
	e.impliedBy, e.since = p.tools(shape["implied_by"], at+".implied_by"), p.tools(shape["since"], at+".since")
	e.within, e.project = p.reach(shape, at)
	where := p.Members(shape["where"], at+".where")
	for _, key := range slices.Sorted(maps.Keys(where)) {
		e.keys, e.values = append(e.keys, key), append(e.values, p.operand(where[key], at+".where."+key))
	}
	if shape["if"] != nil {
		e.fits = p.ofCall(shape["if"], at+".if", rootResult, rootInput, rootFacts, rootRun)
	}
}

// operand reads a value of where: a text is an expression.
func (p *parser) operand(value any, at string) operand {
	source, is := value.(string)
	if !is {
		return operand{literal: value}
	}
	return operand{piece: p.program(source, at, p.roots(rootInput, rootFacts, rootRun))}
}

func (p *parser) program(source, at string, roots map[string]expression.Root) piece {
	site := p.layout.Value(at)
	program, err := expression.Compile(source, expression.Scope{Roots: roots})
	if err != nil {
		p.wrongExpression(err, site, 0)
	}
	return piece{program: program, site: site}
}

func (p *parser) rules(value any, at string) {
	list, is := value.([]any)
	if !is || len(list) == 0 || len(list) > maxRules || len(p.file.evidence) > maxRules {
		p.Fail(at, "rules needs a list of 1 to %d rules, and evidence has at most as many", maxRules)
		return
	}
	taken := map[string]bool{}
	for i, each := range list {
		rule := p.rule(each, fmt.Sprintf("%s[%d]", at, i))
		if taken[rule.ID] && rule.ID != "" {
			p.Fail(rule.path+".id", "two rules have the id %q: a refusal names its rule by it", rule.ID)
		}
		taken[rule.ID] = true
		p.file.Rules = append(p.file.Rules, rule)
	}
}

func (p *parser) rule(value any, at string) *Rule {
	before := len(p.Wrong)
	shape := p.Object(value, at, ruleKeys...)
	place := p.layout.Key("", at, "")
	rule := &Rule{file: p.file, path: at, Line: place.Line, Column: place.Column, ID: p.Text(shape, at, "id"), Message: p.Text(shape, at, "message"),
		Before: p.tools(shape["before"], at+".before"), Except: p.tools(shape["except"], at+".except")}
	if !ruleID().MatchString(rule.ID) {
		p.Fail(at, "a rule needs an id of letters, digits, _ and -, at most 64")
	}
	if len(rule.Before) == 0 {
		p.Fail(at, "a rule needs before: the tools whose calls it is about")
	}
	if shape["when"] != nil {
		rule.when = p.condition(shape["when"], at+".when")
	}
	rule.require = p.require(shape["require"], at+".require")
	rule.deny = p.flag(shape, at, "deny")
	rule.limit = p.limit(shape, at)
	rule.approve, rule.question = p.question(shape["approve"], at+".approve")
	rule.grant = p.grant(shape, at)
	switch mode := p.Text(shape, at, "mode"); mode {
	case "", "enforce", "warn":
		rule.Warn = mode == "warn"
	default:
		p.Fail(at+".mode", "mode is warn or enforce, not %q", fault.Cut(mode, 60))
	}
	if len(rule.Kinds()) == 0 && len(p.Wrong) == before {
		p.Fail(at, "rule %q demands nothing: give it require, deny: true, at_most, once or approve", rule.ID)
	}
	return rule
}

// require reads a text, a map, or a list of them.
func (p *parser) require(value any, at string) (all []requirement) {
	switch v := value.(type) {
	case nil:
	case []any:
		for i, each := range v {
			all = append(all, p.requirement(each, fmt.Sprintf("%s[%d]", at, i)))
		}
		if len(v) == 0 {
			p.Fail(at, "require has no condition")
		}
	default:
		all = append(all, p.requirement(v, at))
	}
	return all
}

func (p *parser) requirement(value any, at string) requirement {
	made := requirement{path: at}
	if source, is := value.(string); is {
		made.that = p.condition(source, at)
		return made
	}
	shape := p.Object(value, at, requirementKeys...)
	made.needs, made.message = p.Texts(shape["needs"], at+".needs"), p.Text(shape, at, "message")
	for i, name := range made.needs {
		if p.file.evidence[name] == nil {
			where := fmt.Sprintf("%s.needs[%d]", at, i)
			if p.layout.Value(where) == nil {
				where = at + ".needs"
			}
			p.Fail(where, "there is no evidence %q%s", fault.Cut(name, 60), fields.Nearest(name, slices.Sorted(maps.Keys(p.file.evidence)))).Code = fault.UnresolvedVar
		}
	}
	if shape["that"] != nil {
		made.that = p.condition(shape["that"], at+".that")
	}
	if len(made.needs) == 0 && made.that == nil {
		p.Fail(at, "a requirement is a condition, or has needs, that or both")
	}
	return made
}

func (p *parser) limit(shape map[string]any, at string) *limit {
	made := &limit{most: 1}
	made.within, made.project = p.reach(shape, at)
	most, once, key := shape["at_most"], shape["once"], "per"
	if _, is := once.(string); is && shape[key] == nil {
		key = "once" // once: input.order
	}
	switch {
	case most == nil && once == nil:
		for _, key := range []string{"per", "within", "scope"} {
			if shape[key] != nil {
				p.Fail(fields.Join(at, key), "%s belongs to at_most or once", key)
			}
		}
		return nil
	case most != nil && once != nil:
		p.Fail(at+".once", "once is at_most: 1, so a rule has one of them")
	case most != nil:
		count, is := most.(int)
		if !is || count < 1 {
			p.Fail(at+".at_most", "at_most is an integer of 1 or more; deny: true forbids every call")
		}
		made.most = count
	case key != "once" && once != true:
		p.Fail(at+".once", "once is true, or an expression whose value may occur once")
	}
	if source, is := shape[key].(string); is {
		made.per = p.program(source, fields.Join(at, key), p.allRoots())
	} else if shape[key] != nil {
		p.Fail(fields.Join(at, key), "%s is an expression, as in input.to", key)
	}
	return made
}

// reach reads within and scope.
func (p *parser) reach(shape map[string]any, at string) (within int64, project bool) {
	if text := p.Text(shape, at, "within"); text != "" {
		within = milliseconds(text)
		if within <= 0 || within > maxWithin {
			p.Fail(at+".within", "within is a time such as 90s, 30m, 24h or 7d, and at most 90d")
		}
	}
	switch scope := p.Text(shape, at, "scope"); scope {
	case "", "session":
	case "project":
		project = true
	default:
		p.Fail(at+".scope", "scope is session or project, not %q", fault.Cut(scope, 60))
	}
	return within, project || within > 0
}

// milliseconds reads a duration of one unit, 0 for what is none.
func milliseconds(text string) int64 {
	units := map[string]int64{"s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
	count, err := strconv.ParseUint(text[:len(text)-1], 10, 31)
	if err != nil {
		return 0
	}
	return int64(count) * units[text[len(text)-1:]]
}

func (p *parser) question(value any, at string) (*expression.Text, *flow.Site) {
	if value == nil {
		return nil, nil
	}
	source, is := value.(string)
	if !is || strings.TrimSpace(source) == "" {
		p.Fail(at, "approve is the question that a person is asked")
		return nil, nil
	}
	site := p.layout.Value(at)
	text, err := expression.CompileText(source, expression.Scope{Roots: p.allRoots()})
	if err != nil {
		for _, each := range expression.ErrorsOf(err) {
			p.wrongExpression(each, site, 0)
		}
	}
	return text, site
}

// grant reads for, which says how far an approval reaches.
func (p *parser) grant(shape map[string]any, at string) flow.Grant {
	grant := flow.DefaultGrant()
	if shape["for"] == nil {
		return grant
	}
	if shape["approve"] == nil {
		p.Fail(at+".for", "for belongs to approve")
	}
	of := p.Object(shape["for"], at+".for", "at_most", "within")
	if most, is := of["at_most"].(int); is && most > 0 {
		grant.Most = most
	} else if of["at_most"] != nil {
		p.Fail(at+".for.at_most", "at_most is an integer of 1 or more")
	}
	if within, _ := p.reach(of, at+".for"); within > 0 {
		grant.Within = within
	}
	return grant
}

func (p *parser) flag(of map[string]any, at, key string) bool {
	flag, is := of[key].(bool)
	if of[key] != nil && (!is || !flag) {
		p.Fail(fields.Join(at, key), "%s is true, or left out", key)
	}
	return flag
}

// tools reads names of tools, or patterns.
func (p *parser) tools(value any, at string) []string {
	all := p.Texts(value, at)
	for _, each := range all {
		if !toolName().MatchString(each) {
			p.Fail(at, "%q is no name of a tool", fault.Cut(each, 60))
		}
		if rest, is := strings.CutPrefix(each, "mcp__"); is { // each client writes it differently
			p.Fail(at, "a tool of a server is named SERVER.TOOL: write %s", fault.Cut(strings.Replace(rest, "__", ".", 1), 60))
		}
	}
	return all
}
